"""Example reasoned UDFs."""
