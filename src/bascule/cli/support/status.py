"""The status of a live test as the command line prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule.cli.support.console import print_json, print_line
from bascule.core.approximate import two_digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bascule.core.design import Design
    from bascule.core.diagnostics import Diagnostic
    from bascule.live.api import Experiment, SegmentedExperiment, Status
    from bascule.theory import Prediction


def show_status(
    test: Experiment | SegmentedExperiment, as_json: bool = False, diagnostics: bool = False
) -> None:
    """Print the status of a test, as text or as JSON."""
    from bascule.live.api import SegmentedExperiment
    from bascule.presentation.numbers import amount
    from bascule.presentation.status import arm_lines, difference_lines

    if isinstance(test, SegmentedExperiment):
        whole = test.status(diagnostics=diagnostics)
        if as_json:
            print_json(whole.to_dict())
            return
        print_line(f"{test.name}, {len(test.tests)} segments by {whole.attribute}\n")
        print_line(whole.headline, style="bold")
        print_line(f"guarantee: {whole.promise}\n")
        for line in whole.table():
            print_line(line)
        print_line(
            f"\neach of them: bascule experiment status {next(iter(test.tests.values())).name}"
        )
        return
    status, design = test.status(diagnostics=diagnostics), test.design
    even = None if as_json else test.even_split()
    if as_json:
        print_json(status.to_dict())
        return
    print_line(f"{status.name}, {status.rule}, {status.state}\n")
    words = test.description.lines()
    for line in [*words, ""] if words else ():
        print_line(line)
    print_line(status.headline, style="bold")
    print_line("")
    for line in [*arm_lines(status), "", *difference_lines(status, all_pairs=True)]:
        print_line(line)
    if not (status.rollout or status.guarded or (status.decision and status.decision.harm)):
        print_line(f"evidence: {100 * status.evidence:.0f} % of the way to a decision")
    if status.cost is not None:
        cost = f"{amount(status.cost)} {status.cost_unit}"
        print_line(f"cost so far: {cost}{_even_words(even)}")
    print_line(f"guarantee: {_promise(status, design)}")
    for line in _diagnostic_lines(status.diagnostics or ()):
        print_line(line)


def _even_words(even: Prediction | None) -> str:
    if even is None:
        return ""
    return f"; an even split is expected to cost {two_digits(even.regret)} until its own decision"


def _promise(status: Status, design: Design) -> str:
    """Say what the error bounds, for a test that may still declare a winner or has done so."""
    from bascule.presentation.guarantees import error_words

    has_winner = status.decision is not None and status.decision.arm is not None
    is_open = status.state in ("ready", "running", "paused")
    promise = design.calibration
    if promise.error < 1.0 and (has_winner or is_open) and not design.guardrails:
        return f"{error_words(promise.error, len(design.arms))} ({promise.guarantee})"
    return status.promise


def _diagnostic_lines(diagnostics: Sequence[Diagnostic]) -> list[str]:
    """List alarms, then what was checked without a finding, then what could not be checked."""
    lines = [f"! {one.name}: {one.message}" for one in diagnostics if one.flagged]
    # With too little data a diagnostic has no statistic, and nothing was compared.
    unchecked = [one for one in diagnostics if one.statistic == 0.0 and one.p_value == 1.0]
    calm = [one.name for one in diagnostics if not one.flagged and one not in unchecked]
    if calm:
        lines.append(f"diagnostics without a finding: {', '.join(dict.fromkeys(calm))}")
    if unchecked:
        names = ", ".join(dict.fromkeys(one.name for one in unchecked))
        lines.append(f"not checked, too little data: {names}")
    return lines
