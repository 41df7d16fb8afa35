"""What may be told: the one place that decides which values of users are recorded, printed or raised as they are.

What is known to be harmless (`known`), and what the user names, is told; of everything else a keyed digest (`digests`), so that equality
can still be seen. Parameters are in `parameters`, those that are never stored in `sealing`, URLs and free text in `urls` and `texts`; all
lists of names are in `known`.
"""

from __future__ import annotations

from airflow_lineage_provider.secrecy.digests import digest, is_digest
from airflow_lineage_provider.secrecy.parameters import Secret, recorded_params, shown_param
from airflow_lineage_provider.secrecy.sealing import Secrets
from airflow_lineage_provider.secrecy.texts import redact, shown_text
from airflow_lineage_provider.secrecy.urls import shown_url

__all__ = ["Secret", "Secrets", "digest", "is_digest", "recorded_params", "redact", "shown_param", "shown_text", "shown_url"]
