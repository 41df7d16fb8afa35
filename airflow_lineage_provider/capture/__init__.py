"""Lineage that was captured: for every row of a stored segment the rows behind it, written down as indexes of row numbers.

Which rows those are lazy tracing finds (`tracing.trace`), for all rows at once; here it is numbered, encoded, and looked up.
"""
