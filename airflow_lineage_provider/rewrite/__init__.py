"""Rewrites of the operator tree: one pass a file, the sequence in `pipeline`."""
