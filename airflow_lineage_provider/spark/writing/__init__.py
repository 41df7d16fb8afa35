"""Writes that a program makes by Spark itself: watched for, understood, and made again of other rows."""
