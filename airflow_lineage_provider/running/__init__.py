"""A run, from a request to its record."""
