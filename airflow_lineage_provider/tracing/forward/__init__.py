"""Lineage forwards: plans that carry which of the asked source rows a row descends from."""
