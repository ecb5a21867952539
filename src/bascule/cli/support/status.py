"""The status of a live test as the command line prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule.cli.support.console import print_json, print_line

if TYPE_CHECKING:
    from bascule.core.design import Design
    from bascule.live.api import Experiment, SegmentedExperiment, Status


def show_status(
    test: Experiment | SegmentedExperiment, as_json: bool = False, diagnostics: bool = False
) -> None:
    """Print the status of a test, as text or as JSON."""
    from bascule.live.api import SegmentedExperiment
    from bascule.presentation.report import lines
    from bascule.presentation.status import report

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
    status = test.status(diagnostics=diagnostics)
    if as_json:
        print_json(status.to_dict())
        return
    first, *rest = lines(report(status, _promise(status, test.design)), width=0)
    print_line(first, style="bold")
    for line in [*rest, "", *test.description.lines()]:
        print_line(line)


def _promise(status: Status, design: Design) -> str:
    """Say what the error bounds, for a test that may still declare a winner or has done so."""
    from bascule.presentation.guarantees import error_words

    has_winner = status.decision is not None and status.decision.arm is not None
    is_open = status.state in ("ready", "running", "paused")
    promise = design.calibration
    if promise.error < 1.0 and (has_winner or is_open) and not design.guardrails:
        return f"{error_words(promise.error, len(design.arms))} ({promise.guarantee})"
    return status.promise
