"""Why source rows are not in a result."""
