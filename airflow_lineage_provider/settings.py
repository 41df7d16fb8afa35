"""One function per option, read from the environment when called (never at import).

Every option is an environment variable ``AIRFLOW_LINEAGE_<NAME>``; arguments in code win over it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from airflow_lineage_provider.errors import InvalidSetting
from airflow_lineage_provider.shown import shown


def home() -> Path:
    """Where the embedded store keeps its data: ``AIRFLOW_LINEAGE_HOME``, else ``~/.local/share/airflow-lineage``."""
    return Path(os.environ.get("AIRFLOW_LINEAGE_HOME") or Path.home() / ".local" / "share" / "airflow-lineage")


def network_home() -> bool:
    """Whether the embedded server may keep its data on a file system that several hosts share (``AIRFLOW_LINEAGE_NETWORK_HOME``; no)."""
    return (os.environ.get("AIRFLOW_LINEAGE_NETWORK_HOME") or "").lower() in ("1", "true", "yes", "on")


def store_url() -> str | None:
    """The results store's PostgreSQL URL (``AIRFLOW_LINEAGE_STORE``); None means the embedded server under `home()`."""
    return os.environ.get("AIRFLOW_LINEAGE_STORE") or None


def enabled() -> bool | None:
    """Whether Airflow's tasks record lineage (``AIRFLOW_LINEAGE_ENABLED``, 1 or 0); None: Airflow's configuration says it, and they do
    where it says nothing."""
    return _flag("AIRFLOW_LINEAGE_ENABLED") if os.environ.get("AIRFLOW_LINEAGE_ENABLED") else None


def data() -> str | None:
    """The folder or URI for stored rows that are many (``AIRFLOW_LINEAGE_DATA``; ``store``: all in PostgreSQL); None: nobody says it."""
    return os.environ.get("AIRFLOW_LINEAGE_DATA") or None


def data_rows() -> int:
    """From so many rows on what a run stores of a segment goes to `data`, where there is one (``AIRFLOW_LINEAGE_DATA_ROWS``, default
    200,000; 0: always). By measurement: to store 100,000 rows and ask ten times costs as much in both places, 300,000 less in files."""
    return _whole("DATA_ROWS", 200_000, least=0)


def data_bytes() -> int:
    """From about so many bytes on it goes there, too, however few the rows are (``AIRFLOW_LINEAGE_DATA_BYTES``, default 67,108,864; 0:
    always)."""
    return _whole("DATA_BYTES", 64 << 20, least=0)


def loader_store() -> str | None:
    """The store's URL for Spark's executors during a run (``AIRFLOW_LINEAGE_LOADER_STORE``), with a user of role ``lineage_loader``.

    None: the driver's own URL; the embedded server has such a user.
    """
    return os.environ.get("AIRFLOW_LINEAGE_LOADER_STORE") or None


def reader_store() -> str | None:
    """The store's URL for Spark's executors during a derivation (``AIRFLOW_LINEAGE_READER_STORE``), with a user of role ``lineage_reader``.

    None: the driver's own URL; the embedded server has such a user.
    """
    return os.environ.get("AIRFLOW_LINEAGE_READER_STORE") or None


def source_limit() -> int:
    """The most source rows of one answer (``AIRFLOW_LINEAGE_SOURCE_LIMIT``, default 1,000,000)."""
    return _whole("SOURCE_LIMIT", 1_000_000)


def capture_limit() -> int:
    """The most pairs of rows that captured lineage may have (``AIRFLOW_LINEAGE_CAPTURE_LIMIT``, default 100,000,000)."""
    return _whole("CAPTURE_LIMIT", 100_000_000)


def capture_memory() -> int:
    """About so many bytes pairs of rows take while captured lineage is put in order, and its indexes until they are kept
    (``AIRFLOW_LINEAGE_CAPTURE_MEMORY``, default 268,435,456); what is more goes through temporary files."""
    return _whole("CAPTURE_MEMORY", 256 << 20)


def index_bytes() -> int:
    """From so many bytes on captured lineage goes to `data`, where there is such a place, rather than into PostgreSQL
    (``AIRFLOW_LINEAGE_INDEX_BYTES``, default 67,108,864; 0: always)."""
    return _whole("INDEX_BYTES", 64 << 20, least=0)


def cache_folder() -> Path:
    """Where parts of captured lineage that stands in files are kept on this host, to be mapped (``AIRFLOW_LINEAGE_CACHE``, default
    ``cache`` in `home`)."""
    return Path(os.environ.get("AIRFLOW_LINEAGE_CACHE") or home() / "cache")


