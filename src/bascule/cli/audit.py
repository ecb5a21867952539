"""`bascule audit`: a rule in a battery of worlds, beside what is promised of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from bascule.cli.support import designs
from bascule.cli.support.console import print_result, progress_bar, screen
from bascule.cli.support.designs import OutcomeName, StopName, option
from bascule.core.errors import InputError
from bascule.core.rules import RULES, Rule
from bascule.core.rules.mixture import RadiusName
from bascule.core.rules.tilt import HorizonGuarantee

if TYPE_CHECKING:
    from bascule.research.comparison.audit import Audit


def command(
    rule: str = typer.Argument(
        ...,
        metavar="RULE",
        help="ucb, etc, etc-prime or tilt; or another tool's: track-and-stop, thompson, top-two, "
        "mad or double-kl-ucb.",
    ),
    means: list[float] | None = designs.MEANS,
    alpha: float | None = designs.ALPHA,
    radius: RadiusName | None = designs.RADIUS,
    stop: StopName | None = designs.STOP,
    tilt: float | None = designs.TILT,
    effect: float | None = designs.EFFECT,
    power: float | None = designs.POWER,
    baseline: float | None = designs.BASELINE,
    guarantee: HorizonGuarantee | None = designs.GUARANTEE,
    futility: float | None = designs.FUTILITY,
    batch: int | None = designs.BATCH,
    outcome: OutcomeName | None = designs.OUTCOME,
    sigma: float | None = designs.SIGMA,
    low: float | None = designs.LOW,
    high: float | None = designs.HIGH,
    error: float | None = designs.ERROR,
    sides: int | None = designs.SIDES,
    delta: float | None = designs.DELTA,
    worlds: list[str] | None = option(
        "Worlds to play; every one that the outcomes allow if not given.", "NAME ..."
    ),
    runs: int = typer.Option(400, help="Runs in each world."),
    seed: int = designs.SEED,
    max_units: int | None = designs.MAX_UNITS,
    threads: int | None = designs.THREADS,
    dask: str | None = designs.DASK,
    device: designs.DeviceName | None = designs.DEVICE,
    as_json: bool = designs.AS_JSON,
) -> None:
    """Run a rule through a battery of worlds: how often it is wrong, and where it may be."""
    described = designs.describing(locals())
    from bascule.research.comparison.audit import audit

    if rule == "static":
        raise InputError("RULE", "RULE must be ucb, etc, etc-prime or tilt: static has no worlds")
    with designs.workers(dask, device), progress_bar() as report:
        result = audit(
            _rule(described),
            means or None,
            designs.described_outcome(described),
            error,
            delta,
            runs,
            seed,
            worlds or None,
            max_units,
            threads,
            report,
            sides=sides,
        )
    print_result(result, as_json, _show)


def _rule(described: dict[str, Any]) -> Rule:
    """The rule that is described, or another tool's, which has no options."""
    from bascule.research.rivals import RIVALS

    name = described["rule"]
    if name in RIVALS:
        if any(described.get(option) is not None for option in designs.RULE_OPTIONS):
            raise InputError("RULE", f"{name} takes no option of ucb or tilt: leave them out")
        return RIVALS[name]()
    if name not in RULES.kinds:
        names = ", ".join([*(kind for kind in RULES.kinds if kind != "static"), *RIVALS])
        raise InputError("RULE", f"RULE {name!r} does not exist: choose from {names}")
    return designs.described_rule(described)


def _show(result: Audit) -> None:
    from bascule.research.comparison import audit_text as words

    console = screen()
    heading, *lines = words.table(result)
    console.print(f"{words.title(result)}\n", soft_wrap=True)
    console.print(heading, style="bold", soft_wrap=True)
    for row, line in zip(result.rows, lines, strict=True):
        console.print(line, style="bold red" if row.broken else None, soft_wrap=True)
    console.print()
    for note in words.notes(result):
        console.print(note, soft_wrap=True)
