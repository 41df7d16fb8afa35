-- The results store, beside Airflow's own database.
CREATE ROLE lineage LOGIN PASSWORD 'lineage';
CREATE DATABASE lineage OWNER lineage;
