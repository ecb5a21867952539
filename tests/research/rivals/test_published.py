"""Rules of others against what was published of them, in short runs, and against the record."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from bench.benchmark import RECORD, TABLES, measured, recorded
from bench.benchmark_page import COMMANDS, OUT, page
from bench.benchmark_tables import PUBLISHED, distance

from bascule.cli.main import main
from bascule.research.rivals import bayesian_trial, best_arm
from bascule.research.rivals.group_sequential import performance, spending_bounds

pytestmark = pytest.mark.slow

SHORT = {
    "sequential": 1500,
    "rates": 500,
    "best-arm": 240,
    "trial": 500,
    "reference": 1500,
    "archive": 60,
}
"""Runs of the short run of each table."""

FAR = 3.9
"""Standard errors that a figure of some two hundred is allowed."""

ROOT = Path(__file__).parents[3]

ARCHIVE_ROWS = ("bascule analyze --test", "fixed, looked at once")


@pytest.mark.parametrize("figure", PUBLISHED, ids=lambda figure: f"{figure.row} {figure.column}")
def test_every_published_figure_is_repeated_within_three_standard_errors(figure: object) -> None:
    assert distance(figure, recorded()) < 3.0  # type: ignore[arg-type]


@pytest.mark.parametrize("table", TABLES)
def test_a_short_run_agrees_with_the_recorded_table(table: str) -> None:
    record = recorded()[table]
    rows = {name: name for name in record if "Pocock" not in name and "O'Brien" not in name}
    for name, figures in measured(table, rows, SHORT[table]).items():
        assert figures.keys() == record[name].keys()
        for column, estimate in figures.items():
            if column == "most":
                continue
            known = record[name][column]
            joint = math.hypot(estimate.se, known.se)
            assert abs(estimate.mean - known.mean) <= FAR * joint + 1e-9, (name, column)


def test_the_record_has_every_row_and_the_page_is_made_from_it() -> None:
    assert {table: list(rows) for table, rows in recorded().items()} == {
        table: list(entry.rows) for table, entry in TABLES.items()
    }
    assert (ROOT / OUT).read_text(encoding="utf-8") == page(recorded())
    assert json.loads((ROOT / RECORD).read_text(encoding="utf-8")).keys() == TABLES.keys()


def test_a_published_figure_stands_in_the_row_that_repeats_it() -> None:
    text = page(recorded())
    assert len({figure[:3] for figure in PUBLISHED}) == len(PUBLISHED)
    for figure in PUBLISHED:
        rows = [line for line in text.splitlines() if line.startswith(f"| {figure.row} |")]
        assert any(f"(*{figure.value:,g}*)" in row for row in rows), figure
    assert text.count("(*") == len(PUBLISHED)


def test_the_page_on_other_tools_has_the_same_figures() -> None:
    text = (ROOT / "docs/using/comparison.md").read_text(encoding="utf-8")
    row = r"^\| (.+) \| .+ \| (0\.\d{3}) \| ([\d,]+) \| ([\d.]+) \|$"
    names = {
        "fixed size": "fixed",
        "group sequential, 14 looks (Spotify's kind)": "group sequential, 14 looks, linear",
        "GAVI (Eppo's kind)": "GAVI",
        "bascule, planned, even split (tilt 1)": "Tilt_1, effect 0.2, horizon",
        "bascule, planned, tilt 3": "Tilt_3, effect 0.2, horizon",
    }
    rows = re.findall(row, text, re.MULTILINE)
    assert [name for name, *_ in rows] == list(names)
    for name, *shown in rows:
        figures = recorded()["sequential"][names[name]]
        units = figures["units"].mean
        regret = figures["regret"].mean if "regret" in figures else units / 10
        assert shown == [f"{figures['at 0.2'].mean:.3f}", f"{units:,.0f}", f"{regret:.1f}"]


def test_pages_for_users_name_the_shares_found_in_the_archive() -> None:
    found = [recorded()["archive"][name]["found"].mean for name in ARCHIVE_ROWS]
    shares = [f"{math.floor(100 * share + 0.5)} %" for share in found]
    for page_name in ("README.md", "docs/using/analyse-logs.md"):
        text = " ".join((ROOT / page_name).read_text(encoding="utf-8").split())
        assert f"finds {shares[0]} of the lifts where one fixed look finds {shares[1]}" in text


@pytest.mark.parametrize("name", ["Tilt_1, effect 0.2", "Tilt_3, effect 0.2, horizon"])
def test_the_commands_of_our_rows_give_their_figures(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, *arguments = COMMANDS[name].split()
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "--json"])
    assert caught.value.code == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["decision_time"]["mean"] == pytest.approx(
        recorded()["sequential"][name]["units"].mean
    )


def test_boundaries_by_spending_are_those_of_lan_and_demets() -> None:
    times = np.linspace(0.1, 1.0, 10).tolist()
    bounds = spending_bounds(times, lambda time: 0.05 * time)
    assert performance(times, bounds, 0.0).up == pytest.approx(0.05, abs=1e-5)
    # As ldbounds and seqabpy print them.
    four = spending_bounds([0.25, 0.5, 0.75, 1.0], lambda time: 0.05 * time)
    assert four == pytest.approx([2.24140, 2.12511, 2.01867, 1.92549], abs=2e-4)


def test_optimal_shares_level_the_comparisons() -> None:
    rates, shares = np.array([0.3, 0.21, 0.2, 0.19, 0.18]), np.empty(5)
    best_arm.optimal_shares(rates, shares)
    worth = [
        best_arm.evidence(rates[0], shares[0], rate, share)
        for rate, share in zip(rates[1:], shares[1:], strict=True)
    ]
    assert worth == pytest.approx([worth[0]] * 4, rel=1e-6)
    # No other shares do better by the weakest comparison.
    for seed in range(20):
        others = np.random.default_rng(seed).dirichlet(200 * shares)
        weakest = min(
            best_arm.evidence(rates[0], others[0], rate, share)
            for rate, share in zip(rates[1:], others[1:], strict=True)
        )
        assert weakest <= worth[0] * (1 + 1e-9)


def test_posterior_probabilities_are_those_of_beta_draws() -> None:
    events, patients = np.array([[30.0, 22.0, 35.0]]), np.array([[100.0, 95.0, 105.0]])
    active = np.ones((1, 3), bool)
    rates = bayesian_trial.posterior(events, patients, 0.0025)
    draws = np.random.default_rng(1).beta(
        1 + events[0], 1 + patients[0] - events[0], size=(200_000, 3)
    )
    best = np.bincount(draws.argmin(axis=1), minlength=3) / len(draws)
    found = bayesian_trial.chances_to_be_best(rates, active)[0]
    assert found == pytest.approx(best, abs=4 * 0.5 / math.sqrt(len(draws)))
    alike = float((np.ptp(draws, axis=1) < 0.05).mean())
    assert bayesian_trial.chance_to_be_alike(rates, active)[0] == pytest.approx(alike, abs=0.006)