def cache_bytes() -> int:
    """About so many bytes that takes (``AIRFLOW_LINEAGE_CACHE_BYTES``, default 4,294,967,296; 0: nothing is kept there)."""
    return _whole("CACHE_BYTES", 4 << 30, least=0)


def column_cache_bytes() -> int:
    """About so many bytes columns of Parquet files take that are kept in memory since many of their rows are asked for again and again
    (``AIRFLOW_LINEAGE_COLUMN_CACHE_BYTES``, default 268,435,456; 0: none is kept)."""
    return _whole("COLUMN_CACHE_BYTES", 256 << 20, least=0)


def inject_limit() -> int:
    """From so many rows on below an aggregation they are not collected while a run is made (``AIRFLOW_LINEAGE_INJECT_LIMIT``, default
    10,000,000): executors hold the list of a group's rows in memory."""
    return _whole("INJECT_LIMIT", 10_000_000)


def capture_required() -> bool:
    """Whether a run raises `CaptureRequired` where its lineage was to be captured, and was not (``AIRFLOW_LINEAGE_CAPTURE_REQUIRED``, 1 or
    0; 0 by default). What kept it from being captured is kept with the run, whose result and lineage stand."""
    return _flag("AIRFLOW_LINEAGE_CAPTURE_REQUIRED", "0")


def sketch_after() -> int:
    """So many earlier runs a sketch must have served before ``sketches="auto"`` captures one (``AIRFLOW_LINEAGE_SKETCH_AFTER``, default
    2)."""
    return _whole("SKETCH_AFTER", 2)


def target_limit() -> int:
    """The most rows that a target may match (``AIRFLOW_LINEAGE_TARGET_LIMIT``, default 10,000)."""
    return _whole("TARGET_LIMIT", 10_000)


def target_length() -> int:
    """The most characters of a target that is a text (``AIRFLOW_LINEAGE_TARGET_LENGTH``, default 100,000)."""
    return _whole("TARGET_LENGTH", 100_000)


def cell_limit() -> int:
    """The most cells of arrays that an answer enumerates (``AIRFLOW_LINEAGE_CELL_LIMIT``, default 50,000,000); counting never does."""
    return _whole("CELL_LIMIT", 50_000_000)


def confirmations() -> int:
    """How many further captures have to give the same before an operation's lineage is reused (``AIRFLOW_LINEAGE_CONFIRMATIONS``, default
    1)."""
    return _whole("CONFIRMATIONS", 1)


def reason_bytes() -> int:
    """The longest reason that is traced to cells of arrays (``AIRFLOW_LINEAGE_REASON_BYTES``, default 1,000,000); of a longer one the
    relations are kept apart (`reasons.apart`)."""
    return _whole("REASON_BYTES", 1_000_000)


def replaced_runs() -> str:
    """What becomes of what an Airflow task's earlier tries have stored, when a later one has replaced their results
    (``AIRFLOW_LINEAGE_REPLACED_RUNS``): ``drop``, the default, or ``keep``."""
    value = (os.environ.get("AIRFLOW_LINEAGE_REPLACED_RUNS") or "drop").strip().lower()
    if value not in ("drop", "keep"):
        raise InvalidSetting(f"AIRFLOW_LINEAGE_REPLACED_RUNS is {shown(value)}; it can be drop or keep")
    return value


def retention_days() -> int | None:
    """Runs older than this many days are dropped when a store is opened (``AIRFLOW_LINEAGE_RETENTION_DAYS``; none by default)."""
    return _whole("RETENTION_DAYS", 0, most=36_500) or None


def statement_timeout() -> float | None:
    """The most seconds that one query of a derivation may take (``AIRFLOW_LINEAGE_STATEMENT_TIMEOUT``, default 600; 0: no limit)."""
    return _seconds("STATEMENT_TIMEOUT", 600) or None


def index_seconds() -> float:
    """The most seconds that a kept answer may wait for an index on what its rows were looked for by (``AIRFLOW_LINEAGE_INDEX_SECONDS``,
    default 10; 0: none is made)."""
    return _seconds("INDEX_SECONDS", 10)


def idle_timeout() -> float | None:
    """The most seconds that a transaction of ours may do nothing (``AIRFLOW_LINEAGE_IDLE_TIMEOUT``, default 600; 0: no limit)."""
    return _seconds("IDLE_TIMEOUT", 600) or None


