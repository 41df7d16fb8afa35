"""Chaos: runs whose driver, loaders, executors and PostgreSQL are killed at random moments, and what is there afterwards."""
