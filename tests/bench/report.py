"""A page of the results: the goals, then for each comparison its table, and its arms as bars. One file, which needs nothing else."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

from jinja2 import Environment

from tests.bench.comparison import Comparison
from tests.bench.goals import goals
from tests.bench.outcomes import outcomes
from tests.bench.results import Results, busy_told, figure_names, text

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Benchmarks</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24 }
.wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums } img { max-width: 100% }
td, th { padding: .25rem .75rem; text-align: right; border-bottom: 1px solid #d0d7de } td:first-child { text-align: left }
.baseline td { color: #57606a } .verdict .busy { display: block }
pre { font-size: .75rem; line-height: 1.3; overflow: auto; max-width: 70rem; max-height: 40rem }
.failed { color: #a40e26; white-space: pre-wrap }
.goals td, .goals th { text-align: left; vertical-align: top }
.goals .told td { padding-top: 0 } .goals .number { text-align: right; white-space: nowrap }
.goals .verdict { white-space: nowrap } .goals .reached .verdict { color: #116329 } .goals .not.measured td { color: #57606a }
.busy { color: #7d4e00; font-weight: 600 } .goals .not.reached .verdict { color: #a40e26; font-weight: 600 }
</style>
<h1>Benchmarks</h1>
<p>{{ size }} sizes; {% for name, value in machine.items() %}{{ name }} {{ value }}{{ ", " if not loop.last }}{% endfor %}.
Ratios (÷) are to the first arm, in the same run; figures are medians. Wall times are this machine's; counts are every machine's.
While {{ busy }} of the comparisons were made the machine was <b class="busy">busy</b>: others took more than a tenth of it, so that wall
times are too long there, and ratios uncertain.</p>
{% for name, problem in failed.items() %}<h2>{{ name }}</h2><p class="failed">{{ problem }}</p>{% endfor %}
{% if goals %}<h2>Goals</h2>
<p>{{ reached|length }} measurements reach their goal, {{ missed|length }} do not;
{{ unmeasured|length }} goals are not measured by what was run.
Where a goal is not reached, the bars of its comparison show which process takes the time, and its profile where: in which of the driver's
threads, Spark's stages and PostgreSQL's statements; of a count it says what was counted.
{% if size == "small" %}Ratios to Rerun grow with the data: the papers' are those of their sizes (<code>--size full</code>).{% endif %}</p>
<div class="wide"><table class="goals"><tr><th>figure</th><th class="number">goal</th><th class="number">measured</th><th>verdict</th>
<th class="number">paper</th><th>where</th></tr>
{% for one in missed + reached + told + unmeasured %}<tr class="{{ one.verdict }}">
<td>{{ one.goal.figure }}</td><td class="number">{{ one.bound }}</td><td class="number">{{ text(one.measured) }}</td>
<td class="verdict">{{ one.verdict }}{% if one.is_busy %} <b class="busy">busy</b>{% endif %}
{% if one.is_untold %} <b class="busy">nothing tells why</b>{% endif %}</td>
<td class="number">{{ one.goal.paper }}</td>
<td>{% if one.title %}<a href="#{{ anchor(one.experiment, one.title) }}">{{ one.where }}</a>{% else %}{{ one.where }}{% endif %}
</td></tr>
{% if one.profile and one in missed %}<tr class="told"><td colspan="6"><details><summary>where it goes</summary>
<pre>{{ one.profile }}</pre></details></td></tr>{% endif %}{% endfor %}</table></div>{% endif %}
{% for name, comparisons in experiments.items() %}
<h2>{{ name.replace("_", " ") }}</h2>
{% for one, columns, figures, bars in comparisons %}
<h3 id="{{ anchor(name, one.title) }}">{{ one.title }}</h3>
{% if one.is_busy(cores) %}<p class="busy">{{ busy_told(one) }}</p>{% endif %}
{% if one.readings %}<div class="wide"><table><tr><th></th>{% for column in columns %}<th>{{ column }}</th>{% endfor %}</tr>
{% for arm, some in figures.items() %}<tr{% if arm == one.baseline %} class="baseline"{% endif %}><td>{{ arm }}</td>
{% for column in columns %}<td>{{ text(some.get(column)) }}</td>{% endfor %}</tr>{% endfor %}</table></div>
<img alt="{{ one.title }}: CPU seconds by process of each arm" src="data:image/svg+xml;base64,{{ bars }}">{% endif %}
{% if one.notes %}<ul>{% for name, note in one.notes.items() %}<li><b>{{ name }}</b>: {{ note }}</li>{% endfor %}</ul>{% endif %}
{% endfor %}{% endfor %}
</html>
"""


def write_report(results: Results, path: Path) -> None:
    """Write the page."""
    shown = {name: [_shown(one) for one in some] for name, some in results.experiments.items()}
    page = Environment(autoescape=True).from_string(_PAGE)
    found = outcomes(results, goals())
    verdicts = {verdict: [one for one in found if one.verdict == verdict] for verdict in ("reached", "told", "not reached", "not measured")}
    told = page.render(
        experiments=shown,
        machine=results.machine,
        size=results.size,
        failed=results.failed,
        goals=found,
        reached=verdicts["reached"],
        told=verdicts["told"],
        missed=verdicts["not reached"],
        unmeasured=verdicts["not measured"],
        busy=sum(one.is_busy(results.cores) for some in results.experiments.values() for one in some),
        busy_told=busy_told,
        cores=results.cores,
        text=text,
        anchor=_anchor,
    )
    path.write_text(told, encoding="utf-8")


def _anchor(experiment: str, title: str) -> str:
    """A comparison's place on the page."""
    return re.sub(r"[^a-z0-9]+", "-", f"{experiment} {title}".lower()).strip("-")


def _shown(one: Comparison) -> tuple[Comparison, list[str], dict[str, dict[str, float]], str]:
    return one, figure_names(one), one.figures(), base64.b64encode(_bars(one)).decode() if one.readings else ""


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
