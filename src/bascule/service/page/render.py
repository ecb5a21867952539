"""Rendering of templates into pages, and into fragments that are updated separately.

A fragment carries its own version in a hidden field named `seen`. A page that asks for news sends
these fields, and the answer has only the fragments whose version has changed; htmx puts them in
place. So a part of the page is read out, redrawn or loses its focus only if its content is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2s
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from bascule.live.api import OPEN, Store, raised
from bascule.live.api.reads import Summary, alarm_names
from bascule.presentation.figures import Intervals
from bascule.presentation.numbers import Amounts, amount, duration, percent
from bascule.presentation.pages import design_report, environment
from bascule.presentation.report import Fact
from bascule.presentation.status import has_evidence, report, whole_percent
from bascule.service.auth.keys import Caller
from bascule.service.page import views, words
from bascule.service.page.changes import arm_changes, changes, forecast_table, offered, slider
from bascule.service.page.charts import allocation_chart, effect_charts, points_for
from bascule.service.page.creation import options
from bascule.service.page.creation.form import rule_name
from bascule.service.page.words import term
from bascule.service.reading.shared import ExperimentCache, paged, pages_of

if TYPE_CHECKING:
    from jinja2 import Environment

    from bascule.service.responses import Problem


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a page, as HTML, that can be updated on its own."""

    id: str
    html: str
    version: str = field(init=False)
    """A hash of the text."""

    def __post_init__(self) -> None:
        version = blake2s(self.html.encode(), digest_size=8).hexdigest()
        object.__setattr__(self, "version", version)

    def __html__(self) -> str:
        return self._wrapped("")

    @property
    def out_of_band(self) -> Markup:
        """HTML with which htmx replaces this fragment on the page."""
        # Safe as markup: the template has escaped all text in it.
        return Markup(self._wrapped(' hx-swap-oob="true"'))  # nosec B704

    def _wrapped(self, attributes: str) -> str:
        # Safe as markup: the id is our own, and the template has escaped the text.
        marker = f'<input type="hidden" name="seen" value="{self.id}.{self.version}">'
        return f'<div class="fragment" id="{self.id}"{attributes}>{self.html}{marker}</div>'


def changed(fragments: Mapping[str, Fragment], known: Iterable[str]) -> list[Fragment]:
    """Return the fragments whose present version a page does not have yet.

    >>> one, other = Fragment("one", "1"), Fragment("other", "2")
    >>> result = changed({"one": one, "other": other}, [f"one.{one.version}", "other.old"])
    >>> [fragment.id for fragment in result]
    ['other']
    """
    names = set(known)
    return [
        fragment
        for fragment in fragments.values()
        if f"{fragment.id}.{fragment.version}" not in names
    ]


def page(template: str, caller: Caller | None, status: int = 200, **shown: Any) -> HTMLResponse:
    """Render a whole page."""
    text = render(template, caller=caller, **shown)
    return HTMLResponse(text, status)


def render(template: str, **shown: Any) -> str:
    """Render a template; all text in it is escaped."""
    return _environment().get_template(template).render(**shown)


def fragment(id: str, **shown: Any) -> Fragment:  # noqa: A002
    """Render the template `parts/ID.html` as a fragment with this id."""
    return Fragment(id, render(f"parts/{id}.html", **shown))


def parts(text: str) -> HTMLResponse:
    """Return a response for htmx: status 204 if the text is empty, since nothing has changed."""
    return HTMLResponse(text, 200 if text else 204)


def problem_page(request: Request, problem: Problem) -> HTMLResponse:
    """Render a refusal as a page."""
    answer = page("problem.html", None, problem.status, problem=problem, where=request.url.path)
    for name, value in problem.headers.items():
        answer.headers[name] = value
    return answer


@lru_cache(maxsize=1)
def _environment() -> Environment:
    made = environment("bascule.service.page")
    made.globals |= {"static": static_address, "term": term, "options": options}
    made.filters |= {"tight": tight, "duration": duration, "percent": percent, "amount": amount}
    return made


def tight(text: str) -> str:
    """Join each number to its percent sign with a no-break space.

    >>> tight("at most 5 %").split(" ")[-1][0]
    '5'
    """
    return text.replace(" %", "\u00a0%")


@lru_cache(maxsize=32)
def static_address(name: str) -> str:
    """Return the URL of a static file, with a hash of its content so that no old copy is used.

    >>> static_address("page.css").startswith("/static/page.css?")
    True
    """
    content = files("bascule.service.page").joinpath("static", *name.split("/")).read_bytes()
    return f"/static/{name}?{blake2s(content, digest_size=6).hexdigest()}"


