"""`bascule.presentation.figures`: the style that the paper's figures share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bascule as bs
from bascule.core.inputs.files import write_whole
from bascule.presentation.figures import SERIES, bar_edges, new_figure, save_figure

pytestmark = pytest.mark.slow


def lightness(colour: str) -> float:
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue


def test_series_stay_apart_without_colour() -> None:
    assert len({(str(each.dash), each.marker) for each in SERIES}) == len(SERIES)
    assert len({each.colour for each in SERIES}) == len(SERIES)
    assert all(lightness(each.colour) < 0.6 for each in SERIES), "too pale on white"


def test_importing_bascule_and_the_paper_loads_no_plotting() -> None:
    code = (
        "import sys, bascule, bascule.research.paper; "
        "sys.exit(any(name in sys.modules for name in ('matplotlib', 'numba')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_drawing_touches_no_global_setting() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    figure, axes = new_figure(columns=2, share_y=True)
    axes[0].plot([1, 2])
    assert dict(mpl.rcParams) == before
    assert not axes[0].spines["top"].get_visible()
    assert len(figure.axes) == 2


def test_saved_figures_are_the_same_twice(tmp_path: Path) -> None:
    figure, axes = new_figure()
    axes[0].set_title("words stay words")
    first = [path.read_bytes() for path in save_figure(figure, tmp_path / "v1.2")]
    again = [path.read_bytes() for path in save_figure(figure, tmp_path / "other")]
    assert first == again
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "other.png",
        "other.svg",
        "v1.2.png",
        "v1.2.svg",
    ]
    assert b"words stay words" in first[1]
    assert b"<dc:date>" not in first[1]


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_whole(tmp_path / "table.csv", b"old")

    def stopped(self: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["table.csv"]
    assert path.read_bytes() == b"old"


def test_bars_hold_equally_many_whole_numbers() -> None:
    values = np.arange(1000.0)
    counts, _ = np.histogram(values, bar_edges(values))
    assert counts.sum() == 1000
    assert len(set(counts[:-1])) == 1
    assert bar_edges(np.full(5, 7.0)).tolist() == [6.5, 7.5]


def test_a_simulation_plots_its_histograms_and_mentions_undecided_runs() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=0.01)
    whole = bs.simulate(design, [0.0, 1.0], runs=80).plot()
    assert "undecided" not in whole.get_suptitle()
    capped = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=0.01, max_units=100)
    result = bs.simulate(capped, [0.0, 1.0], runs=80)
    figure = result.plot()
    assert f"{result.undecided} of them undecided" in figure.get_suptitle()
    heights = [bar.get_height() for bar in figure.axes[0].patches]  # type: ignore[attr-defined]
    assert sum(heights) == 80


@pytest.mark.parametrize("runs", [1, 2])
def test_a_handful_of_runs_can_be_plotted(runs: int) -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=0.01)
    assert bs.simulate(design, [0.0, 1.0], runs=runs).plot().axes
