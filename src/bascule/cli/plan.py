"""`bascule plan`: from a request to a design, with its expected duration and cost."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bascule.cli.support import designs
from bascule.cli.support.console import (
    asked,
    note,
    note_compilation,
    prepare_files,
    print_line,
    print_report,
    print_result,
    say_written,
    write_files,
)
from bascule.cli.support.declared import declared, named, read
from bascule.core.inputs.checks import read_number
from bascule.core.inputs.files import write_whole
from bascule.core.metrics.metric import Metric, metric_of
from bascule.core.options import Option, make, options_of, parameters
from bascule.core.outcomes import OUTCOMES, Numeric
from bascule.planning.api import plan
from bascule.planning.request.options import PLAN, ROLLOUT
from bascule.presentation.progress import progress_bar

if TYPE_CHECKING:
    from pathlib import Path

    from bascule.planning.request.request import PlanRequest
    from bascule.planning.result import Plan
    from bascule.presentation.report import Report

Answer = tuple[Any, Callable[[], "Report"]]
"""A plan, and the function that makes its report."""

GARBAGE = 100_000
"""New objects between garbage collections: loading code makes many, which all stay in use."""

LINEAR_ALGEBRA = "scipy.linalg"

PARAMETERS = parameters(OUTCOMES)

FORMS = named(
    rollout=Option(
        "Plan a guarded rollout instead: the share of the traffic that gets the new version (all "
        "new versions together) at each step, while no guardrail (--metric) is harmed.",
        metavar="0d:1%,1d:5%,...",
        excludes=(
            *(name for name in PLAN if name not in ROLLOUT),
            *(*PARAMETERS, "figure"),
        ),
    ),
)
"""Another form of a test: a guarded rollout."""

PREFER = named(
    prefer=Option(
        "Which of the designs to save.",
        kind="choice",
        choices=("recommended", "fastest", "cheapest"),
        default="recommended",
        group="output",
        needs=("save",),
        excludes=("rollout",),
    )
)
FILES = named(
    save=Option("Write the design, for simulations and live tests.", kind="file", group="output"),
    figure=Option("Draw the frontier, as .png or .svg.", kind="file", group="output"),
    html=Option("Write a page to share; it needs no network.", kind="file", group="output"),
)
VERBOSE = named(
    verbose=Option(
        "Print other lifts, other designs, and where figures come from.",
        kind="switch",
        group="output",
    )
)


@declared(PLAN, PARAMETERS, FORMS, designs.RUNS, designs.DASK, VERBOSE, designs.JSON, PREFER, FILES)
def command(**options: Any) -> None:
    """Find the design to run, how long it will take, and what it will cost."""
    gc.set_threshold(GARBAGE)
    # Hide SciPy's linear algebra, which Numba would load although no loop of a plan uses it.
    sys.modules.setdefault(LINEAR_ALGEBRA, None)  # type: ignore[arg-type]
    try:
        _command(options)
    finally:
        if sys.modules[LINEAR_ALGEBRA] is None:
            del sys.modules[LINEAR_ALGEBRA]


def _command(options: Mapping[str, Any]) -> None:
    files = {name: options.get(name) for name in FILES}
    as_json = "json" in options
    prepare_files(**files)
    make = _rollout if "rollout" in options else _test
    with designs.workers(options):
        answer, report = make(options, read(designs.RUNS, options))
    # Save before anything is printed: the command ends if the reader of the output closes it.
    saved = [] if files["save"] is None else _save(answer, files["save"], options)
    hint = not {"verbose", "rollout"} & set(options)
    print_result(answer, as_json, lambda _: _show(report(), hint))
    write_files(answer, files["figure"], files["html"])
    if not as_json:
        say_written(*saved, files["figure"], files["html"])
    if "rollout" in options and saved and not as_json:
        reports = "" if answer.design.measure else " --reports always"
        given = f"--design {saved[0]} --audience {saved[1]}{reports}"
        print_line(f"to create it: bascule experiment create NAME {given}")


def _save(answer: Any, path: Path, options: Mapping[str, Any]) -> list[Path]:
    """Save the design, and the schedule of a rollout beside it; return the paths of the files."""
    preferred = read(PREFER, options).get("prefer", "recommended")
    designs_of = {"fastest": lambda: answer.fastest, "cheapest": lambda: answer.cheapest}
    designs_of.get(preferred, lambda: answer)().design.save(path)
    if "rollout" not in options:
        return [path]
    schedule = json.dumps(answer.audience, indent=2)
    return [path, write_whole(path.with_suffix(".audience.json"), f"{schedule}\n".encode())]


def say_understood(lift: list[str] | None, request: PlanRequest) -> None:
    """Warn of a lift that is larger than the baseline; on a terminal, ask whether it is meant.

    With a baseline of 5 %, 0.2 often means a fifth of it.
    """
    from bascule.planning.request.words import question_of

    plain = [text for text in lift or () if not text.strip().endswith("%")]
    larger = request.outcome.binary and abs(request.main_lift) > request.baseline
    if not plain or not larger:
        return
    meant = f"{100 * read_number(plain[0])[0]:g}%"
    words = f"--lift {plain[0]} means {question_of(request)}; for {meant} of the baseline"
    note(f"{words} give --lift {meant}")
    if sys.stdin.isatty() and sys.stdout.isatty():
        asked("Plan for this?", "nothing was planned", err=True)


def requested(options: Mapping[str, Any]) -> PlanRequest:
    """Return the request that the options of the command describe."""
    from bascule.planning.request.read import plan_request

    parts: dict[str, Any] = {
        name: options[option.flag or name]
        for name, option in PLAN.items()
        if (option.flag or name) in options and name not in ("outcome", "spread")
    }
    parts |= _outcome(options) | read({"arms": PLAN["arms"]}, options)
    if "metrics" in parts:
        parts["metrics"] = _metrics(options)
    if len(parts.get("lift", ())) == 1:
        (parts["lift"],) = parts["lift"]
    return plan_request(**parts)


def _outcome(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome model that options name or imply, and the spread of bounded outcomes.

    With a sample, the parameters of a named model come from the sample, so the model is left out.
    """
    sizes = {name: options[name] for name in PARAMETERS if options.get(name) not in (None, False)}
    kind = options.get("outcome") or designs.implied(sizes)
    if kind is None:
        return {}
    model = OUTCOMES.get(kind)
    if "sample" in options and not sizes and options_of(model) and kind not in ("bounded", "ratio"):
        return {"outcome": Numeric()} if kind == "numeric" else {}
    if kind == "bounded" and "sigma" in sizes:
        # For bounded outcomes, sigma is their true spread, which no rule needs to know.
        return {"spread": sizes.pop("sigma"), "outcome": make(OUTCOMES, kind, sizes)}
    return {"outcome": make(OUTCOMES, kind, sizes)}


