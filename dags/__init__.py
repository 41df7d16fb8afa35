"""Example DAGs, and the demo."""
