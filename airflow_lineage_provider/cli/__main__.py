"""``python -m airflow_lineage_provider.cli``, where the console command is not on the path."""

import sys

from airflow_lineage_provider.cli.main import main

sys.exit(main())
