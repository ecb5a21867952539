"""A team with a flag of flagd and a warehouse, for tests: users come, and cron runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import bascule as bs
from bascule.steering.result import SteeringRun

START = datetime(2026, 3, 2, 6, tzinfo=UTC)
DAY = timedelta(days=1)

DESIGN = bs.Design(
    ["control", "green"],
    bs.Bernoulli(),
    bs.Tilt(8, 0.1, power=0.9, baseline=0.1, futility=0.2),
    measure=bs.Measure("12h", "any"),
)

FLAG = {
    "state": "ENABLED",
    "variants": {"control": "control", "green": "green"},
    "defaultVariant": "control",
    "targeting": {
        "if": [
            {"ends_with": [{"var": "email"}, "@example.com"]},
            "green",
            {"fractional": [{"var": "targetingKey"}, ["control", 80], ["green", 20]]},
        ]
    },
}

OTHER = {"state": "ENABLED", "variants": {"on": True, "off": False}, "defaultVariant": "on"}
"""A flag that is none of ours."""

Chances = Mapping[str, float]


@dataclass
class Team:
    """Users a day, by whom flags are asked, and the tables that they leave."""

    folder: Path
    design: bs.Design = DESIGN
    target: dict[str, Any] | None = None
    seed: int = 1
    refunds: Chances | None = None
    """Chances of a refund, by arm, if the design has such a metric."""
    exposures: list[tuple[str, str, datetime]] = field(default_factory=list)
    outcomes: list[tuple[str, datetime]] = field(default_factory=list)
    refunded: list[tuple[str, datetime]] = field(default_factory=list)
    day: int = 0

    def __post_init__(self) -> None:
        self.generator = np.random.default_rng(self.seed)
        self.flags = self.folder / "flags.json"
        self.flags.write_text(json.dumps({"flags": {"button": FLAG, "other": OTHER}}))
        self.design.save(self.folder / "plan.json")
        self.path = self.folder / "test.json"
        self.describe()
        self.load()

    def describe(self, **changes: Any) -> None:
        """Write the file of the test."""
        data = {
            "name": "button",
            "design": "plan.json",
            "exposures": {"source": "exposures.parquet", "arm": "variant"},
            "outcomes": {"source": "outcomes.parquet"},
            "target": self.target or {"kind": "flagd", "file": "flags.json", "flag": "button"},
        }
        if self.refunds:
            data["metrics"] = {"refunds": {"source": "refunds.parquet"}}
        self.path.write_text(json.dumps({**data, **changes}))

    @property
    def shares(self) -> dict[str, float]:
        """What the file of flagd says."""
        rule = json.loads(self.flags.read_text())["flags"]["button"]["targeting"]["if"][2]
        entries = rule["fractional"][1:]
        return {name: weight / sum(w for _, w in entries) for name, weight in entries}

    def set_by_hand(self, green: int) -> None:
        """Change the weights in the file of flagd."""
        data = json.loads(self.flags.read_text())
        rule = data["flags"]["button"]["targeting"]["if"][2]["fractional"]
        rule[1:] = [["control", 100 - green], ["green", green]]
        self.flags.write_text(json.dumps(data))

    @property
    def now(self) -> datetime:
        """The hour at which cron runs."""
        return START + self.day * DAY

    def users(
        self,
        number: int,
        chances: Chances,
        asked: Callable[[str], str] | None = None,
        load: bool = True,
    ) -> None:
        """Let a day pass: users come, get an arm, and convert within an hour or not."""
        shares, began = self.shares if asked is None else {}, self.now
        moments = np.sort(self.generator.random(number)) * 86_400
        for place, moment in enumerate(moments):
            unit = f"user-{self.day}-{place}"
            at = began + timedelta(seconds=float(moment))
            if asked is None:
                arm = "green" if self.generator.random() < shares["green"] else "control"
            else:
                arm = asked(unit)
            self.exposures.append((unit, arm, at))
            if self.generator.random() < chances[arm]:
                delay = timedelta(seconds=3600 * float(self.generator.random()))
                self.outcomes.append((unit, at + delay))
            if self.refunds and self.generator.random() < self.refunds[arm]:
                self.refunded.append((unit, at + timedelta(hours=2)))
        self.day += 1
        if load:
            self.load()

    def load(self) -> None:
        """Load the rows up to now into the warehouse."""
        units, arms, times = zip(*self.exposures, strict=True) if self.exposures else ((), (), ())
        columns = {"user_id": units, "variant": arms, "ts": times}
        kinds = [
            ("user_id", pa.string()),
            ("variant", pa.string()),
            ("ts", pa.timestamp("us", "UTC")),
        ]
        self._save("exposures", columns, kinds)
        for name, events in (("outcomes", self.outcomes), ("refunds", self.refunded)):
            rows = [row for row in events if row[1] <= self.now]
            units, times = zip(*rows, strict=True) if rows else ((), ())
            self._save(name, {"user_id": units, "ts": times}, [kinds[0], kinds[2]])

    def _save(self, name: str, columns: dict[str, Any], kinds: list[tuple[str, Any]]) -> None:
        table = pa.table({key: list(value) for key, value in columns.items()}, pa.schema(kinds))
        pq.write_table(table, self.folder / f"{name}.parquet")

    def steer(self, **options: Any) -> SteeringRun:
        """Run the test once, as cron does."""
        return bs.steer(self.path, now=self.now, **options)

    @property
    def ledger(self) -> list[dict[str, Any]]:
        """The lines of the ledger."""
        text = self.path.with_suffix(".ledger").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def until_decided(self, number: int, chances: Chances, most: int = 30) -> SteeringRun:
        """Run daily until the test is over."""
        run = self.steer()
        for _ in range(most):
            self.users(number, chances)
            run = self.steer()
            if run.state == "decided":
                break
        return run
