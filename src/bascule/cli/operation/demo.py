"""`bascule demo`: the same visitors in an adaptive test, an even split and a fixed horizon."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing import TimeoutError as Timeout
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bascule.cli.operation.serve import SERVICE, needed
from bascule.cli.support.console import note, screen
from bascule.cli.support.declared import declared, named, values
from bascule.cli.support.designs import RUNS, runs
from bascule.core.options import Option

if TYPE_CHECKING:
    from multiprocessing.pool import AsyncResult

    from rich.console import Console

    from bascule.service.demo_shop import Shop, Standing
    from bascule.simulation import Simulation


BAR, WIDEST = 6, 24
"""Characters in the bar of a share of 100 %, and in the longest bar of the histogram."""

CELL = 19
"""Width, in characters, of a test's cell: the share that gets green, and the sales lost."""

LOOK_HOURS = 12
"""Hours of the shop between two rows of the table."""

BIN = 10
"""Width of a bin of the histogram, in lost sales."""

TYPICAL = 5
"""A seed with which both tests are near their averages, which is not so for most seeds."""

TITLES = {"adaptive": "adaptive test", "even-split": "even split", "fixed-horizon": "fixed horizon"}

PATIENCE = 60.0
"""Seconds to wait at the end of the demo for the simulation to finish."""


OPTIONS = {
    "seed": replace(RUNS["seed"], default=str(TYPICAL)),
    "runs": replace(runs(1000)["runs"], limits=(2, 1_000_000)),
    **named(
        day_seconds=Option("Minimum seconds that a day takes.", kind="whole", default="5"),
    ),
    "port": replace(SERVICE["port"], default="0"),
}