def list_fragments(
    directory: ExperimentCache,
    entries: Sequence[Summary],
    caller: Caller,
    search: str = "",
    number: int = 1,
) -> dict[str, Fragment]:
    """Render one page of the tests that the caller may see, filtered by `search` if given."""
    visible = views.in_order(directory.visible(entries, caller.sees, search))
    on_page = paged(visible, number)
    listing, by_name = directory.statuses(on_page), {entry.name: entry for entry in on_page}
    alarms = alarm_names(directory.store)
    lines: list[views.ListEntry] = []
    for status in listing.statuses:
        entry = by_name[status.name]
        mismatch = views.has_mismatch(alarms.get(entry.test.id, ()))
        lines.append(views.line(entry.design, status, mismatch))
    shown = {"lines": lines, "settling": listing.settling, "number": number}
    counts = {"pages": pages_of(visible), "total": len(visible)}
    return {"tests": fragment("tests", **shown, **counts, caller=caller, search=search)}


@dataclass(frozen=True, slots=True)
class TestParts:
    """The parts of a test's page that all callers of a role share, and the data of its buttons."""

    fragments: Mapping[str, Fragment]
    actions: Mapping[str, Any]
    facts: Sequence[Fact]
    description: str

    def for_caller(self, caller: Caller) -> dict[str, Fragment]:
        """Return all fragments; the buttons carry the CSRF token of the caller's session."""
        return {**self.fragments, "actions": fragment("actions", caller=caller, **self.actions)}


def shared_caller(caller: Caller) -> Caller:
    """Return a copy of a caller with the same rights, but without its name and session.

    >>> shared_caller(Caller("ann", "viewer", None, "secret"))
    Caller(name='', role='viewer', experiments=None, csrf=None)
    """
    return Caller("", caller.role, caller.experiments)


def test_parts(store: Store, name: str, caller: Caller) -> TestParts:
    """Render the parts of a test's page that are updated while it is open."""
    test = store.get(name)
    status, design, audit = test.status(), test.design, test.audit()
    is_open, is_admin = status.state in OPEN, caller.is_admin
    turns = test.forecast(offered(design)) if is_open else ()
    logged = [str(entry["detail"].get("name")) for entry in audit if entry["action"] == "alarm"]
    mismatch = views.has_mismatch(logged)
    said, amounts = report(status, mismatch), Amounts.of(design.outcome, design.goal)
    history = test.history(points_for(len(design.arms)))
    parts = [
        fragment("said", text=words.announcement(status, mismatch)),
        fragment(
            "banner",
            tone=words.tone(status, mismatch),
            report=said,
            state=words.STATES[status.state],
            rule=rule_name(design),
            started=views.start_words(audit),
            guarantee=words.guarantee_kind(design, status),
            evidence=whole_percent(status.evidence) if is_open and has_evidence(status) else None,
        ),
        fragment(
            "arms",
            name=name,
            report=said,
            intervals=views.drawn(
                [figure for figure in said.figures if isinstance(figure, Intervals)], design.arms
            ),
            begins=status.units == 0,
            covariates=[covariate.name for covariate in design.covariates or ()],
        ),
        fragment(
            "effects",
            charts=effect_charts(status, history, amounts),
            decides=design.decides,
            guarded=bool(design.guardrails),
        ),
        fragment("allocation", chart=allocation_chart(status, history), arms=design.arms),
        fragment(
            "cost",
            cost=views.cost_of(design, status, turns, test.even_split()),
            decides=design.decides,
        ),
        fragment("audit", rows=views.audit_rows(audit)),
        # Forecasts may change while somebody moves the slider: they are a fragment of their own.
        fragment(
            "knob",
            name=name,
            knob=slider(design) if is_open else None,
            may=is_admin,
            is_open=is_open,
        ),
        fragment(
            "outlook",
            forecast=forecast_table(design, status, turns),
            has_knob=is_open and slider(design) is not None,
            unknown=views.no_forecast_words(status),
        ),
    ]
    by_arm = arm_changes(status) if is_admin else {}
    actions = {
        "name": name,
        "changes": changes(status) if is_admin else [],
        "arms": list(by_arm.items()),
        "may": is_admin,
    }
    facts, audience = [*design_report(design).facts], test.audience
    if audience is not None:
        facts.append(Fact("who gets in", audience.words))
    return TestParts({part.id: part for part in parts}, actions, facts, test.description)


def diagnostic_fragments(store: Store, name: str) -> dict[str, Fragment]:
    """Render the diagnostics of a test, which are computed from its whole log."""
    test = store.get(name)
    diagnosed = test.diagnostics()
    return {
        "alarm": fragment("alarm", alarms=raised(diagnosed, test.state in OPEN)),
        "diagnostics": fragment(
            "diagnostics",
            lines=views.diagnostic_words(diagnosed),
            excluded=views.excluded_words(test.excluded_counts()),
        ),
    }
