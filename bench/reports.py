"""What ten times the units take in each report of a live test: `python -m bench.reports [KIND]`.

Core seconds on a test of 20,000 units over those on one of 2,000, which should be about ten or
less. KIND is `sqlite` or `postgresql`; on the latter what the server computes is not counted.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tests.service.running import Service

import bascule as bs
from bascule.live.api import export
from bascule.service.auth.keys import make_link, use_link
from bench.live_places import place
from bench.measure import Figure, core_seconds

FEW, MANY = 2_000, 20_000
MOST = "<= 15"
ROUNDS = 3

DESIGN = bs.Design(
    ["a", "b"],
    bs.Gaussian(100),
    bs.Tilt(3, batch=2),
    error=1e-6,
    reports="always",
    metrics=[bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=5)],
)
"""A test that does not end, whose units all report."""

Report = Callable[[bs.Experiment, Path], object]

REPORTS: dict[str, Report] = {
    "status": lambda test, _: test.status(),
    "diagnostics": lambda test, _: test.diagnostics(),
    "alarms": lambda test, _: test.alarms(),
    "verify": lambda test, _: test.verify(),
    "export": export,
}


def _fill(location: str) -> None:
    """Make a test of each size."""
    clock = bs.ManualClock()
    with bs.open(location, clock=clock) as store:
        for count in (FEW, MANY):
            test = store.create(f"test-{count}", DESIGN)
            for first in range(0, count, 1000):
                units = [str(i) for i in range(first, first + 1000)]
                test.assign_many(units)
                test.record_many(
                    (unit, float(i % 7), None, None, metric)
                    for i, unit in enumerate(units)
                    for metric in (None, "latency")
                )
                clock.advance("1h")


def _figure(what: str, kind: str, taken: dict[int, list[float]]) -> Figure:
    # The first round compiles and loads what is needed.
    few, many = (statistics.median(taken[count][1:]) for count in (FEW, MANY))
    about = f"core seconds for {MANY:,} units, {kind}"
    name = f"{what} of ten times the units"
    return Figure(name, many, few, many / few, MOST, about, f"{FEW:,} units")


def _of_reports(location: str, kind: str, folder: Path) -> Iterator[Figure]:
    clock = bs.ManualClock(datetime(2026, 2, 1, tzinfo=UTC))
    for what, report in REPORTS.items():
        taken: dict[int, list[float]] = {FEW: [], MANY: []}
        for _ in range(ROUNDS + 1):
            for count, seconds in taken.items():
                # Opened anew: what takes long is kept for a while.
                with bs.open(location, clock=clock) as store:
                    test = store.get(f"test-{count}")
                    seconds.append(core_seconds(partial(report, test, folder)))
        yield _figure(what, kind, taken)


def _of_pages(location: str, kind: str) -> Iterator[Figure]:
    service = Service(location)
    try:
        now = time.time()
        session = use_link(service.store, make_link(service.store, now), now, 1.0)
        assert session is not None
        taken: dict[int, list[float]] = {FEW: [], MANY: []}
        with service.caller() as caller:
            caller.cookies.set("bascule_session", session.token)
            for _ in range(ROUNDS + 1):
                for count, seconds in taken.items():
                    service.app.state.renders.forget()
                    seconds.append(core_seconds(partial(caller.get, f"/tests/test-{count}")))
            assert caller.get(f"/tests/test-{MANY}").status_code == 200
        yield _figure("page", kind, taken)
    finally:
        service.close()


def figures(kind: str = "sqlite") -> list[Figure]:
    """Take every figure."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as out:
        Path(folder).chmod(0o755)
        with place(kind, Path(folder)) as location:
            _fill(location)
            return [*_of_reports(location, kind, Path(out)), *_of_pages(location, kind)]


if __name__ == "__main__":
    for row in figures(*sys.argv[1:2]):
        print(f"{row.name}: {row.value:.3f} s, {row.reference:.3f} s, ratio {row.ratio:.1f}")
