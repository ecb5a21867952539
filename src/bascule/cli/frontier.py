"""`bascule frontier`: regret against decision time for every rule, at equal proven error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bascule.cli.support import designs
from bascule.cli.support.console import (
    note_compilation,
    print_result,
    say_written,
)
from bascule.cli.support.declared import declared, named, read
from bascule.cli.support.own_rules import named_rule
from bascule.core.errors import require
from bascule.core.options import Option
from bascule.presentation.progress import progress_bar

RUNS = designs.runs(1000)

MEANS = {"means": replace(designs.MEANS["means"], required=True)}
OF_DESIGN = designs.one_sided("error", "sides")

COMPARED = named(
    effect=Option(
        "The difference to find; adds tilted blocks that are planned for it.",
        kind="number",
        group="basics",
    ),
    rule=Option(
        "A rule of your own to compare as well: a registered name, or a class in a file, as "
        "my_rule.py:Eager or 'my_rule.py:Eager(4)'. May be given several times.",
        group="basics",
        many=True,
        metavar="RULE",
    ),
    peers=Option(
        "Add rules of other tools and papers, about which nothing is proven.",
        kind="switch",
        group="basics",
    ),
)
OUT = named(
    out=Option(
        "Folder for the table, the figure and the JSON.",
        kind="file",
        group="output",
        metavar="DIR",
    )
)


@declared(MEANS, designs.OUTCOME, OF_DESIGN, COMPARED, RUNS, designs.WORKERS, OUT, designs.JSON)
def command(**options: Any) -> None:
    """Compare the cost and the time of every rule on one problem, at the same one-sided error."""
    from bascule.core.inputs.files import prepare_folder
    from bascule.research.comparison.contenders import USUAL, RuleFamily
    from bascule.research.comparison.frontier import frontier

    model = designs.described_outcome(options)
    asked = read({**MEANS, **OF_DESIGN, **COMPARED, **RUNS}, options)
    families = (*USUAL, RuleFamily.PEERS) if asked.pop("peers", False) else USUAL
    own = [named_rule(text, "rule") for text in asked.pop("rule", ())]
    if "out" in options:
        require("figures", "--out", "matplotlib")
        prepare_folder(options["out"])
    with designs.workers(options), progress_bar() as report:
        result = frontier(
            asked.pop("means"), model, progress=report, rules=[*families, *own], **asked
        )
    note_compilation(result.compile_seconds)
    written = result.save(options["out"]) if "out" in options else ()
    print_result(result, "json" in options)
    if "json" not in options:
        say_written(*written)
