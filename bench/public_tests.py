"""Public collections of tests: `python -m bench.public_tests upworthy FILE` or `asos FILE`.

The files are not part of this project. Upworthy's research archive (osf.io/jd64p) has a CSV file
with clicks and impressions of each package of a test; ASOS's digital experiments (osf.io/64jsb) a
table with counts, means and variances of two arms up to each time.
"""

from __future__ import annotations

import sys
from typing import Any

import bascule as bs
from bascule.analysis.call import call_of


def upworthy(frame: Any) -> bs.analysis.LogCollection:
    """Packages of a test as its arms: shares of clicks, with no times within a test."""
    part = frame.groupby("clickability_test_id").cumcount()
    log = frame.assign(arm="package " + (part + 1).astype(str))
    return bs.analyze_each(
        bs.Log(log[["clickability_test_id", "arm", "impressions", "clicks"]], count="impressions"),
        bs.LogMetric("clicks", outcome=bs.Bernoulli()),
        test="clickability_test_id",
    )


def asos(frame: Any) -> bs.analysis.LogCollection:
    """Experiments with their variants and metrics as tests: snapshots of two arms."""
    import pandas as pd

    names = frame[["experiment_id", "variant_id", "metric_id"]].astype(str)
    test, parts = names.agg("/".join, axis=1), []
    for arm, end in (("control", "c"), ("treatment", "t")):
        n, mean, variance = (frame[f"{name}_{end}"] for name in ("count", "mean", "variance"))
        squares = (n - 1) * variance + n * mean**2
        columns = {"test": test, "arm": arm, "day": frame.time_since_start, "units": n}
        parts.append(pd.DataFrame({**columns, "total": n * mean, "squares": squares}))
    log = pd.concat(parts).dropna()
    options: dict[str, Any] = {"count": "units", "value": "total", "squares": "squares"}
    return bs.analyze_each(**call_of(log, test="test", cumulative=True, **options))


def main(kind: str, path: str) -> None:
    """Print the table of a collection."""
    import pandas as pd

    frame = pd.read_parquet(path) if path.endswith(".parquet") else pd.read_csv(path)
    print({"upworthy": upworthy, "asos": asos}[kind](frame))


if __name__ == "__main__":
    main(*sys.argv[1:3])
