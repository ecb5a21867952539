"""The form for a new test: its fields, the request for a plan, and the plan as it is shown."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, get_args

from bascule.core.design import Design
from bascule.core.enrolment.audience import Audience
from bascule.core.errors import InputError, invalid
from bascule.core.inputs.checks import amount
from bascule.core.metrics.measure import Measure, Missing
from bascule.core.metrics.metric import Metric, metric_of
from bascule.core.options import check_given, make, options_of
from bascule.core.outcomes import OUTCOMES, Bounded, Outcome
from bascule.core.rules import RULES, Rule, Tilt
from bascule.live.api import check_name, checked_description
from bascule.planning.request.options import PLAN
from bascule.planning.request.read import capped_at, plan_request
from bascule.planning.request.request import PlanRequest
from bascule.planning.request.sample import Sample
from bascule.planning.result import Plan
from bascule.planning.search.choose import Candidate
from bascule.planning.search.stages import stages
from bascule.presentation.plan import text as words
from bascule.presentation.report import Report
from bascule.service.page.creation.options import (
    CONVERSIONS,
    FIELD,
    FORM,
    NO_RULE,
    OF_RULE,
    PARAMETERS,
    TITLES,
)


@dataclass(frozen=True)
class Form:
    """The fields of the form as typed; fields that were not sent usually have their default values.

    >>> Form.read({}).request().means
    (0.05, 0.06)
    """

    typed: Mapping[str, str]

    @classmethod
    def read(cls, fields: Mapping[str, object]) -> Form:
        """Return the form with the fields that were sent.

        Browsers do not send boxes that are not ticked, so a missing `start` counts as not ticked.
        """
        typed = {
            name: value.replace("\r\n", "\n")
            for name, value in fields.items()
            if name in FORM and isinstance(value, str)
        }
        usual = {name: option.default for name, option in FORM.items()}
        if typed.get("outcome", usual["outcome"]) != usual["outcome"]:
            usual |= dict.fromkeys(CONVERSIONS, "")
        return cls({**usual, "start": "" if fields else usual["start"], **typed})

    def __getitem__(self, name: str) -> str:
        return self.typed[name]

    @property
    def names(self) -> list[str]:
        """The names of the arms, one from each line of the field."""
        return [line.strip() for line in self["arms"].splitlines() if line.strip()]

    def rules(self) -> tuple[Rule, ...]:
        """Return the additional rule to plan, in a tuple that is empty if none was chosen."""
        kind = self.typed.get("other_rule", NO_RULE)
        values = {
            name.removeprefix(OF_RULE): _entries(name, text)
            for name, text in self._given().items()
            if name.startswith(OF_RULE)
        }
        if kind == NO_RULE:
            return ()
        try:
            return (make(RULES, FORM["other_rule"].read(kind), values),)
        except InputError as error:
            named = f"{OF_RULE}{error.field}"
            raise InputError(named if named in FORM else error.field, str(error)) from None

    @property
    def choice(self) -> str:
        """The value that names the chosen design, or else the additional rule; empty if neither."""
        return self["rule"] or next((rule.label for rule in self.rules()), "")

    def _given(self) -> dict[str, str]:
        """The fields that are not empty."""
        return {name: text for name, text in self.typed.items() if text.strip()}

    def problems(self, is_to_be_created: bool = False) -> dict[str, InputError]:
        """Return all problems of the form, by field.

        The name and the description are checked only if the test is to be created.
        """
        problems: dict[str, InputError] = {}
        accepted = {name: option.default or "" for name, option in FORM.items()}
        accepted["name"] = "name"
        if self["outcome"] != accepted["outcome"]:
            accepted |= dict.fromkeys(CONVERSIONS, "1")
        form, replaced = self, set[str]()
        while True:
            try:
                form.check_once(is_to_be_created)
                return problems
            except InputError as error:
                field = FIELD.get(error.field, error.field)
                # A problem that involves a replaced value may come from the replacement.
                if replaced.isdisjoint(error.others):
                    problems.setdefault(field, error)
                if field in replaced or field not in FORM:
                    return problems
                # Replace the value by a valid one, so that the next problem is found.
                replaced.add(field)
                form = Form({**form.typed, field: accepted[field]})

    def check_once(self, is_to_be_created: bool) -> None:
        """Raise `InputError` for the first invalid field."""
        check_given(FORM, {**self._given(), "name": ""})
        self.rules()
        self.audience()
        self.request()
        if is_to_be_created:
            check_name(self["name"].strip())
            checked_description(self["description"])

    def request(self) -> PlanRequest:
        """Return the request for the planner."""
        values: dict[str, Any] = {}
        for name, option in PLAN.items():
            if name not in FORM or name in ("outcome", "arms", "lift", "metrics", "sample", "cap"):
                continue
            text = self[name].strip()
            is_unused = name == "window" and self["counts"] != "window"
            if option.kind == "switch":
                values[name] = text == "yes"
            elif not is_unused and (text or (option.default and name != "baseline")):
                # An empty field is refused if it has a default value.
                values[name] = option.read(_entries(name, text))
        sample = self._sample()
        outcome, lift = self._outcome(sample), self._lift()
        # This raises an error for invalid names or windows before anything is planned.
        Design(self.names, outcome, Tilt(1), control=values.get("control"))
        if self["counts"] == "window":
            Measure(self["window"], "any")
        return plan_request(
            **values,
            outcome=outcome,
            sample=sample,
            arms=self.names,
            lift=lift,
            metrics=self._metrics(),
        )

    def _lift(self) -> str | None:
        """Return the minimum detectable effect; without a sign it means an improvement."""
        text = self["lift"].strip()
        if text and self["goal"] == "decrease" and text[:1] not in ("+", "-", "−"):
            return f"-{text}"
        return text or None

    def design(self, plan: Plan) -> Design:
        """Return the design chosen from a plan, with its measures of outcomes."""
        design = chosen(plan, self.choice).design
        if self["counts"] != "window":
            return replace(design, reports="always")
        metrics = [
            replace(metric, measure=self._measure(metric.outcome)) for metric in design.metrics
        ]
        return replace(design, measure=self._measure(design.outcome), metrics=metrics)

    def _measure(self, outcome: Outcome) -> Measure:
        """Return how a unit's outcome is measured; the events of a ratio are always summed."""
        aggregate = "any" if outcome.binary else "sum" if outcome.pairs else self["aggregate"]
        usual = "zero" if aggregate in ("mean", "last") else None
        missing: Any = usual if outcome.binary else self["missing"].strip() or usual
        if missing not in (None, *get_args(Missing)):
            missing = amount("missing", missing, "or zero, or exclude")
        return Measure(self["window"], aggregate, missing)  # type: ignore[arg-type]

    def _metrics(self) -> tuple[Metric, ...]:
        return tuple(metric_of(line) for line in self["metrics"].splitlines() if line.strip())

    def _sample(self) -> Sample | None:
        """Return the sample of earlier outcomes that was typed, with its cap; None without one."""
        if self["outcome"] != "bounded" or not self["sample"].strip():
            return None
        texts = re.split(r"[\s;,]+", self["sample"].strip())
        values = [amount("sample", text, "give it as a number") for text in texts]
        return Sample.of(values, cap=self["cap"].strip() or "99%")

    def audience(self) -> Audience | None:
        """Return who is enrolled; None means everyone."""
        part = amount("share", self["share"], "100% is everyone")
        return None if part == 1.0 else Audience(share=part)

    def _outcome(self, sample: Sample | None) -> Outcome:
        """Return the outcome model with its parameters; raise if they do not go together."""
        kind = FORM["outcome"].read(self["outcome"])
        values = {name: text for name, text in self._given().items() if name in PARAMETERS}
        cap = self["cap"].strip()
        is_amount = kind == "bounded" and cap and not cap.endswith("%")
        source = "sample" if sample is not None else "cap" if is_amount else None
        if source is not None:
            for name in values:
                message = f"{name} does not go with {source}: leave one out"
                raise InputError(name, message, others=(source,))
        if kind == "bounded" and source is None and cap not in ("", FORM["cap"].default):
            message = f"cap {cap} is a quantile of earlier outcomes: give sample, or an amount"
            raise InputError("cap", message, others=("sample",))
        if sample is None and source is not None:
            return capped_at(cap)
        if sample is not None:
            assert sample.cap is not None
            return Bounded(min(0.0, sample.low), sample.cap)
        if "at" in options_of(OUTCOMES.get(kind)) and "at" not in values:
            values["at"] = self["baseline"]
        return make(OUTCOMES, kind, values)


