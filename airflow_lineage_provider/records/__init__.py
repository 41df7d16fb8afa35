"""What is written down of a run, as values: `run.RunRecord` and its parts, and the versions of what it read and wrote."""