def temp_file_limit() -> int | None:
    """The most kB of temporary files of a query of the store (``AIRFLOW_LINEAGE_TEMP_FILE_LIMIT``, in MB, default 10,240; 0: no limit)."""
    return _whole("TEMP_FILE_LIMIT", 10_240, least=0, most=2_000_000) * 1024 or None


def image_roots() -> tuple[Path, ...]:
    """The folders below which images are read whose paths are arguments of decisions (``AIRFLOW_LINEAGE_IMAGE_ROOTS``, separated as in
    ``PATH``; none by default)."""
    texts = (os.environ.get("AIRFLOW_LINEAGE_IMAGE_ROOTS") or "").split(os.pathsep)
    return tuple(Path(text).expanduser() for text in texts if text.strip())


def image_bytes() -> int:
    """The most bytes of such an image (``AIRFLOW_LINEAGE_IMAGE_BYTES``, default 2,000,000)."""
    return _whole("IMAGE_BYTES", 2_000_000)


def hidden_columns() -> tuple[str, ...]:
    """Patterns of columns that are shown nowhere (``AIRFLOW_LINEAGE_HIDE``, separated by commas; none by default)."""
    return tuple((os.environ.get("AIRFLOW_LINEAGE_HIDE") or "").split(","))


def masked_columns() -> tuple[str, ...]:
    """Patterns of columns whose values are shown nowhere (``AIRFLOW_LINEAGE_MASK``, separated by commas; none by default)."""
    return tuple((os.environ.get("AIRFLOW_LINEAGE_MASK") or "").split(","))


def masking_hook() -> str | None:
    """A function that says what else is hidden and masked (``AIRFLOW_LINEAGE_MASK_HOOK``, as ``module:function``; none by default).

    :raises InvalidSetting: it is not written so.
    """
    named = (os.environ.get("AIRFLOW_LINEAGE_MASK_HOOK") or "").strip()
    if named and not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", named):
        raise InvalidSetting(f"AIRFLOW_LINEAGE_MASK_HOOK is {shown(named)}; it is written module:function")
    return named or None


def clear_params() -> tuple[str, ...]:
    """Parameters that are recorded as they are (``AIRFLOW_LINEAGE_CLEAR_PARAMS``: names, or patterns with ``*``, with commas between)."""
    return tuple(name.strip() for name in os.environ.get("AIRFLOW_LINEAGE_CLEAR_PARAMS", "").split(",") if name.strip())


def clear_options() -> tuple[str, ...]:
    """Reader options, besides Spark's own, that are recorded as they are (``AIRFLOW_LINEAGE_CLEAR_OPTIONS``, with commas between)."""
    return tuple(name.strip().lower() for name in os.environ.get("AIRFLOW_LINEAGE_CLEAR_OPTIONS", "").split(",") if name.strip())


def digest_key() -> str | None:
    """The key of digests (``AIRFLOW_LINEAGE_DIGEST_KEY``), the same on all hosts whose runs are compared; else a file of `home`."""
    return os.environ.get("AIRFLOW_LINEAGE_DIGEST_KEY") or None


def connect_timeout() -> int:
    """The most seconds that a connection to the store, or to a database of an output, may take (``AIRFLOW_LINEAGE_CONNECT_TIMEOUT``,
    default 10)."""
    return _whole("CONNECT_TIMEOUT", 10, most=3_600)


def store_silence() -> float:
    """After so many seconds without an answer it is asked whether the store is still there, and given up when it is not
    (``AIRFLOW_LINEAGE_STORE_SILENCE``, default 30)."""
    return max(_seconds("STORE_SILENCE", 30), 0.1)


def store_limit() -> float | None:
    """The most seconds that a store that lives may take for one step of a run, a batch of rows or publishing, say
    (``AIRFLOW_LINEAGE_STORE_LIMIT``; no limit by default)."""
    return _seconds("STORE_LIMIT", 0) or None


def keep_udfs() -> bool:
    """Whether a run keeps the UDFs that no other process could find, as code (``AIRFLOW_LINEAGE_KEEP_UDFS``, 1 or 0; 1 by default)."""
    return _flag("AIRFLOW_LINEAGE_KEEP_UDFS")


def kept_udf_bytes() -> int:
    """The most bytes of one kept UDF, its model included (``AIRFLOW_LINEAGE_KEPT_UDF_BYTES``, default 16 MiB)."""
    return _whole("KEPT_UDF_BYTES", 16 * 2**20, least=0)


