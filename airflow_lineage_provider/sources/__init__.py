"""Source tables without Spark: reading rows of local Parquet and CSV files, and telling whether files have changed."""
