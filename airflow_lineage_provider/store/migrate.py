"""The schema's version: made when the database is empty, checked when it is not, upgraded on demand.

Alembic is loaded only when there is something to make or to explain; the usual opening is one small query.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from airflow_lineage_provider.errors import StoreSchemaTooNew, StoreSchemaTooOld
from airflow_lineage_provider.store.schema import HEAD, VERSION_TABLE
from airflow_lineage_provider.store.sqltext import CATALOG_SCHEMA, qualified

if TYPE_CHECKING:
    from alembic.config import Config

# Any number will do that nobody else takes.
_LOCK = 0x6C696E65616765


def ensure_schema(engine: sa.Engine, url: str) -> None:
    """Make the schema when there is none; otherwise check its version.

    :param engine: of the store.
    :param url: redacted, for messages.
    :raises StoreSchemaTooOld: the store was made by an older version of this package.
    :raises StoreSchemaTooNew: by a newer one.
    """
    with engine.connect() as connection:
        version = current_version(connection)
    if version is None:
        upgrade(engine, url)
    elif version != HEAD:
        _check_known(version, url)
        raise StoreSchemaTooOld(
            f"the results store {url} has schema version {version}, this code needs {HEAD}: run 'airflow-lineage store upgrade'"
        )


def upgrade(engine: sa.Engine, url: str) -> None:
    """Bring the schema to this code's version; several processes may do so at once.

    :raises StoreSchemaTooNew: the schema is of a version that this code does not know.
    """
    from alembic import command

    with engine.begin() as connection:
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        version = current_version(connection)
        if version == HEAD:
            return
        if version is not None:
            _check_known(version, url)
        connection.execute(sa.schema.CreateSchema(CATALOG_SCHEMA, if_not_exists=True))
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def current_version(connection: sa.Connection) -> str | None:
    """The schema's version, None when there is no schema."""
    table = qualified(CATALOG_SCHEMA, VERSION_TABLE)
    if connection.execute(sa.text("SELECT to_regclass(:table)"), {"table": table}).scalar() is None:
        return None
    found = connection.execute(sa.text(f"SELECT version_num FROM {table}")).scalar()
    return None if found is None else str(found)


def known_versions() -> list[str]:
    """Every schema version that this code knows, newest first."""
    from alembic.script import ScriptDirectory

    return [script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()]


def _check_known(version: str, url: str) -> None:
    if version not in known_versions():
        raise StoreSchemaTooNew(
            f"the results store {url} has schema version {version}, which this code (version {HEAD}) does not know:"
            " upgrade the package, pip install --upgrade airflow-provider-lineage"
        )


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    # The configuration takes % for an interpolation.
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
