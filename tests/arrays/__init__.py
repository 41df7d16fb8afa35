"""Cell-level lineage of arrays."""
