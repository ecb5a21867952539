"""Reports as HTML pages and as output of notebooks.

A page is one file with everything in it, and loads nothing from elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule.core.calendar import DAY
from bascule.core.ending import winner_promise
from bascule.core.errors import missing
from bascule.presentation.figures import inline
from bascule.presentation.numbers import BETTER, Amounts, count, duration
from bascule.presentation.report import Fact, Report

if TYPE_CHECKING:
    from jinja2 import Environment

    from bascule.core.design import Design
    from bascule.core.metrics.measure import Measure
    from bascule.core.metrics.metric import Metric
    from bascule.presentation.report import Drawable


def environment(package: str) -> Environment:
    """Return the Jinja environment of a package's templates; all text in them is escaped."""
    # Loaded at first use, because most results are never made into a page.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def report_page(report: Report, kind: str, file: str = "") -> str:
    """Return a report as an HTML page with its figures and details.

    - `kind`: the kind of page, which is written above the headline
    - `file`: the text of a file that the report is about

    >>> from bascule.presentation.report import Drawable, Report
    >>> page = report_page(Report("Ship green", notes=("Proven.",)), "Test report")
    >>> page.startswith("<!doctype html>"), "Ship green" in page, "http" in page
    (True, True, False)
    """
    return _rendered("page.html", report=report.spelled({}), kind=kind, file=file)


def shown(*reports: Report) -> str:
    """Return reports as the HTML of a notebook, each with its figures and without its details.

    >>> "<p>Proven.</p>" in shown(Report("Ship green", notes=("Proven.",)))
    True
    """
    return _rendered("notebook.html", reports=reports)


def _rendered(name: str, **values: object) -> str:
    """Render a template with reports; figures are drawn if Matplotlib is installed."""
    message = missing("figures", "a figure", "matplotlib")

    def drawn(figure: Drawable) -> str:
        return message or inline(figure.plot())

    return environment("bascule.presentation").get_template(name).render(drawn=drawn, **values)


def design_report(design: Design) -> Report:
    """Return a design as a report: what is fixed before the first unit."""
    facts = [
        Fact("arms", ", ".join(design.arms)),
        Fact("outcome", design.outcome.words),
        Fact("rule", design.rule.words, f"({design.rule.label})"),
        Fact("error", winner_promise(design, design.procedure.empty())),
        Fact("outcome of a unit", _counting(design.measure)),
    ]
    facts += [Fact(metric.name, _about(metric)) for metric in design.metrics]
    if design.min_effect is not None:
        facts.append(Fact("smallest relevant difference", f"{design.min_effect:g}"))
    if design.max_units is not None:
        facts.append(Fact("ends undecided", f"after {count(design.max_units)} units"))
    if design.deadline is not None:
        facts.append(Fact("deadline", f"{design.deadline:%Y-%m-%d %H:%M %Z}"))
    return Report("Design", facts=tuple(facts), notes=(design.rule.explain(len(design.arms)),))


def _about(metric: Metric) -> str:
    """Describe a metric other than the primary one."""
    amounts, about = Amounts(metric.outcome.binary), [metric.role, metric.outcome.words]
    about += BETTER[metric.goal]
    if metric.margin is not None:
        about.append(f"margin {amounts.size(metric.margin)}")
    if metric.measure is not None:
        about.append(_counting(metric.measure))
    return "; ".join(about)


def _counting(measure: Measure | None) -> str:
    """Describe how the outcome of a unit is measured."""
    if measure is None:
        return "the first value recorded; later units wait for a unit without a value"
    names = {"sum": "the sum of its events", "any": "1 if there was an event, else 0"}
    names |= {"mean": "the mean of its events", "last": "its last event"}
    days = duration(float(measure.window or measure.period or 0.0) / DAY)
    place = "in every period of" if measure.window is None else "within a conversion window of"
    grace = f", and {duration(float(measure.grace) / DAY)} of grace" if measure.grace else ""
    return f"{names[measure.aggregate]}, {place} {days}{grace}"