def load_kept_udfs() -> bool:
    """Whether a derivation loads, and so executes, kept UDFs (``AIRFLOW_LINEAGE_LOAD_KEPT_UDFS``, 1 or 0; 1 by default)."""
    return _flag("AIRFLOW_LINEAGE_LOAD_KEPT_UDFS")


def web_conn_id() -> str | None:
    """The Airflow connection to the results store that the lineage tab reads (``AIRFLOW_LINEAGE_WEB_CONN_ID``); None: as everywhere."""
    return os.environ.get("AIRFLOW_LINEAGE_WEB_CONN_ID") or None


def web_seconds() -> float:
    """The most seconds that the lineage tab's server takes for an answer (``AIRFLOW_LINEAGE_WEB_SECONDS``, default 20)."""
    return max(_seconds("WEB_SECONDS", 20), 0.1)


def web_seconds_to_look() -> float:
    """The most seconds that the lineage tab's server looks for the rows of a page before it offers to look longer, or elsewhere
    (``AIRFLOW_LINEAGE_WEB_SECONDS_TO_LOOK``, default 2; no more than `web_seconds`)."""
    return min(max(_seconds("WEB_SECONDS_TO_LOOK", 2), 0.1), web_seconds())


def web_udfs() -> bool:
    """Whether the lineage tab's server may call UDFs, and so execute their code, for reasons that are not stored
    (``AIRFLOW_LINEAGE_WEB_UDFS``, 1 or 0; 0 by default)."""
    return _flag("AIRFLOW_LINEAGE_WEB_UDFS", "0")


def web_crossfilter_rows() -> int:
    """The most rows of a table whose linked views the lineage tab's server makes and holds (``AIRFLOW_LINEAGE_WEB_CROSSFILTER_ROWS``,
    default 5,000,000); 0: it makes none."""
    return _whole("WEB_CROSSFILTER_ROWS", 5_000_000, least=0, most=2**32 - 1)


def derivation_dag() -> str:
    """The DAG that the lineage tab has answer what needs Spark (``AIRFLOW_LINEAGE_DERIVATION_DAG``, default ``lineage_derivation``)."""
    return os.environ.get("AIRFLOW_LINEAGE_DERIVATION_DAG") or "lineage_derivation"


_OF_THIS_PROCESS = ("STORE", "ENABLED", "HOME", "NETWORK_HOME", "WEB_", "DERIVATION_DAG", "WORKERS_", "IMAGE_", "CACHE")


def handed_on() -> dict[str, str]:
    """The settings of this process that a driver elsewhere is to have, too, by their variables; they may hold passwords.

    All but those of this host, of the lineage tab, and of Airflow; the store is handed on by who knows which one it is.
    """
    ours = {name: value for name, value in os.environ.items() if name.startswith("AIRFLOW_LINEAGE_") and value}
    return {name: value for name, value in ours.items() if not name.removeprefix("AIRFLOW_LINEAGE_").startswith(_OF_THIS_PROCESS)}


def _flag(name: str, default: str = "1") -> bool:
    value = (os.environ.get(name) or default).strip().lower()
    known = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if value not in known:
        raise InvalidSetting(f"{name} is {shown(value)}; it can be 1 or 0")
    return known[value]


def _whole(name: str, default: int, *, least: int = 1, most: int = 2**62) -> int:
    """A whole number; the default where nothing is set.

    :raises InvalidSetting: it is none, or out of bounds (a negative number of days would drop every run).
    """
    text = os.environ.get(f"AIRFLOW_LINEAGE_{name}") or ""
    if not text.strip():
        return default
    found = int(text) if re.fullmatch(r"\s*[0-9]{1,18}\s*", text, re.ASCII) else -1
    if not least <= found <= most:
        raise InvalidSetting(f"AIRFLOW_LINEAGE_{name} is {shown(text)}; it can be a whole number from {least:,} to {most:,}")
    return found


def _seconds(name: str, default: float, most: float = 2_000_000) -> float:
    """A number of seconds; the default where nothing is set.

    :raises InvalidSetting: it is none, or out of bounds.
    """
    text = os.environ.get(f"AIRFLOW_LINEAGE_{name}") or ""
    if not text.strip():
        return default
    found = float(text) if re.fullmatch(r"\s*[0-9]{1,9}(\.[0-9]{1,9})?\s*", text, re.ASCII) else -1.0
    if not 0 <= found <= most:
        raise InvalidSetting(f"AIRFLOW_LINEAGE_{name} is {shown(text)}; it can be a number of seconds from 0 to {most:,}")
    return found
