"""An explanation made visible: a page, a terminal, a JSON document. Nothing here computes lineage; it words and draws it."""
