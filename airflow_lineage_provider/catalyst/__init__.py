"""Catalyst's analyzed plans, as JSON documents, to the operator tree. Pure: no Spark, no JVM."""
