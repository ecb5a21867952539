"""Files as tools write them: `bascule analyze FILE` asks at most once, and its command runs."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from bascule.cli.main import main

pytestmark = pytest.mark.slow

N, HOUR = 400, timedelta(hours=1)
RNG = np.random.default_rng(46)


class Visitor(NamedTuple):
    """A user of a shop, whose arm was drawn and who may have bought something once."""

    user: str
    arm: str
    time: datetime
    bought: bool


VISITORS = [
    Visitor(
        f"{int(RNG.integers(2**62)):016x}-{i:04}",
        str(RNG.choice(["control", "treatment"])),
        datetime(2026, 3, 2) + i * timedelta(hours=1),
        bool(RNG.random() < 0.3),
    )
    for i in range(N)
]
SHARES = {
    arm: float(np.mean([v.bought for v in VISITORS if v.arm == arm]))
    for arm in ("control", "treatment")
}


def table(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]], sign: str = ",") -> str:
    """Write a CSV file and return its name."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=sign)
        writer.writerow(header)
        writer.writerows(rows)
    return path.name


def lines(path: Path, rows: Iterable[dict[str, Any]]) -> str:
    """Write JSON lines and return the name of the file."""
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path.name


def mixpanel(folder: Path) -> str:
    def rows() -> Iterable[dict[str, Any]]:
        for v in VISITORS:
            about = {"time": int(v.time.timestamp()), "distinct_id": v.user, "$os": "iOS"}
            yield {
                "event": "$experiment_started",
                "properties": about | {"$insert_id": f"e{v.user}", "Variant name": v.arm},
            }
            if v.bought:
                bought = {"$insert_id": f"p{v.user}", "amount": 1.0}
                yield {"event": "Purchase", "properties": about | bought}

    return lines(folder / "export.jsonl", rows())


def ga4(folder: Path) -> str:
    def row(v: Visitor, later: int, name: str, key: str, value: dict[str, Any]) -> dict[str, Any]:
        return {
            "event_date": f"{v.time:%Y%m%d}",
            "event_timestamp": str(int(v.time.timestamp() * 1e6) + later),
            "event_name": name,
            "user_pseudo_id": v.user,
            "event_params": [{"key": key, "value": value}],
        }

    def rows() -> Iterable[dict[str, Any]]:
        for v in VISITORS:
            text, number = {"string_value": v.arm}, {"int_value": 1}
            yield row(v, 0, "experience_impression", "exp_variant_string", text)
            yield row(v, 10, "page_view", "page", {"string_value": "/home"})
            if v.bought:
                yield row(v, 10**9, "purchase", "value", number)

    return lines(folder / "ga4.jsonl", rows())


def events(folder: Path, header: Sequence[str], seen: str, bought: str, **fields: str) -> str:
    """Write exposures and purchases in one table, with their properties as JSON."""
    rows = []
    for v in VISITORS:
        rows.append([v.user, seen, f"{v.time}", json.dumps({"flag": "x", fields["arm"]: v.arm})])
        if v.bought:
            rows.append([v.user, bought, f"{v.time + HOUR}", json.dumps({fields["value"]: 1})])
    return table(folder / "events.csv", header, rows)


def amplitude(folder: Path) -> str:
    header = ("user_id", "event_type", "event_time", "event_properties")
    return events(folder, header, "Exposure", "purchase", arm="variant", value="revenue")


def posthog(folder: Path) -> str:
    header = ("distinct_id", "event", "timestamp", "properties")
    response = "$feature_flag_response"
    return events(folder, header, "$feature_flag_called", "order", arm=response, value="total")


def nested(folder: Path) -> str:
    rows = (
        {
            "user": {"id": v.user},
            "experiment": {"name": "checkout", "variant": v.arm},
            "at": v.time.isoformat(),
            "outcome": {"converted": v.bought},
        }
        for v in VISITORS
    )
    return lines(folder / "nested.jsonl", rows)


def two_tables(
    folder: Path,
    exposures: tuple[Sequence[str], Callable[[Visitor], Sequence[Any]]],
    outcomes: tuple[Sequence[str], Callable[[Visitor], Sequence[Any]]],
) -> str:
    """Write the exposures and the purchases to two files."""
    table(folder / "exposures.csv", exposures[0], map(exposures[1], VISITORS))
    buyers = (v for v in VISITORS if v.bought)
    table(folder / "outcomes.csv", outcomes[0], map(outcomes[1], buyers))
    return "outcomes.csv --assignments exposures.csv"


def segment(folder: Path) -> str:
    return two_tables(
        folder,
        (
            ("id", "anonymous_id", "user_id", "timestamp", "variation_name"),
            lambda v: (f"m{v.user}", f"a{v.user}", v.user, f"{v.time.isoformat()}Z", v.arm),
        ),
        (
            ("id", "user_id", "timestamp", "order_id", "revenue"),
            lambda v: (f"n{v.user}", v.user, f"{(v.time + HOUR).isoformat()}Z", v.user[:9], 1.0),
        ),
    )


def statsig(folder: Path) -> str:
    return two_tables(
        folder,
        (
            ("user_id", "stable_id", "group_id", "group_name", "first_exposure_utc"),
            lambda v: (v.user, f"s{v.user}", v.arm[0], v.arm, f"{v.time} UTC"),
        ),
        (
            ("unit_id", "id_type", "ds", "metric_name", "metric_value"),
            lambda v: (v.user, "user_id", v.time.date(), "purchase", 1),
        ),
    )


