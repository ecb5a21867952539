"""Which plans are made at once, and which beside the service."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import bascule as bs
from bascule.planning.request import Wishes
from bascule.service.api.schemas import Wish
from bascule.service.page.plans import Plans
from bascule.service.server.planner import Planner


class Asked:
    """A planner that says who asked."""

    def __init__(self) -> None:
        self.wishes: list[Wish] = []

    async def plan(self, wish: Wish) -> str:
        self.wishes.append(wish)
        return f"plan {len(self.wishes)}"


def test_more_than_two_arms_are_planned_by_the_planner_and_once() -> None:
    asked, plans = Asked(), Plans()

    async def ask(wishes: Wishes) -> Any:
        return await plans.plan(cast(Planner, asked), wishes)

    three = Wishes(arms=["a", "b", "c"])
    assert [asyncio.run(ask(three)) for _ in range(2)] == ["plan 1", "plan 1"]
    assert asked.wishes[0].arms == ["a", "b", "c"]
    two = asyncio.run(ask(Wishes(bs.Gaussian(1), 0, 0.5, units_per_day=20)))
    assert len(asked.wishes) == 1
    assert two.possible