@declared(OPTIONS, shown=("basics", "advanced"))
def command(
    stay: bool = typer.Option(
        sys.stdin.isatty() if sys.stdin else False,
        help="Keep the page up after the demo has ended; the default on a terminal.",
        show_default=False,
        metavar="",
    ),
    **options: Any,
) -> None:
    """Watch the same visitors in three tests: adaptive, even split, and fixed horizon."""
    seed, tests, day_seconds, port = values(OPTIONS, options)
    needed()
    from bascule.live.api import ManualClock, Store
    from bascule.service import demo_shop
    from bascule.service.auth.keys import make_link
    from bascule.service.server.run import serving
    from bascule.service.settings import Settings

    console, clock = screen(), ManualClock()
    # The simulation has a process of its own, because compiling the simulator would block the page.
    with (
        tempfile.TemporaryDirectory() as folder,
        Store(Path(folder) / "demo.db", "demo", clock, demo_shop.shuffle(seed)) as store,
        serving(store, Settings(port=port)) as url,
        get_context("spawn").Pool(1, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool,
    ):
        simulated = pool.apply_async(demo_shop.simulate_both, (tests, seed))
        link = f"{url}/sign-in?token={make_link(store, time.time())}"
        _introduce(console, link)
        open_browser(link)
        shop = demo_shop.Shop(store, clock, seed)
        _play(console, shop, day_seconds / demo_shop.HOURS)
        _conclude(console, shop.standings())
        _compare(console, simulated, tests)
        if stay:
            console.print("\nThe page stays until you press Ctrl-C.")
            with suppress(KeyboardInterrupt):
                while True:
                    time.sleep(1)


def _introduce(console: Console, link: str) -> None:
    from bascule.core.approximate import error_words
    from bascule.presentation.guarantees import sentence
    from bascule.presentation.numbers import percent
    from bascule.presentation.report import wrapped
    from bascule.service.demo_shop import BUY, DESIGNS, FIXED_UNITS, PER_DAY, PLAN

    old, green = (percent(share) for share in BUY.values())
    cost = BUY["green"] - BUY["control"]
    console.print(
        f"A shop tries a green button. {old} of the visitors who see the old button buy,\n"
        f"and {green} of those who see the green one. The shop does not know that: it tests.\n\n"
        f"{PER_DAY} visitors a day go through three tests at the same time:\n"
        "  adaptive       sends more visitors to the button that is ahead\n"
        "  even split     sends half of the visitors to each, and stops as early\n"
        f"  fixed horizon  has {FIXED_UNITS} visitors for each and one look, as most tests do\n"
        "All else is the same: the visitors, and a day for each to buy.\n"
        f"A visitor who meets the old button costs {cost:.2g} sales on average.\n\n"
        "In the first two, however often you look (proven):"
    )
    for line in wrapped(sentence(error_words(DESIGNS["adaptive"].calibration.error))):
        console.print(line)
    console.print()
    console.print(f"The adaptive design is that of\n  bascule plan {PLAN}\n", soft_wrap=True)
    console.print(f"Watch the first two: {link}\n", soft_wrap=True)


def _play(console: Console, shop: Shop, hour_seconds: float) -> None:
    """Play the tests hour by hour until all have ended, and print their progress as a table."""
    heading = "".join(f"  {title:<{CELL}}" for title in TITLES.values())
    console.print(f"{'':14}{heading}".rstrip())
    console.print(f"{'day':>4} {'visitors':>9}" + len(TITLES) * f"  {'gets green':<12} {'lost':>6}")
    started, before = time.monotonic(), shop.standings()
    while len(shop.ended) < len(before):
        ended = set(shop.ended)
        shop.pass_hour()
        if shop.hours % LOOK_HOURS == 0:
            now = shop.standings()
            _print_row(console, shop.hours, now, before)
            before = now
        for name in sorted(shop.ended.keys() - ended):
            standing = shop.standings()[name]
            console.print(f"{standing.days:>4.1f} {_ending(name, standing)}", soft_wrap=True)
        time.sleep(max(0.0, started + shop.hours * hour_seconds - time.monotonic()))


def _print_row(
    console: Console, hours: int, now: Mapping[str, Standing], before: Mapping[str, Standing]
) -> None:
    from bascule.presentation.numbers import percent
    from bascule.service.demo_shop import PER_HOUR

    cells = []
    for name, standing in now.items():
        came = standing.visitors - before[name].visitors
        share = 1 - (standing.worse - before[name].worse) / came if came else 0.0
        bar = f"{'#' * round(BAR * share):<{BAR}} {percent(share, 2):>5}"
        if standing.winner:
            bar = f"all {standing.winner}"
        elif not came:
            # A test that is full, or has ended undecided, assigns no more visitors.
            bar = "-"
        cells.append(f"{bar:<12} {standing.lost:>6.1f}")
    console.print(f"{hours / 24:>4.1f} {hours * PER_HOUR:>9,}  {'  '.join(cells)}")


def _ending(name: str, standing: Standing) -> str:
    if standing.winner is None:
        return f"The {TITLES[name]} ends undecided, at its horizon."
    return (
        f"The {TITLES[name]} decides after {standing.visitors:,} visitors. {standing.headline}. "
        f"From now on everyone gets {standing.winner}."
    )


def _conclude(console: Console, standings: Mapping[str, Standing]) -> None:
    """Print a table of the results of the tests that were played."""
    played = list(standings.values())
    rows = [
        ("", [TITLES[name] for name in standings]),
        ("winner", [test.winner or "undecided" for test in played]),
        ("days", [f"{test.days:.2f}" for test in played]),
        ("visitors that had come", [f"{test.visitors:,}" for test in played]),
        ("of whom met the old button", [f"{test.worse:,}" for test in played]),
        ("sales lost to it", [f"{test.lost:.0f}" for test in played]),
    ]
    console.print("\nThis time, with the same visitors:\n")
    for label, cells in rows:
        console.print(f"{label:<28}" + "".join(f"{cell:>14}" for cell in cells))


def _compare(console: Console, simulated: AsyncResult[dict[str, Simulation]], runs: int) -> None:
    """Print the losses and the duration of many simulated tests, adaptive and even split."""
    from bascule.service.demo_shop import FIXED_UNITS, PER_DAY

    if not simulated.ready():
        # Not on standard output, which is the same for the same seed.
        note(f"simulating {runs:,} such tests; compiled once, then faster")
    try:
        results = simulated.get(PATIENCE)
    except Timeout:
        console.print(f"\n{runs:,} such tests take too long to simulate here: try --runs 100.")
        return
    adaptive, even = results["adaptive"], results["even-split"]
    console.print(f"\nSales lost in {runs:,} such tests of each kind, simulated meanwhile:\n")
    for line in histogram(
        [adaptive.regret.tolist(), even.regret.tolist()], list(TITLES.values())[:2]
    ):
        console.print(line)
    later = (adaptive.decision_time.mean() - even.decision_time.mean()) / PER_DAY
    console.print(
        f"\nIn {runs:,} such tests: {adaptive.regret.mean():.0f} against {even.regret.mean():.0f} "
        f"sales lost on average, {'later' if later > 0 else 'sooner'} by {abs(later):.1f} days.\n"
        f"{adaptive.undecided:,} against {even.undecided:,} of them ended undecided; the old "
        f"button won {_wins(adaptive):,} against {_wins(even):,} times.\n"
        f"A fixed horizon takes {_fixed_days():.1f} days and loses {FIXED_UNITS * 0.05:.0f} sales "
        "every time."
    )
    if later > 0:
        console.print(
            "\nLater, and cheaper: while the adaptive test goes on, most visitors already get\n"
            "the better button. What it loses includes the days that it takes longer."
        )


def _fixed_days() -> float:
    """Return the days that the fixed-horizon test takes, with a day for the last visitor to buy."""
    from bascule.service.demo_shop import FIXED_UNITS, PER_DAY

    return 2 * FIXED_UNITS / PER_DAY + 1


def _wins(simulation: Simulation) -> int:
    """Return how often the worse button has won."""
    return round(simulation.runs * simulation.error_rate)


def histogram(columns: Sequence[Sequence[float]], titles: Sequence[str]) -> list[str]:
    """Return the lines of histograms side by side; a dot is a count too small for one #.

    >>> for line in histogram([[1, 2, 12], [11, 25]], ["adaptive", "even split"]):
    ...     print(line)
           adaptive                  even split
     0-10  ########################
    10-20  ############              ############
    20-30                            ############
    """
    values = [value for column in columns for value in column]
    bins = range(int(min(values) // BIN), int(max(values) // BIN) + 1)
    counts = [[sum(value // BIN == k for value in column) for k in bins] for column in columns]
    scale = WIDEST / max(max(row) for row in counts)
    labels = ["", *(f"{BIN * k}-{BIN * (k + 1)}" for k in bins)]
    cells = [
        [title, *("#" * round(scale * count) or "." * (count > 0) for count in row)]
        for title, row in zip(titles, counts, strict=True)
    ]
    width = max(map(len, labels))
    rows = zip(labels, *cells, strict=True)
    return [
        f"{label:>{width}}  {'  '.join(f'{cell:<{WIDEST}}' for cell in row)}".rstrip()
        for label, *row in rows
    ]


def open_browser(link: str) -> None:
    """Open a page in the browser if the output is a terminal on a machine with a screen."""
    import webbrowser

    screens = ("DISPLAY", "WAYLAND_DISPLAY")
    has_screen = sys.platform in ("darwin", "win32") or any(name in os.environ for name in screens)
    if sys.stdout.isatty() and has_screen:
        webbrowser.open(link)
