"""The lineage tab in Airflow's UI: a plugin, an API, and the pages of the front end."""
