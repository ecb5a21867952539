"""A log that was made once, and is read in many ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="session")
def events() -> Any:
    """Revenue of 400 users over twelve days, in two arms; some rows are worth nothing."""
    import pandas as pd

    rng = np.random.default_rng(5)
    rows = 1500
    user = rng.integers(0, 400, rows)
    seconds = np.round(rng.uniform(0, 12 * 86400, rows), 3)
    return pd.DataFrame(
        {
            "user_id": user,
            "variant": np.where(user % 2, "green", "control"),
            "revenue": np.round(rng.exponential(2.0 + user % 2) * (rng.random(rows) < 0.7), 2),
            "ts": pd.Timestamp("2026-03-01") + pd.to_timedelta(seconds, unit="s"),
        }
    )
