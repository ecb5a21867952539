"""The status of a live test as the command line prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bascule.cli.support.console import print_json, print_line, print_report

if TYPE_CHECKING:
    from bascule.live.api import Experiment, SegmentTests


def show_status(
    test: Experiment | SegmentTests, as_json: bool = False, diagnostics: bool = False
) -> None:
    """Print the status of a test, as text or as JSON."""
    from bascule.live.api import SegmentTests, decided_headline

    if isinstance(test, SegmentTests):
        statuses = {name: one.status(diagnostics=diagnostics) for name, one in test.tests.items()}
        if as_json:
            print_json({"segments": {name: one.to_dict() for name, one in statuses.items()}})
            return
        print_line(decided_headline(statuses), style="bold")
        print_line(f"Guarantee: {test.promise}\n")
        for one in statuses.values():
            print_line(f"{one.name:<30}  {one.state:<10}{one.headline}")
        return
    status = test.status(diagnostics=diagnostics)
    if as_json:
        print_json(status.to_dict())
        return
    print_report(status.report(), width=0)
    if test.description:
        print_line(f"\n{test.description}")
