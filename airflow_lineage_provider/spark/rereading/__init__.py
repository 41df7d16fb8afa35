"""A recorded run read again: its sources, its segments, tracing queries."""