def _entries(name: str, text: str) -> str | list[str]:
    """Return the text of a field, as a list of its lines if the option takes several values."""
    if not FORM[name].many:
        return text
    return [line.strip() for line in text.splitlines() if line.strip()]


def chosen(plan: Plan, choice: str) -> Candidate:
    """Return the design that a choice names by its role (such as "fastest") or by its label.

    An unknown choice is refused, so that only a design that was shown can run.
    """
    if not choice:
        return plan.chosen
    if choice == "fastest":
        return plan.fastest
    if choice == "cheapest":
        return plan.cheapest
    for point in plan.points:
        if point.rule.label == choice:
            return point
    raise invalid(f"rule {choice!r:.60} is not among the designs of this plan: choose another")


def problem_words(problems: Mapping[str, InputError]) -> dict[str, str]:
    """Return the problems by field, in words that use the form's names of fields.

    >>> wrong = InputError("baseline", "baseline must be a number (got 'x')")
    >>> problem_words({"baseline": wrong})
    {'baseline': "Baseline must be a number (got 'x')."}

    "(got '')" is left out: the user sees that the field is empty.
    """
    said = {}
    for name, problem in problems.items():
        text = problem.spelled(lambda field: TITLES.get(field, field)).replace(" (got '')", "")
        said[FIELD.get(name, name)] = f"{text[:1].upper()}{text[1:]}."
    return said


