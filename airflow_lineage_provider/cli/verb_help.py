"""What ``airflow-lineage`` says of its verbs: one line, and examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DESCRIPTION = (
    "Run PySpark pipelines with lineage, and ask later which source rows made a row of a result, and why each model decided as it did."
)


@dataclass(frozen=True)
class VerbHelp:
    """What a verb does, and command lines that do it; the first one stands in the command's own help."""

    does: str
    examples: tuple[str, ...]


VERBS: Mapping[str, VerbHelp] = {
    "run": VerbHelp(
        "run a pipeline and record its lineage",
        (
            "airflow-lineage run examination.py:pipeline --param month=2025-12 --output parquet:/tmp/judged",
            "airflow-lineage run judged.sql --import udfs.credit --key client=client_id",
            "airflow-lineage run examination.py:pipeline --secret-param key=BANK_KEY --strategy rerun --json",
            "airflow-lineage run by_month.sql --source loans latest \"judge = 'Reject'\" --capture eager",
        ),
    ),
    "safe": VerbHelp(
        "show of which source columns a provenance sketch is safe; the pipeline is not run",
        ("airflow-lineage safe pipelines.py:best --param year=2025", "airflow-lineage safe best.sql --key customer=c_custkey --json"),
    ),
    "sketches": VerbHelp(
        "list the provenance sketches that later runs may read sources through, newest first, show one, or drop some",
        ("airflow-lineage sketches", "airflow-lineage sketches best --check --json", "airflow-lineage sketches --show ID"),
    ),
    "profile": VerbHelp(
        "show which values of a table violate functional dependencies, and which rows stand behind them",
        (
            "airflow-lineage profile physicians.parquet 'zip -> city' 'npi -> last_name' --html violations.html",
            "airflow-lineage profile latest 'client_id -> occ' --json",
        ),
    ),
    "list": VerbHelp(
        "list recorded runs, newest first",
        ("airflow-lineage list", "airflow-lineage list --pipeline loan_examination.examine --limit 5"),
    ),
    "show": VerbHelp(
        "show what a run stored of each segment of its plan, how large that is, and why",
        ("airflow-lineage show latest", "airflow-lineage show latest --pipeline loan_examination.examine --json"),
    ),
    "dag-plan": VerbHelp(
        "show the plans of a DAG run's tasks, joined at the tables that pass between them",
        ("airflow-lineage dag-plan loan_examination", "airflow-lineage dag-plan loan_examination scheduled__2026-11-25 --json"),
    ),
    "capture": VerbHelp(
        "find what stands behind every row of a run now, and keep it as indexes that questions look up later",
        (
            "airflow-lineage capture latest",
            "airflow-lineage capture 01JG3Q --direction backward --json",
            "airflow-lineage capture latest --where 'loans=debt>0' --partition-by loans=month --cube 'loans={\"by\": [\"month\"]}'",
            "airflow-lineage capture latest --granularity loans=occ --granularity 'loans=month(date)'",
        ),
    ),
    "index": VerbHelp(
        "show what was captured of a run's lineage, how large it is, and how it is written",
        ("airflow-lineage index latest",),
    ),
    "explain": VerbHelp(
        "find the source rows that made rows of a run's result, and why the models decided as they did",
        (
            "airflow-lineage explain latest \"judge = 'Reject'\" --html why.html",
            "airflow-lineage explain latest --at 0,3",
            "airflow-lineage explain latest \"judge = 'Reject'\" --since 01JG3Q --pipeline examine",
            'airflow-lineage explain 01JG3Q \'[{"judge": "Reject"}]\' --verify --json',
            "airflow-lineage explain latest true --max-rows 1000000 --stream why",
        ),
    ),
    "batches": VerbHelp(
        "list the newest batches of a stream that a pipeline was given, each with the run that recorded it",
        ("airflow-lineage batches judge_live", "airflow-lineage batches judge_live --limit 5 --json"),
    ),
    "explain-batches": VerbHelp(
        "explain rows of a stream's results, in whichever batches they are, and say which batches nobody can look into",
        (
            "airflow-lineage explain-batches judge_live \"judge = 'Reject' AND client_id = 7\"",
            "airflow-lineage explain-batches judge_live \"judge = 'Reject'\" --max-batches 5 --json",
        ),
    ),
    "explain-columns": VerbHelp(
        "show from which source columns each column of a run's result is computed, and which only influence it",
        ("airflow-lineage explain-columns latest --column judge", "airflow-lineage explain-columns latest --across"),
    ),
    "why-not": VerbHelp(
        "find out what became of source rows: they are behind rows of the result, or which operator dropped them, and why",
        ('airflow-lineage why-not latest "client_id = 7" --table loans', "airflow-lineage why-not latest --at 0,2 --table loans"),
    ),
    "backward": VerbHelp(
        "find the source rows behind rows of a run's result, as rows: without reasons, and kept nowhere",
        ("airflow-lineage backward latest \"judge = 'Reject'\" --table loans", "airflow-lineage backward latest --at 0,3 --json"),
    ),
    "forward": VerbHelp(
        "find the rows of a run's result that descend from source rows; with --across those of all later runs, too",
        (
            'airflow-lineage forward latest "client_id = 8" --table loans --across',
            "airflow-lineage forward 01JG3Q --at 0,2 --table loans --json",
        ),
    ),
    "linked": VerbHelp(
        "find the rows of another run's result that were made of the source rows behind rows of a run's result",
        (
            "airflow-lineage linked latest \"judge = 'Reject'\" --with 01JG3Q",
            "airflow-lineage linked latest --at 0,3 --with 01JG3Q --table loans --json",
        ),
    ),
    "impact": VerbHelp(
        "find out what becomes of a run's result when source rows are others: what descends from them, what is gone, and what appears",
        (
            'airflow-lineage impact latest "client_id = 8" --table loans --set amount=5000',
            'airflow-lineage impact latest "client_id = 8" --table loans --remove --json',
        ),
    ),
    "brush": VerbHelp(
        "show linked views of local Parquet files, by expressions or by recorded runs, and what brushes on some leave in the others",
        (
            "airflow-lineage brush flights.parquet --view carrier=carrier --view hour=hour --brush carrier=AA --html flights.html",
            "airflow-lineage brush judged/ --view judge=judge --view 'month=month(date)' --brush 'month=[11, 12]' --json",
            "airflow-lineage brush flights.parquet --run carriers=01JG3Q --view hour=hour --serve",
        ),
    ),
    "show-derivation": VerbHelp(
        "show an answer of explain again, as it was stored; or of why-not and forward, with --save",
        ("airflow-lineage show-derivation 01JG3QZ8W5K4T2N6M0V7R9XYAB --html why.html",),
    ),
    "letters": VerbHelp(
        "show, for each unfavourable decision of an answer of explain, the letter with the reasons that counted most against the person",
        (
            "airflow-lineage letters 01JG3QZ8W5K4T2N6M0V7R9XYAB --favourable Accept --html letters.html",
            "airflow-lineage letters 01JG3QZ8W5K4T2N6M0V7R9XYAB --favourable Accept --text 'debt=Your debt is high for your income' --json",
        ),
    ),
    "drop": VerbHelp(
        "delete what runs have stored; that there was a run stays known",
        ("airflow-lineage drop 01JG3QZ8W5K4T2N6M0V7R9XYAB", "airflow-lineage drop --yes 01JG3QZ8W5K4T2N6M0V7R9XYAB"),
    ),
    "arrays": VerbHelp(
        "list, show, query or drop arrays whose cells' lineage is kept in the results store",
        (
            "airflow-lineage arrays list task:etl/",
            "airflow-lineage arrays query small photo --index '0:10, 5' --json",
            "airflow-lineage arrays drop task:etl/load/manual__2026-01-01/ --yes",
        ),
    ),
    "store": VerbHelp(
        "check, upgrade or stop the results store, or make its roles",
        ("airflow-lineage store status", "airflow-lineage store grant > roles.sql", "airflow-lineage store grant --apply"),
    ),
}


def epilog(examples: tuple[str, ...]) -> str:
    """The examples, as they stand at the end of a help."""
    return "\n  ".join(["examples:" if len(examples) > 1 else "example:", *examples])
