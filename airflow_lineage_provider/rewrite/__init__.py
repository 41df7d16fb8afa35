"""Rewrites of the operator tree: one pass a file, the sequence in `pipeline`.

The examples in docstrings are run as tests; `tests.plan.shorthand` makes their plans (``where(table("T", "a, b"), "a > 1")``).
"""
