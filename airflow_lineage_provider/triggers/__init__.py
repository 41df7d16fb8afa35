"""What Airflow waits for in its triggerer: no worker is taken up meanwhile."""
