"""Installing as a user does."""
