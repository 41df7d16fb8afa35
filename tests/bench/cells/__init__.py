"""What the experiments about cells of arrays stand on: relations of operations, how pairs are stored, and how they are asked."""
