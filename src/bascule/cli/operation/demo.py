"""`bascule demo`: a shop tests a button on the service, with days that take seconds."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bascule.cli import study
from bascule.cli.operation.serve import needed
from bascule.cli.support.console import screen
from bascule.core.inputs import checks

if TYPE_CHECKING:
    from rich.console import Console

    from bascule.service.demo_shop import Shop

BAR = 20


def command(
    seconds: float = typer.Option(110.0, min=1.0, help="End undecided after so long."),
    port: int = typer.Option(0, min=0, max=65535, help="The page's port; 0 takes a free one."),
    stay: bool = typer.Option(
        sys.stdin.isatty() if sys.stdin else False,
        help="Keep the page there after the decision; the default on a terminal.",
        show_default=False,
    ),
    is_study: bool = typer.Option(
        False, "--study", help="Compare rules by simulation instead; no service."
    ),
    seed: int = typer.Option(0, help="Another seed, another test."),
    runs: int = typer.Option(1000, help="With --study: runs behind each row."),
    out: Path = typer.Option(
        Path("demo-out"), metavar="DIR", help="With --study: folder for the picture."
    ),
) -> None:
    """Watch a whole test on the service, from the first visitor to the decision."""
    if is_study:
        study.show(seed, runs, out)
        return
    seed = checks.whole("seed", seed, 0, "0 is as good as any other")
    needed()
    _play(screen(), seconds, port, stay, seed)


def _play(console: Console, seconds: float, port: int, stay: bool, seed: int) -> None:
    import asyncio

    from bascule.live.api import FastClock, Store
    from bascule.presentation.guarantees import error_words
    from bascule.service.auth.keys import create_key
    from bascule.service.auth.sessions import make_link
    from bascule.service.demo_shop import BUY, DAY, TEST, Shop
    from bascule.service.server.run import serving
    from bascule.service.server.settings import Settings

    with (
        tempfile.TemporaryDirectory() as folder,
        Store(Path(folder) / "demo.db", "demo", FastClock(86400 / DAY)) as store,
        serving(store, Settings(port=port)) as url,
    ):
        keys = {role: create_key(store, role, label="demo") for role in ("client", "admin")}
        link = f"{url}/sign-in?token={make_link(store, time.time())}"
        console.print(
            f"A shop tests a green button. Of those who see the old one {BUY['control']:.0%} buy, "
            f"of those who\nsee the green one {BUY['green']:.0%}; that is not known yet. "
            f"A day takes {DAY:g} seconds.\n"
            f"Guarantee: {error_words(0.05)} (proven).\n"
        )
        console.print(f"The page: {link}\n", soft_wrap=True)
        open_browser(link)
        # Visitors of a demonstration, the same for the same seed.
        shop = Shop(url, keys, random.Random(seed))  # nosec B311
        head = f"{'day':>5} {'visitors':>9}  {'green':<{BAR}}  what to do"
        console.print(head)
        decided = asyncio.run(shop.run(seconds, lambda status, day: _look(console, status, day)))
        _conclude(console, shop, store.get(TEST).status().to_dict(), decided)
        if stay:
            console.print("\nThe page stays until you press Ctrl-C.")
            with suppress(KeyboardInterrupt):
                while True:
                    time.sleep(1)


def _look(console: Console, status: dict[str, Any], day: float) -> None:
    units = [arm["units"] for arm in status["arms"]]
    share = units[1] / max(1, sum(units))
    bar = "#" * round(BAR * share)
    console.print(
        f"{day:>5.1f} {sum(units):>9,}  {bar:<{BAR}}  {status['headline']}", soft_wrap=True
    )


def _conclude(console: Console, shop: Shop, status: dict[str, Any], decided: bool) -> None:
    from bascule.core.design import Design
    from bascule.core.outcomes import Bernoulli
    from bascule.core.rules import Tilt
    from bascule.service.demo_shop import BUY
    from bascule.theory import predict

    if not decided:
        console.print("\nThere is no decision yet: give it more --seconds.")
        return
    best = max(BUY.values())
    lost = sum(count * (best - BUY[arm]) for arm, count in shop.seen.items())
    verdict = status["decision"]
    # Compared with the even split's own test, which stops at a decision of its own.
    even = Design(list(BUY), Bernoulli(), Tilt(1), error=verdict["error"])
    expected = predict(even, best - min(BUY.values()), best=best)
    console.print(
        f"\nDecision after {verdict['units']:,} visitors: {verdict['name']} "
        f"({verdict['guarantee']}: a worse one wins with probability at most "
        f"{100 * verdict['error']:g} %).\n"
        f"{shop.seen['control']:,} visitors met the worse button, which cost {lost:.0f} sales.\n"
        f"A test with an even split would cost {expected.regret:.0f} on average, with "
        f"{expected.decision_time:,.0f} visitors, if outcomes were known at once."
    )


def open_browser(link: str) -> None:
    """Open a page where there is a screen to show it on."""
    import webbrowser

    screens = ("DISPLAY", "WAYLAND_DISPLAY")
    has_screen = sys.platform in ("darwin", "win32") or any(name in os.environ for name in screens)
    if sys.stdout.isatty() and has_screen:
        webbrowser.open(link)
