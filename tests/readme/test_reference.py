"""The reference names what the code has, and nothing else."""

from __future__ import annotations

import re
from argparse import _SubParsersAction

import airflow_lineage_provider as top
from airflow_lineage_provider import errors
from airflow_lineage_provider.cli.arguments import OLD_NAMES, parser
from tests.readme.conftest import ROOT

TEXT = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")


def section(name: str) -> str:
    return TEXT.split(f"\n## {name}\n")[1].split("\n## ")[0]


def test_every_name_of_the_package_is_told() -> None:
    told = set(re.findall(r"`(\w+)", section("Python")))
    assert set(top.__all__) - {"__version__"} <= told


def test_every_setting_is_told() -> None:
    package = ROOT / "airflow_lineage_provider"
    source = (package / "settings.py").read_text(encoding="utf-8")
    known = set(re.findall(r"AIRFLOW_LINEAGE_[A-Z_]+[A-Z]", source))
    first_cells = "\n".join(re.findall(r"^\| (.*?) \|", section("Settings"), re.MULTILINE)).replace("…", "AIRFLOW_LINEAGE")
    assert set(re.findall(r"AIRFLOW_LINEAGE_[A-Z_]+", first_cells)) == known


def test_the_errors_are_those_of_the_module() -> None:
    assert errors.__doc__ is not None
    tree = [line.strip() for line in errors.__doc__.splitlines() if line.strip().startswith(("LineageError", "├", "│", "└"))]
    assert all(line in section("Errors") for line in tree)
    defined = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.LineageError)}
    assert defined == {found[0] for line in tree if (found := re.search(r"[A-Z]\w+", line))}


def test_every_verb_is_told() -> None:
    (verbs,) = [action for action in parser()._actions if isinstance(action, _SubParsersAction)]
    assert set(verbs.choices) - set(OLD_NAMES.values()) == set(
        re.findall(r"^\| `([a-z-]+)` \|", section("The console command"), re.MULTILINE)
    )
