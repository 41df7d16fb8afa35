"""The settings that Airflow's configuration may say, in its section ``[lineage]``: each by the name of its variable, ``AIRFLOW_LINEAGE_…``.

Every Airflow process reads them, to know what its configuration can have: nothing is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

SECTION = "lineage"


@dataclass(frozen=True)
class Option:
    """One setting.

    :ivar default: what holds where nobody says anything, for people.
    :ivar is_secret: it may hold a password: Airflow shows it to nobody, and takes it from a command or a secrets backend, too.
    """

    kind: Literal["string", "integer", "float", "boolean"]
    meaning: str
    example: str
    default: str = "none"
    is_secret: bool = False

    def described(self, name: str) -> dict[str, Any]:
        """As the provider's information has it."""
        described = {
            "description": f"{self.meaning} (by default {self.default}). AIRFLOW_LINEAGE_{name.upper()} wins over it.",
            "version_added": "0.1.0", "type": self.kind, "example": self.example, "default": None,
        }  # fmt: skip
        return described | ({"sensitive": True} if self.is_secret else {})


OPTIONS: Mapping[str, Option] = {
    "store": Option("string", "PostgreSQL URL of the results store", "postgresql://lineage@db/lineage", "an embedded server", True),
    "loader_store": Option("string", "The store's URL for Spark's executors during a run", "postgresql://l@db/x", "the store's", True),
    "reader_store": Option("string", "The same URL during a derivation", "postgresql://r@db/x", "the store's", True),
    "digest_key": Option("string", "The key of digests, the same on all hosts", "correct horse", "a file of the home folder", True),
    "data": Option("string", "Folder or URI for stored rows that are many", "s3a://bucket/lineage", "all are in the store"),
    "data_rows": Option("integer", "From so many rows on they go there; 0: always", "100000", "200,000"),
    "data_bytes": Option("integer", "From about so many bytes on, too; 0: always", "1048576", "67,108,864"),
    "home": Option("string", "Where the embedded server keeps its data", "/var/lib/lineage", "~/.local/share/airflow-lineage"),
    "network_home": Option("boolean", "Whether that may be on a file system that several hosts share", "false", "no"),
    "replaced_runs": Option(
        "string", "drop or keep: what becomes of the runs of a task's earlier tries whose results it has replaced", "keep", "drop"
    ),
    "retention_days": Option("integer", "Runs older than so many days are dropped when the store is opened", "90", "never"),
    "target_limit": Option("integer", "The most rows that a target may match", "10000", "10,000"),
    "target_length": Option("integer", "The most characters of a target that is a text", "100000", "100,000"),
    "source_limit": Option("integer", "The most source rows of one answer", "1000000", "1,000,000"),
    "cell_limit": Option("integer", "The most cells of arrays that an answer enumerates", "50000000", "50,000,000"),
    "confirmations": Option("integer", "So many further captures of an operation between arrays confirm the first", "2", "1"),
    "reason_bytes": Option("integer", "The longest reason that is traced to cells of arrays", "1000000", "1,000,000"),
    "capture_limit": Option("integer", "The most pairs of rows that captured lineage may have", "100000000", "100,000,000"),
    "capture_memory": Option("integer", "The bytes of memory in which pairs of rows are put in order", "1073741824", "268,435,456"),
    "index_bytes": Option("integer", "From so many bytes on captured lineage goes to data; 0: always", "1048576", "67,108,864"),
    "cache": Option("string", "Where parts of captured lineage in files are kept on this host", "/var/cache/lineage", "cache in home"),
    "cache_bytes": Option("integer", "About so many bytes that takes; 0: nothing is kept", "1073741824", "4,294,967,296"),
    "column_cache_bytes": Option(
        "integer", "About so many bytes of memory columns that are asked for often take; 0: none is kept", "67108864", "268,435,456"
    ),
    "inject_limit": Option("integer", "The most rows that are collected while a run is made", "1000000", "10,000,000"),
    "capture_required": Option("boolean", "Whether a run fails whose lineage cannot be captured", "true", "no"),
    "sketch_after": Option("integer", "So many earlier runs a sketch must have served before auto captures one", "3", "2"),
    "connect_timeout": Option("integer", "The most seconds that a connection to the store may take", "10", "10"),
    "store_silence": Option("float", "After so many seconds without an answer it is asked whether the store lives", "30", "30"),
    "store_limit": Option("float", "The most seconds that a slow store may take for one step of a run", "600"),
    "statement_timeout": Option("float", "The most seconds of one query of a derivation; 0: no limit", "600", "600"),
    "index_seconds": Option("float", "The most seconds for an index on what a large result is asked by; 0: none is made", "10", "10"),
    "idle_timeout": Option("float", "The most seconds that a transaction may do nothing; 0: no limit", "600", "600"),
    "temp_file_limit": Option("integer", "The most MB of temporary files of a query; 0: no limit", "10240", "10,240"),
    "keep_udfs": Option("boolean", "Whether runs keep UDFs that no other process could find", "true", "yes"),
    "kept_udf_bytes": Option("integer", "The most bytes of one kept UDF", "16777216", "16 MiB"),
    "load_kept_udfs": Option("boolean", "Whether derivations load kept UDFs, and so execute them", "false", "yes"),
    "hide": Option("string", "Patterns of columns that are shown nowhere, separated by commas", "client.name,iban*"),
    "mask": Option("string", "Patterns of columns whose values are shown nowhere", "income"),
    "mask_hook": Option("string", "A function that says what else is hidden and masked", "bank.privacy:rule"),
    "clear_params": Option("string", "Parameters that runs record as they are, separated by commas", "month,*_date"),
    "clear_options": Option("string", "Reader options that runs record as they are, besides Spark's own", "region"),
    "image_roots": Option("string", "Folders below which images are read whose paths are arguments", "/data/faces"),
    "image_bytes": Option("integer", "The most bytes of such an image", "2000000", "2,000,000"),
    "web_conn_id": Option("string", "The connection to the results store that the lineage tab reads", "lineage_store", "as everywhere"),
    "web_seconds": Option("float", "The most seconds that the tab's server takes for an answer", "20", "20"),
    "web_seconds_to_look": Option("float", "The most seconds that rows of a page are looked for until more is asked for", "5", "2"),
    "web_udfs": Option("boolean", "Whether the tab's server calls UDFs, and so executes their code", "false", "no"),
    "web_crossfilter_rows": Option("integer", "The most rows of a table whose linked views the tab's server makes", "1000000", "5,000,000"),
    "derivation_dag": Option("string", "The DAG that the tab has answer what needs Spark", "lineage_derivation", "lineage_derivation"),
}  # fmt: skip
"""All but the switch (``enabled``), which has a default of its own."""
