"""Samples: spreads by unit and within units, and files that hold something else."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from bascule import InputError
from bascule.planning import Sample
from bascule.planning.request.sample import read_sample


def written(folder: Path, text: str) -> Path:
    path = folder / "sample.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_one_outcome_a_unit_has_the_usual_mean_and_spread(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(20, 5, 200)
    path = written(tmp_path, "value\n" + "\n".join(map(str, values)))
    seen = read_sample(path)
    assert (seen.outcomes, seen.units, seen.recurring) == (200, 200, False)
    assert seen.mean == pytest.approx(values.mean())
    assert seen.sigma == seen.sigma_unit == pytest.approx(values.std(ddof=1))
    assert math.isnan(seen.sigma_noise)


def test_both_spreads_of_recurring_outcomes_are_found() -> None:
    random = np.random.default_rng(2)
    counts = random.integers(1, 9, 3000)
    owner = np.repeat(np.arange(3000), counts)
    values = 10 + random.normal(0, 2, 3000)[owner] + random.normal(0, 3, len(owner))
    seen = Sample.of(values.tolist(), [f"u{unit}" for unit in owner])
    assert seen.recurring
    assert seen.mean == pytest.approx(10, abs=4 * 3 / math.sqrt(3000))
    # The variances are estimated from 3,000 units: within 4 standard errors of about 4 %.
    assert seen.sigma_unit**2 == pytest.approx(4, rel=0.25)
    assert seen.sigma_noise**2 == pytest.approx(9, rel=0.1)


def test_units_that_do_not_differ_have_no_spread_of_their_own() -> None:
    seen = Sample.of([0, 1, 2, 3] * 5, [str(i // 4) for i in range(20)])
    assert seen.sigma_unit == 0.0


def test_other_columns_and_a_byte_order_mark_are_nothing_special(tmp_path: Path) -> None:
    rows = "\n".join(f"x,{i % 2},u{i}" for i in range(20))
    seen = read_sample(written(tmp_path, "\ufeffnote,value,unit\n" + rows))
    assert seen.zero_or_one
    assert seen.mean == 0.5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("value\n1\n2\nthree\n", "line 4: value must be a finite number (got 'three')"),
        ("value\n1\nnan\n", "line 3"),
        ("value\n1\n\n2\n", "10"),
        ("amount\n1\n2\n", "(it has amount): it needs a column named value"),
        ("", "(it has none)"),
        ("value\n1\n2\n", "at least 10"),
        ("value,unit\n" + "1,a\n" * 20, "2 units"),
    ],
)
def test_a_file_that_is_no_sample_gets_one_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        read_sample(written(tmp_path, text))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_text_and_what_is_not_there_get_one_line(tmp_path: Path) -> None:
    path = tmp_path / "sample.csv"
    with pytest.raises(InputError, match="cannot read the sample"):
        read_sample(path)
    path.write_bytes(b"\xff\xfe\x00\x81" * 20)
    with pytest.raises(InputError, match="cannot read the sample"):
        read_sample(path)


def test_a_cap_is_an_amount_or_a_quantile_and_larger_outcomes_count_as_it() -> None:
    values = [float(value) for value in range(1, 101)]
    amount, quantile = Sample.of(values, cap=50), Sample.of(values, cap="90%")
    assert (amount.cap, amount.high, amount.above_cap) == (50.0, 50.0, 0.5)
    assert quantile.cap == pytest.approx(np.quantile(values, 0.9))
    assert quantile.mean == pytest.approx(np.minimum(values, np.quantile(values, 0.9)).mean())
    assert abs(Sample.of(values).skewness) < 1e-12
    with pytest.raises(InputError, match="higher quantile"):
        Sample.of([0.0] * 95 + [1.0] * 5, cap="50%")
