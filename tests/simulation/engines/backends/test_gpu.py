"""A GPU that is not there, and simulations that a GPU does not play, are refused in one line."""

from __future__ import annotations

import numpy as np
import pytest

import bascule as bs
from bascule.simulation.kernels.gpu import fill_single_normals
from bascule.simulation.random import WORDS, seed_stream, ziggurat_table


def test_a_machine_without_a_gpu_says_so() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), sides=1)
    with pytest.raises(bs.InputError, match="needs an NVIDIA GPU, its driver"):
        bs.simulate(design, [0, 1], 10, device="cuda")
    with (
        bs.simulation.use_device("cuda"),
        pytest.raises(bs.InputError, match="leave it out to use the CPU"),
    ):
        bs.simulate(design, [0, 1], 10)
    with pytest.raises(bs.InputError, match='device must be "cpu" or "cuda"'):
        bs.simulate(design, [0, 1], 10, device="tpu")  # type: ignore[arg-type]


def test_single_precision_normals_have_the_normal_moments() -> None:
    streams, count = np.empty(WORDS, np.uint64), 20_001
    values = np.empty(count)
    with np.errstate(over="ignore"):
        seed_stream(streams, 0, np.uint64(3), np.uint64(7))
        fill_single_normals(streams, 0, values, 0, count, ziggurat_table())
    error = 1 / np.sqrt(count)
    assert abs(values.mean()) < 4 * error
    assert values.var() == pytest.approx(1, abs=4 * np.sqrt(2) * error)
    assert (values**4).mean() == pytest.approx(3, abs=4 * np.sqrt(96) * error)
    assert np.mean(values[:-1] * values[1:]) == pytest.approx(0, abs=4 * error)
    assert np.abs(values).max() < 5.9
