"""Data profiling by lineage: which values of a table violate a functional dependency, and which rows stand behind each (Smoke, Sec. 6.5.2).

Pure: rows are Arrow tables, and nothing outside this package reads or writes them.
"""
