"""Answers kept in the store, to be read again as they were given: one mechanism for all questions, with a form for each."""
