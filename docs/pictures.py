"""Draw the pictures of the pages: `python docs/pictures.py docs/images`.

Those of *How it works* are computed from the problem that `bascule plan` answers without options:
5 % against 6 %, 5,000 visitors a day, error 5 %, power 90 %. The seeds are fixed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import bascule as bs
from bascule.presentation.figures import new_figure, rendered

MEANS = (0.05, 0.06)
PER_DAY = 5_000
SEED, RUN = 7, 4
EVERY = 100
"""Units between two points of a line."""

TILTS = (1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12)
TRIED, RECOMMENDED = (1, 2, 3, 5, 8), 3
"""The tilts with a horizon that `bascule plan` tries for this problem, and its recommendation."""

RUNS = 4_000
FIXED_DAYS, FIXED_LOST = 4.37, 109.0
"""The fixed-horizon test of this problem, as `bascule plan` prints it."""


def design_of(tilt):
    """Return the planned design at a tilt."""
    rule = bs.Tilt(tilt, effect=0.01, baseline=0.05, power=0.9, futility=0.2)
    return bs.Design(["control", "green"], bs.Bernoulli(), rule, error=0.05)


def traced(means):
    """Return a test unit by unit: units, green's share of the last 300, and its interval."""
    design, arms, points = design_of(5), [], []
    for step in bs.trace(design, means, seed=SEED, run=RUN):
        arms.append(step.arm)
        if len(arms) % EVERY == 0 or step.decision is not None:
            recent = arms[-300:]
            (effect,) = bs.progress.effects(design, step.statistics)
            ends = 100 * effect.low, 100 * effect.high
            points.append((len(arms), sum(recent) / len(recent), *ends))
    assert step.decision is not None
    assert step.decision.name == "green"
    return points


def draw_test(folder):
    """Draw the share of the better arm and the interval in one test."""
    points = traced(MEANS)
    days = [units / PER_DAY for units, *_ in points]
    figure, (shares, interval) = new_figure(columns=2, width=8.4, height=3.4)
    shares.plot(days, [100 * share for _, share, _, _ in points], color="C0")
    shares.axhline(50, color="grey", linewidth=0.8, linestyle=":")
    shares.set(xlabel="days", ylabel="visitors who see green, %", ylim=(0, 100))
    shares.set_title("The better arm gets more visitors")
    lows, highs = [low for *_, low, _ in points], [high for *_, high in points]
    interval.fill_between(days, lows, highs, alpha=0.25, color="C0", linewidth=0)
    interval.axhline(0, color="grey", linewidth=0.8)
    interval.axhline(1, color="C2", linewidth=0.8, linestyle=":")
    interval.annotate("true difference", (days[0], 1.1), color="C2", fontsize=8)
    interval.plot(days[-1:], lows[-1:], "o", color="C0")
    interval.annotate(
        "decision: ship green",
        (days[-1], lows[-1]),
        (-8, -16),
        ha="right",
        textcoords="offset points",
        fontsize=8,
    )
    interval.set(xlabel="days", ylabel="green - control, points", ylim=(-3, 5))
    interval.set_title("The test ends when its interval leaves 0")
    (folder / "how-a-test-runs.svg").write_bytes(rendered(figure, "svg"))


def draw_trade_off(folder):
    """Draw the conversions lost against the days until the decision, along the tilt."""
    figure, (axis,) = new_figure(width=5.6, height=3.8)
    points = []
    for tilt in TILTS:
        result = bs.simulate(design_of(tilt), MEANS, runs=RUNS, seed=SEED)
        points.append((result.decision_time.mean() / PER_DAY, result.regret.mean()))
    axis.plot(*zip(*points, strict=True), "-", color="C0")
    notes = {1: "even split (tilt 1)", RECOMMENDED: f"tilt {RECOMMENDED}, recommended"}
    for tilt, (days, lost) in zip(TILTS, points, strict=True):
        filling = "C0" if tilt in TRIED else "white"
        axis.plot([days], [lost], "o", color="C0", markerfacecolor=filling)
        if tilt in (*TRIED, 12):
            words = notes.get(tilt, f"tilt {tilt}")
            axis.annotate(words, (days, lost), (5, 4), textcoords="offset points", fontsize=8)
    axis.plot([FIXED_DAYS], [FIXED_LOST], "s", color="C3")
    axis.annotate(
        "fixed horizon",
        (FIXED_DAYS, FIXED_LOST),
        (6, 3),
        textcoords="offset points",
        fontsize=8,
        color="C3",
    )
    axis.set(
        xlabel="days until the decision, on average",
        ylabel="conversions lost, on average",
        xlim=(2.5, 9),
        ylim=(40, 118),
    )
    (folder / "how-cost-and-time.svg").write_bytes(rendered(figure, "svg"))


def draw_trend(folder):
    """Draw why a trend that both arms share cancels within blocks."""
    import numpy as np

    random = np.random.default_rng(SEED)
    days = np.arange(1, 15)
    week = 5 + 1.2 * np.sin(days * 2 * np.pi / 7) + 0.12 * days
    figure, (axis,) = new_figure(width=5.6, height=3.4)
    axis.plot(days, week, "o-", color="C7", label="control")
    axis.plot(days, week + 1 + random.normal(0, 0.06, days.size), "o-", color="C0", label="green")
    for day, low in zip(days, week, strict=True):
        axis.annotate(
            "",
            (day, low + 0.9),
            (day, low + 0.1),
            arrowprops={"arrowstyle": "<->", "color": "C2", "linewidth": 0.8},
        )
    axis.set(xlabel="day", ylabel="conversion rate, %")
    axis.legend(loc="upper left", frameon=False)
    (folder / "how-a-trend-cancels.svg").write_bytes(rendered(figure, "svg"))


def draw_plan(folder):
    """Draw the figure of the plan on the page of plans, as `bascule plan --figure` does."""
    plan = bs.plan(baseline="5%", lift="20%", units_per_day=PER_DAY, deadline_days=28)
    assert plan.design.rule.tilt == RECOMMENDED
    (folder / "plan.svg").write_bytes(rendered(plan.plot(), "svg"))


def draw_analysis(folder):
    """Draw the figure of the log on the page of logs, as `bascule analyze --figure` does."""
    import numpy as np

    random = np.random.default_rng(5)
    day = np.repeat(np.arange(14), 400)
    variant = random.choice(["control", "green"], 5600)
    start = np.datetime64("2026-03-01T00:00:00")
    seconds = (86_400 * (day + random.random(5600))).astype("timedelta64[s]")
    bought = (random.random(5600) < np.where(variant == "green", 0.15, 0.10)).astype(int)
    log = {"user_id": range(5600), "variant": variant, "ts": start + seconds, "bought": bought}
    answer = bs.analyze(log, "bought", assigned=bs.Assigned(weights=[1, 1]))
    assert answer.decision is not None
    assert (answer.decision.name, answer.decided) == ("green", "2026-03-11")
    (folder / "analysis.svg").write_bytes(rendered(answer.plot(), "svg"))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    draw_plan(target)
    draw_analysis(target)
    draw_test(target)
    draw_trade_off(target)
    draw_trend(target)
