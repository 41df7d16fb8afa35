"""Deriving: from a recorded run and a target to an explanation, wherever the inputs live."""
