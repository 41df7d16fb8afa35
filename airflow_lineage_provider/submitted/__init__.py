"""Pipelines that run by ``spark-submit``, whose driver need not have this package: what it is to do, and the application that does it.

No Airflow here: the driver has none.
"""
