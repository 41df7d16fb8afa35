"""The JVM side: capturing plans, running them, tracing. The only importer of PySpark."""
