"""Lineage across runs: source rows that another recorded run wrote are traced on."""