def _metrics(options: Mapping[str, Any]) -> list[Metric]:
    return [metric_of(text) for text in options.get("metric", ())]


def _test(options: Mapping[str, Any], runs: Mapping[str, Any]) -> Answer:
    """Return the plan of a test, and the function that makes its report."""
    request = requested(options)
    say_understood(options.get("lift"), request)
    with progress_bar() as report:
        answer = plan(request, progress=report, **runs)
    note_compilation(answer.compile_seconds)
    _note_measure(answer, options)
    return answer, lambda: answer.report(_names(answer), details="verbose" in options)


def _rollout(options: Mapping[str, Any], runs: Mapping[str, Any]) -> Answer:
    """Return the plan of a guarded rollout, and the function that makes its report."""
    from bascule.planning.rollout import plan_rollout, ramp_of

    numbers = read({name: PLAN[name] for name in ROLLOUT}, options)
    settings = {name: runs[name] for name in ("runs", "seed") if name in runs}
    rollout = plan_rollout(_metrics(options), ramp_of(options["rollout"]), **numbers, **settings)
    return rollout, rollout.report


def _note_measure(answer: Plan, options: Mapping[str, Any]) -> None:
    """With --json, which prints no notes, warn that a saved design has no measure."""
    from bascule.presentation.plan.text import measure_words
    from bascule.presentation.report import Report

    said = measure_words(answer)
    if said and "save" in options and "json" in options:
        note(*Report("", notes=(said,)).spelled(_names(answer)).notes)


def _names(answer: Plan) -> dict[str, str]:
    """Return how options that notes of a plan mention are spelled on the command line."""
    from bascule.presentation.plan.question import measure_example

    window, aggregate = measure_example(answer.request)
    create = f"experiment create NAME --design FILE --window {window} --aggregate {aggregate}"
    typed = {name: option.typed for name, option in {**PARAMETERS, **PLAN}.items()}
    return {**typed, "measure": f"bascule {create}, for example"}


def _show(report: Report, hint: bool) -> None:
    print_report(report.whole)
    if hint:
        print_line("\nMore figures: --verbose")
