"""From a plan and a target to tracing queries, and Algorithm 1 over an executor: pure, no Spark and no database."""
