"""What a question about a run's rows may be answered by, and what can be kept."""

from __future__ import annotations

from typing import TypeAlias

from airflow_lineage_provider.answers.descendants import Descendants
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.why_not import WhyNot

Answer: TypeAlias = Explanation | WhyNot | LineageRows | Descendants
