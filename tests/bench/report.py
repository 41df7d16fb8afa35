"""A page of the results: for each comparison its table, and its arms as bars. One file, which needs nothing else."""

from __future__ import annotations

import base64
import io
from pathlib import Path

from jinja2 import Environment

from tests.bench.comparison import Comparison
from tests.bench.results import Results, figure_names, text

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Benchmarks</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24 }
.wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums } img { max-width: 100% }
td, th { padding: .25rem .75rem; text-align: right; border-bottom: 1px solid #d0d7de } td:first-child { text-align: left }
.baseline td { color: #57606a } .failed { color: #a40e26; white-space: pre-wrap }
</style>
<h1>Benchmarks</h1>
<p>{{ size }} sizes; {% for name, value in machine.items() %}{{ name }} {{ value }}{{ ", " if not loop.last }}{% endfor %}.
Ratios (÷) are to the first arm, in the same run; figures are medians. Wall times are this machine's; counts are every machine's.</p>
{% for name, problem in failed.items() %}<h2>{{ name }}</h2><p class="failed">{{ problem }}</p>{% endfor %}
{% for name, comparisons in experiments.items() %}
<h2>{{ name.replace("_", " ") }}</h2>
{% for one, columns, figures, bars in comparisons %}
<h3>{{ one.title }}</h3>
<div class="wide"><table><tr><th></th>{% for column in columns %}<th>{{ column }}</th>{% endfor %}</tr>
{% for arm, some in figures.items() %}<tr{% if arm == one.baseline %} class="baseline"{% endif %}><td>{{ arm }}</td>
{% for column in columns %}<td>{{ text(some.get(column)) }}</td>{% endfor %}</tr>{% endfor %}</table></div>
<img alt="{{ one.title }}: CPU seconds by process of each arm" src="data:image/svg+xml;base64,{{ bars }}">
{% endfor %}{% endfor %}
</html>
"""


def write_report(results: Results, path: Path) -> None:
    """Write the page."""
    shown = {name: [_shown(one) for one in some] for name, some in results.experiments.items()}
    page = Environment(autoescape=True).from_string(_PAGE)
    told = page.render(experiments=shown, machine=results.machine, size=results.size, failed=results.failed, text=text)
    path.write_text(told, encoding="utf-8")


def _shown(one: Comparison) -> tuple[Comparison, list[str], dict[str, dict[str, float]], str]:
    return one, figure_names(one), one.figures(), base64.b64encode(_bars(one)).decode()


def _bars(one: Comparison) -> bytes:
    """CPU seconds of each arm, stacked by process, and every reading's wall time as a dot: how far the medians can be trusted."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figures = one.figures()
    arms = list(figures)[::-1]
    picture, axes = pyplot.subplots(figsize=(9, 0.7 + 0.4 * len(arms)), layout="constrained")
    left = dict.fromkeys(arms, 0.0)
    for process in dict.fromkeys(name for some in one.readings.values() for name in some[0].cpu):
        widths = [figures[arm].get(f"{process}, CPU s", 0.0) for arm in arms]
        axes.barh(arms, widths, left=[left[arm] for arm in arms], label=f"CPU, {process}", height=0.6)
        left = {arm: left[arm] + width for arm, width in zip(arms, widths, strict=True)}
    dots = [(reading.wall, arm) for arm in arms for reading in one.readings[arm]]
    axes.scatter([wall for wall, _ in dots], [arm for _, arm in dots], color="black", s=9, zorder=3, label="wall, each reading")
    axes.set_xlabel("seconds")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small", frameon=False)
    file = io.BytesIO()
    picture.savefig(file, format="svg")
    pyplot.close(picture)
    return file.getvalue()
