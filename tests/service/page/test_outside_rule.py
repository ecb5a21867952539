"""A rule and an outcome model of a user's own show rightly on the page, from what they state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import httpx
import pytest
from tests.outside import Explore
from tests.service.running import Service

import bascule as bs
from bascule.core.evidence.calibration import Calibration
from bascule.core.outcomes import OUTCOMES, Noise, Outcome
from bascule.core.outcomes.noise import Beta
from bascule.core.procedures.base import Setting
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.rules import RULES, Knob, Rule
from bascule.presentation.pages import design_report
from bascule.service.page.changes import meaning, offered, slider
from bascule.service.page.creation.form import rule_name


@dataclass(frozen=True, slots=True)
class Stars(Outcome):
    """Ratings from 1 to 5."""

    kind: Literal["test-stars"] = field(default="test-stars", kw_only=True, repr=False)
    low: ClassVar[float] = 1.0
    high: ClassVar[float] = 5.0
    sigma: ClassVar[float] = 2.0
    cost_unit: ClassVar[str] = "stars"
    example: ClassVar[str] = "Stars()"

    @property
    def words(self) -> str:
        return "ratings from 1 to 5 stars"

    def noise(self, means: tuple[float, ...]) -> Noise:
        return Beta(low=1.0, high=5.0)


@dataclass(frozen=True, slots=True)
class Leaning(Rule):
    """Tilted blocks under another name, with a knob of another name."""

    lean: float = 3.0
    kind: Literal["test-leaning"] = field(default="test-leaning", kw_only=True, repr=False)

    @property
    def label(self) -> str:
        return f"Leaning_{self.lean:g}"

    @property
    def words(self) -> str:
        return f"leaning blocks, lean {self.lean:g}"

    @property
    def knob(self) -> Knob:
        return Knob("lean", self.lean, 2.0, regret_grows=False)

    def check_outcome(self, outcome: Outcome) -> None:
        bs.Tilt(self.lean).check_outcome(outcome)

    def calibrate(
        self, outcome: Outcome, arms: int, error: float | None, delta: float | None
    ) -> Calibration:
        return bs.Tilt(self.lean).calibrate(outcome, arms, error, delta)

    def procedure(self, design: Setting) -> BlockProcedure:
        return bs.Tilt(self.lean).procedure(design)


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    OUTCOMES.register(Stars)
    RULES.register(Leaning)
    yield
    OUTCOMES.forget("test-stars")
    RULES.forget("test-leaning")


DESIGN = bs.Design(["control", "green"], Stars(), Leaning(3), reports="always")


def test_their_words_are_shown(registered: None) -> None:
    shown = {fact.name: fact.words for fact in design_report(DESIGN).facts}
    assert shown["outcome"] == "ratings from 1 to 5 stars"
    assert shown["rule"].startswith("leaning blocks, lean 3")
    assert rule_name(DESIGN) == "Leaning blocks, lean 3"


def test_their_knob_is_offered_from_its_least_value(registered: None) -> None:
    assert offered(DESIGN) == (2.0, 3.0, 4.0, 6.0, 10.0, 16.0, 24.0, 40.0)
    assert meaning(DESIGN) == "A larger value usually costs less and takes longer."


def test_a_page_with_their_outcome_is_rendered(service: Service) -> None:
    test = service.store.create(
        "stars", bs.Design(["control", "green"], Stars(), bs.Tilt(3), reports="always")
    )
    for i in range(200):
        test.record(i, 4.0 if test.assign(i) == "green" else 3.5 + i % 2 / 4)
    with httpx.Client(base_url=service.url, trust_env=False, follow_redirects=True) as browser:
        browser.post("/sign-in", data={"key": service.keys["viewer"]})
        page = re.sub(r"\s+", " ", browser.get("/tests/stars").text)
    assert "ratings from 1 to 5 stars" in page
    assert "Stars lost" in page
    assert "green - control" in page


def test_the_knob_of_their_rule_is_shown(registered: None) -> None:
    knob = slider(DESIGN)
    assert knob is not None
    assert (knob.name, knob.value, knob.low, knob.high) == ("lean", "3", "2", "40")


def test_a_knob_with_an_upper_limit_is_offered_up_to_it() -> None:
    design = bs.Design(["control", "green"], bs.Bernoulli(), Explore(0.2), reports="always")
    assert offered(design) == (0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
    knob = slider(design)
    assert knob is not None
    assert (knob.name, knob.low, knob.high, knob.step) == ("epsilon", "0.01", "0.5", "0.005")
