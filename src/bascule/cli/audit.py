"""`bascule audit`: a rule in a battery of worlds, compared with its guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from bascule.cli.support import designs
from bascule.cli.support.console import print_result
from bascule.cli.support.declared import declared, named, read
from bascule.cli.support.own_rules import named_rule
from bascule.core.errors import InputError
from bascule.core.options import Option
from bascule.core.rules import RULES, Rule
from bascule.presentation.progress import progress_bar

RUNS = designs.runs(400)

OF_DESIGN = designs.one_sided("error", "sides", "delta")
PARAMETERS = {name: option for name, option in designs.RULE.items() if name != "rule"}

WORLDS = named(
    worlds=Option(
        "Worlds to simulate.",
        unset="every one that the outcomes allow",
        many=True,
        metavar="NAME ...",
    )
)


@declared(
    designs.MEANS,
    PARAMETERS,
    designs.OUTCOME,
    OF_DESIGN,
    designs.CAP,
    WORLDS,
    RUNS,
    designs.WORKERS,
    designs.JSON,
)
def command(
    rule: str = typer.Argument(
        ...,
        metavar="RULE",
        help="ucb, etc, etc-prime or tilt; another tool's: track-and-stop, thompson, top-two or "
        "mad; or your own: a registered name, or a class in a file, as my_rule.py:Eager.",
    ),
    **options: Any,
) -> None:
    """Simulate a rule in many worlds: compare how often it is wrong with its one-sided error."""
    from bascule.research.comparison.audit import audit

    if rule == "static":
        raise InputError(
            "RULE",
            "RULE static cannot be audited: choose ucb, etc, etc-prime, tilt, or another rule",
        )
    asked = read({**OF_DESIGN, **designs.MEANS, **designs.CAP, **WORLDS, **RUNS}, options)
    with designs.workers(options), progress_bar() as report:
        result = audit(
            _rule(rule, options),
            outcome=designs.described_outcome(options),
            progress=report,
            **asked,
        )
    print_result(result, "json" in options)


def _rule(name: str, options: Mapping[str, Any]) -> Rule:
    """Return the rule that the options describe, a rule of another tool, or a rule from a file."""
    if name in RULES.kinds:
        return designs.described_rule({**options, "rule": name})
    rule = named_rule(name, "RULE")
    if any(option in options for option in PARAMETERS):
        raise InputError("RULE", f"{name} takes no option of ucb or tilt: leave them out")
    return rule
