"""The operator tree of a pipeline, as pure data: no Spark, no database, no clock."""
