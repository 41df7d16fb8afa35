"""The application behind the lineage tab: every route needs a login, and answers from the results store without Spark."""

from __future__ import annotations

from airflow.api_fastapi.core_api.security import get_user
from fastapi import Depends, FastAPI

from airflow_lineage_provider import __version__
from airflow_lineage_provider.hooks.configured import configure
from airflow_lineage_provider.web import problems, shell
from airflow_lineage_provider.web.api import (
    columns,
    derivations,
    explanations,
    linked_views,
    navigation,
    openapi,
    pictures,
    questions,
    rows,
    runs,
    source_rows,
    spark_answers,
)
from airflow_lineage_provider.web.headers import Headers

API = "/api/v1"


def create_app() -> FastAPI:
    """The application, to be mounted below Airflow's."""
    configure()
    # Airflow's login guards the description of the API, too; and FastAPI's page of it loads scripts from elsewhere.
    app = FastAPI(title="Pipeline lineage with reasons", version=__version__, openapi_url=None, docs_url=None, redoc_url=None)
    problems.install(app)
    app.add_middleware(Headers)  # (around all that answers)
    for resource in (
        runs,
        rows,
        explanations,
        source_rows,
        linked_views,
        pictures,
        derivations,
        spark_answers,
        questions,
        navigation,
        columns,
        openapi,
    ):
        app.include_router(resource.router, prefix=API, dependencies=[Depends(get_user)], responses=problems.RESPONSES)
    app.include_router(shell.router)
    return app
