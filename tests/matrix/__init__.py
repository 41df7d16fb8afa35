"""``make test-matrix``: the core of the suite on other releases of PySpark, Airflow and Python, each in an environment of its own."""
