"""Column-level lineage: which source columns make, and which influence, a column of the result."""
