"""Source tables without Spark: reading rows of local Parquet files, and telling whether files have changed."""
