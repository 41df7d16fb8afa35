"""Reader options as a source's description has them, and the withheld ones given again for reading it again."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_lineage_provider import settings
from airflow_lineage_provider.secrecy.digests import digest, is_digest, same_key
from airflow_lineage_provider.secrecy.known import CREDENTIALS, FILE_SYSTEM_ACCESS, READER_OPTIONS
from airflow_lineage_provider.secrecy.urls import database_url

WITHHELD_URL = "url."
"""Before the names of withheld properties of a database URL."""


def recorded_options(options: Mapping[str, str]) -> dict[str, str]:
    """Options of Spark's own readers as they are, and those that ``AIRFLOW_LINEAGE_CLEAR_OPTIONS`` names; of others a digest.

    Credentials, and options that say how a file system is reached, are left out: they are no part of what was read.
    """
    clear = READER_OPTIONS | set(settings.clear_options())
    return {
        name: value if name.lower() in clear and not is_digest(value) else digest(value)
        for name, value in options.items()
        if name.lower() not in CREDENTIALS and not name.lower().startswith(FILE_SYSTEM_ACCESS)
    }


def of_no_effect(name: str) -> bool:
    """Whether an option that Spark's readers of files do not know cannot change what they read: Hadoop's settings have dots."""
    return "." not in name


def options_again(recorded: Mapping[str, str], given: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The options for reading a source again, and what is wrong with them, for people.

    ``given`` are options of the session or of the caller: credentials, and those that were withheld (for the withheld parts of a URL: the
    whole URL). They must have the digests that were recorded.
    """
    by_name = {name.lower(): value for name, value in given.items()}
    url = by_name.get("url")
    parts = database_url(url)[1] if url else {}
    made, problems = dict(given), []
    for name, value in recorded.items():
        if not is_digest(value):
            made.setdefault(name, value)
            continue
        part = name.removeprefix(WITHHELD_URL)
        found = parts.get(part) if name.startswith(WITHHELD_URL) else by_name.get(name.lower())
        problem = _problem(name, value, found)
        if problem is not None:
            problems.append(problem)
    if url and "url" in recorded and database_url(recorded["url"])[0] != database_url(url)[0]:
        problems.append("another database URL was given than the one that was read")
    return made, problems


def _problem(name: str, recorded: str, found: str | None) -> str | None:
    if found is None:
        return f"option {name!r} was not recorded, as it is not known to be harmless"
    if not same_key(recorded):
        return f"whether option {name!r} is the one that was read with cannot be told: its digest is of another key"
    return None if digest(found) == recorded else f"option {name!r} is not the one that was read with"
