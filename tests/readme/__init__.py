"""What the documents say, tried."""