MOST_KEPT = 200

Rules = tuple[Rule, ...]
"""Rules that are planned in addition to the usual ones."""


class Creations:
    """Remembers which test each form created, so that a form sent twice creates one test."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        """Held while a test is created, so that a second click waits for the first."""
        self.names: dict[str, str] = {}
        """The test that was created from each form, by the form's token."""

    def remember(self, token: str, name: str) -> None:
        """Record which test a form has created."""
        if len(self.names) >= MOST_KEPT:
            del self.names[next(iter(self.names))]
        self.names[token] = name


def first_stage(request: PlanRequest, rules: Rules = ()) -> Plan:
    """Return a plan that is computed from theory, without simulation.

    >>> first_stage(PlanRequest()).chosen.forecast.simulated
    False
    """
    return next(stages(request, threads=1, rules=rules))


ROLES = {"fastest": "Fastest", "": "Recommended", "cheapest": "Cheapest"}
"""Titles of the design cards, keyed by the value that the form submits."""


@dataclass(frozen=True, slots=True)
class PlannerAnswer:
    """The planner's answer: the plan, its report, and the designs to choose from."""

    plan: Plan
    report: Report
    picked: Candidate
    """The chosen design, or the recommended one if none was chosen."""
    cards: tuple[tuple[str, str, Candidate], ...]
    """Value, titles and design of each card: fastest, recommended and cheapest design."""
    origin: str
    """Where the figures come from."""

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        return self.report.headline

    def name_of(self, point: Candidate) -> str:
        """The name of a design, with its rule's label if the name alone is ambiguous."""
        name, label = rule_name(point.design), point.rule.label
        points = [point for point in self.plan.points if rule_name(point.design) == name]
        # A comma in the label precedes an option that the name does not show, such as an effect.
        return name if len(points) == 1 and "," not in label else f"{name} ({label})"

    def is_chosen(self, point: Candidate, in_table: bool = False) -> bool:
        """Whether a design is the chosen one; with `in_table`, only if it is on no card."""
        on_card = any(point is shown for _, _, shown in self.cards)
        return point is self.picked and not (in_table and on_card)


def plan_view(plan: Plan, choice: str = "") -> PlannerAnswer:
    """Return the planner's answer with the chosen design, or else the recommended one."""
    points = {value: chosen(plan, value) for value in ROLES}
    cards = []
    for value, point in points.items():
        names = [name for name, one in points.items() if one is point]
        if value == ("" if "" in names else names[0]):
            roles = ", ".join(ROLES[name] for name in names).capitalize()
            cards.append((value, roles, point))
    said = plan.report({**TITLES, "measure": TITLES["aggregate"]})
    return PlannerAnswer(plan, said, chosen(plan, choice), tuple(cards), words.origin(plan))


def plan_mark(form: Form, plan: Plan) -> str:
    """Return two hashes that identify a plan: of its request, and of the rules on its cards."""
    rules = [chosen(plan, role).rule for role in ROLES]
    return "-".join(
        sha256(repr(part).encode()).hexdigest()[:16] for part in (form.request(), rules)
    )


def is_on_screen(form: Form, plan: Plan, shown: str) -> bool:
    """Return whether the chosen design is the one on the screen, whose plan has the mark `shown`.

    A simulated plan can recommend another design than its first stage. A design that was chosen by
    its label is the same in both. An empty mark, of a form sent without a plan, is accepted.
    """
    mark = plan_mark(form, plan)
    if form.choice in ROLES:
        return shown in ("", mark)
    return shown == "" or shown.partition("-")[0] == mark.partition("-")[0]


def rule_name(design: Design) -> str:
    """Return the name of a design's rule as a title, which says if it is an even split.

    >>> import bascule as bs
    >>> arms, outcome = ["a", "b"], bs.Bernoulli()
    >>> [rule_name(bs.Design(arms, outcome, rule)) for rule in (bs.Tilt(5), bs.Tilt(1), bs.ETC())]
    ['Tilted blocks, tilt 5', 'Even split, tilted blocks', 'Even split, ETC']
    """
    rule = design.rule
    if design.procedure.even and not rule.words.startswith("even split"):
        return f"Even split, {rule.family}"
    return f"{rule.words[:1].upper()}{rule.words[1:]}"
