"""The experiments, one file each: what it does, and ``run(ground)``, which gives a comparison after the other."""

EXPERIMENTS = (
    "small_runs",
    "lfw",
    "cda",
    "queries",
    "tpcds",
    "judging",
    "asking",
    "questions",
    "deriving",
    "large_answers",
    "forward_answers",
    "strategies",
    "peers",
    "loading",
    "in_files",
    "reading",
    "growth",
    "kept_runs",
    "at_once",
    "arrays",
    "array_queries",
    "array_coverage",
    "array_reasons",
    "sketches",
)
"""The names of the files, in the order in which all are run."""