def eppo(folder: Path) -> str:
    return two_tables(
        folder,
        (
            ("subject", "experiment", "variation", "timestamp"),
            lambda v: (v.user, "checkout", v.arm, f"{v.time.isoformat()}+00:00"),
        ),
        (
            ("subject", "ts", "revenue"),
            lambda v: (v.user, f"{(v.time + HOUR).isoformat()}+00:00", 1.0),
        ),
    )


def launchdarkly(folder: Path) -> str:
    header = ("context_key", "variation_name", "variation_value", "first_evaluation", "converted")
    rows = (
        (v.user, v.arm, str(v.arm == "treatment").lower(), v.time.isoformat(), int(v.bought))
        for v in VISITORS
    )
    return table(folder / "evaluations.csv", header, rows)


def german(folder: Path) -> str:
    header = ("Kundennummer", "Variante", "Datum", "Umsatz")
    rows = (
        (i, v.arm, f"{v.time:%d.%m.%Y %H:%M}", "1.000,00" if v.bought else "0,00")
        for i, v in enumerate(VISITORS)
    )
    return table(folder / "umsatz.csv", header, rows, ";")


def yes_and_no(folder: Path) -> str:
    header = ("Kunde", "Gruppe", "Datum", "gekauft")
    rows = (
        (i, v.arm, f"{v.time:%d.%m.%Y}", "Ja" if v.bought else "Nein")
        for i, v in enumerate(VISITORS)
    )
    return table(folder / "ja.csv", header, rows, ";")


def milliseconds(folder: Path) -> str:
    rows = ((v.user, v.arm, int(v.time.timestamp() * 1000), int(v.bought)) for v in VISITORS)
    return table(folder / "ms.csv", ("user_id", "variant", "ts", "converted"), rows)


def spreadsheet(folder: Path) -> str:
    rows: list[Sequence[Any]] = [
        (i, v.arm, f"{v.time:%-m/%-d/%Y %-I:%M %p}", "Yes" if v.bought else "No")
        for i, v in enumerate(VISITORS)
    ]
    rows.append(("Total", "", "", ""))
    return table(folder / "sheet.csv", ("User ID", "Group", "Date", "Purchased?"), rows)


def sums(folder: Path) -> str:
    rows = []
    for name in SHARES:
        mine = [v for v in VISITORS if v.arm == name]
        bought = sum(v.bought for v in mine)
        rows.append((name, len(mine), bought, bought + 20))
    header = ("Variation", "Visitors", "Unique Conversions", "Total Conversions")
    return table(folder / "results.csv", header, rows)


def sessions(folder: Path) -> str:
    header = ("session_id", "customer_id", "variant", "session_start", "orders")
    rows = []
    for i, v in enumerate(VISITORS):
        for visit in range(1 + i % 3):
            start = f"{v.time + visit * HOUR:%Y-%m-%d %H:%M:%S}-0800"
            rows.append((f"{v.user}/{visit}", v.user, v.arm, start, int(v.bought and not visit)))
    return table(folder / "sessions.csv", header, rows)


ONES = [
    *(mixpanel, ga4, amplitude, posthog, nested, segment, statsig, eppo, launchdarkly),
    *(yes_and_no, milliseconds, spreadsheet, sums, sessions),
]
"""Files in which a buyer counts as 1; in the other one a buyer spends 1,000."""


@pytest.mark.parametrize("write", [*ONES, german])
def test_an_export_takes_at_most_one_question(
    write: Callable[[Path], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, write(tmp_path).split())
    if code:
        assert code == 2
        code, out, err = run(capsys, shlex.split(err.split("for example: ")[1])[2:])
    assert (code, err) == (0, "")
    scale = 1000.0 if write is german else 1.0
    found = {arm["name"]: arm["mean"] for arm in json.loads(out)["arms"]}
    assert found == pytest.approx({arm: scale * share for arm, share in SHARES.items()})


def test_a_bandit_asks_for_its_probabilities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = []
    for i, v in enumerate(VISITORS):
        share = 0.5 if i < N // 2 else 0.8
        arm = "treatment" if RNG.random() < share else "control"
        own = share if arm == "treatment" else 1.0 - share
        rows.append((i, v.time.isoformat(), arm, f"{own:.1f}", int(v.bought)))
    header = ("round", "timestamp", "action", "propensity", "reward")
    code, _, err = run(capsys, [table(tmp_path / "bandit.csv", header, rows)])
    assert code == 2
    command = shlex.split(err.split("for example: ")[1])[2:]
    assert command[command.index("--probability") + 1] == "propensity"
    code, out, _ = run(capsys, command)
    assert (code, json.loads(out)["reading"]["probability"]) == (0, ["propensity"])


def run(capsys: pytest.CaptureFixture[str], words: Sequence[str]) -> tuple[int, str, str]:
    """Return the exit code and the output of `bascule analyze`, as JSON."""
    with pytest.raises(SystemExit) as caught:
        main(["analyze", *words, *(() if "--json" in words else ("--json",))])
    printed = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, printed.out, printed.err
