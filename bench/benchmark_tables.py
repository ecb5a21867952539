"""The tables of the benchmark's page, and the published figures beside ours."""

from __future__ import annotations

import math
from typing import NamedTuple

from bascule.simulation import Estimate

Figures = dict[str, Estimate]
Recorded = dict[str, dict[str, Figures]]


class Published(NamedTuple):
    """A published figure: the table, row and column that repeat it, and its standard error."""

    table: str
    row: str
    column: str
    value: float
    se: float


def shares(table: str, row: str, *values: float, runs: int = 100_000) -> list[Published]:
    """Return published positive rates at effects of 0, 0.1, 0.2, with their standard errors.

    They are printed with three digits, which adds the error of rounding.
    """
    rounding = 0.001 / math.sqrt(12)
    return [
        Published(
            table, row, f"at {effect:g}", value, math.hypot(rounding, _share_error(value, runs))
        )
        for effect, value in zip((0.0, 0.1, 0.2), values, strict=False)
    ]


def _share_error(value: float, runs: int) -> float:
    return math.sqrt(value * (1 - value) / runs)


PUBLISHED: list[Published] = [
    *shares("sequential", "fixed", 0.051, 0.474),
    *shares("sequential", "GAVI", 0.018, 0.222),
    *shares("sequential", "mSPRT, effect as seen", 0.048, 0.268),
    *shares("sequential", "group sequential, 10 looks, linear", 0.051, 0.409),
    *shares("sequential", "group sequential, 10 looks, quadratic", 0.050, 0.445),
    *shares("sequential", "group sequential, 10 looks, cubic", 0.051, 0.459),
    *shares("rates", "fixed", 0.050, 0.480, 0.930),
    *shares("rates", "GAVI", 0.018, 0.240, 0.767),
    *shares("rates", "mSPRT, effect as seen", 0.072, 0.310, 0.796),
    *shares("rates", "group sequential, 10 looks, linear", 0.050, 0.420, 0.898),
    *shares("rates", "group sequential, 10 looks, quadratic", 0.049, 0.449, 0.915),
    *shares("rates", "group sequential, 10 looks, cubic", 0.049, 0.460, 0.921),
    Published("trial", "adaptr", "one best", 0.731, 0.014),
    Published("trial", "adaptr", "one best: patients", 1242.3, 16.62),
    Published("trial", "adaptr", "all equal", 0.048, _share_error(0.048, 1000)),
    Published("trial", "adaptr", "all equal: patients", 1749.6, 11.36),
    Published("reference", "two-sided: Pocock, 4 looks", "most", 118.3143, 0.0005),
    Published("reference", "two-sided: Pocock, 4 looks", "null", 115.6074, 0.0005),
    Published("reference", "two-sided: Pocock, 4 looks", "alternative", 69.74805, 0.0005),
]
"""Figures that were read in their sources: Podlozhniy (2024), adaptr 1.4.0, SAS/STAT."""


def distance(figure: Published, recorded: Recorded) -> float:
    """Return how many standard errors ours lies from a published figure."""
    ours = recorded[figure.table][figure.row][figure.column]
    return abs(ours.mean - figure.value) / math.hypot(ours.se, figure.se)


def rounded(estimate: Estimate | None) -> str:
    """Return a figure with as many digits as its standard error allows, and at most four places.

    >>> rounded(Estimate(1.0, 0.00007)), rounded(Estimate(549.93, 2.04))
    ('1.0000 ± 0.0001', '549.9 ± 2.0')
    """
    if estimate is None:
        return ""
    small = 0.0 < estimate.se < 0.001
    return f"{estimate.mean:.4f} ± {estimate.se:.4f}" if small else str(estimate)


def beside(table: str, row: str, column: str, figures: Figures) -> str:
    """Return a figure with the published one in parentheses where it was read in its source."""
    known = [
        figure.value
        for figure in PUBLISHED
        if (figure.table, figure.row, figure.column) == (table, row, column)
    ]
    ours = figures[column]
    text = f"{ours.mean:.2f} %" if table == "reference" and ours.se == 0.0 else rounded(ours)
    return f"{text} (*{known[0]:,g}*)" if known else text


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown; the first two columns are text."""
    rule = ["---", "---", *["---:"] * (len(head) - 2)]
    lines = [head, rule, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


ANY = "at any look, any size"
PLANNED = "at the planned looks and size"
HOLDS: dict[str, str] = {
    "fixed": "at one look, of the planned size",
    "group sequential": PLANNED,
    "GAVI": ANY,
    "mSPRT, effect 0.2": ANY,
    "mSPRT, effect as seen": "not proven: the mixture follows the data",
    "YEAST": "at any look, up to the planned size",
    "Tilt": f"{ANY}; proven",
}
"""Where a method holds its error, by the beginning of its name."""


def holds(name: str) -> str:
    """Return where a method holds its error."""
    return next(words for start, words in HOLDS.items() if name.startswith(start))


def most_units(figures: Figures, planned: int) -> str:
    """Return the most units of a test: as many as planned, unless it has its own horizon."""
    most = figures.get("most")
    return f"{planned if most is None else most.mean:,.0f}"


def summary_table(rows: dict[str, Figures]) -> str:
    """Return a short table of sequential tests at an effect of 0.2."""
    names = {
        "fixed": "fixed",
        "group sequential, 14 looks, linear": "group sequential, 14 looks, linear",
        "group sequential, 14 looks, quadratic": "group sequential, 14 looks, quadratic",
        "YEAST": "YEAST",
        "Tilt_1, effect 0.2, horizon": "bascule, even split with a horizon",
        "Tilt_3, effect 0.2, horizon": "bascule, tilt 3 with a horizon",
    }
    lines = []
    for name, words in names.items():
        figures = rows[name]
        units = figures["units"].mean
        regret = figures["regret"].mean if "regret" in figures else units / 10
        cells = [f"{figures['at 0.2'].mean:.3f}", f"{units:,.0f}", most_units(figures, 1000)]
        lines.append([words, holds(name), *cells, f"{regret:.1f}"])
    return table(["test", "holds its error", "power", "units", "most units", "regret"], lines)


def sequential_table(rows: dict[str, Figures]) -> str:
    """Return the table of sequential tests of normal outcomes."""
    head = ["test", "holds its error", "at 0", "at .1", "at .2", "at .3", "at .4"]
    head += ["units at .2", "most units", "regret at .2", "error, if it runs on"]
    lines = []
    for name, figures in rows.items():
        units = figures["units"]
        regret = figures.get("regret", Estimate(units.mean / 10, units.se / 10))
        line = [name, holds(name)]
        effects = (0.0, 0.1, 0.2, 0.3, 0.4)
        line += [beside("sequential", name, f"at {effect:g}", figures) for effect in effects]
        line += [rounded(units), most_units(figures, 1000), rounded(regret)]
        lines.append([*line, rounded(figures.get("run on"))])
    return table(head, lines)


def rate_table(rows: dict[str, Figures]) -> str:
    """Return the table of sequential tests of 0/1 outcomes."""
    head = ["test", "holds its error", "no lift", "lift 10 %", "lift 20 %"]
    head += ["units at 20 %", "most units", "conversions lost at 20 %"]
    lines = []
    for name, figures in rows.items():
        units = figures["units"]
        regret = figures.get("regret", Estimate(units.mean / 100, units.se / 100))
        words = holds(name)
        if not name.startswith("Tilt") and "not proven" not in words:
            words += ", if sums are normal"
        line = [name, words]
        line += [beside("rates", name, f"at {lift:g}", figures) for lift in (0.0, 0.1, 0.2)]
        lines.append([*line, rounded(units), most_units(figures, 9000), rounded(regret)])
    return table(head, lines)


def best_arm_table(rows: dict[str, Figures]) -> str:
    """Return the table of best arm identification."""
    head = ["problem and rule", "guarantee", "units", "regret", "wrong"]
    lines = []
    for name, figures in rows.items():
        words = "proven, 10 %" if "Tilt" in name else "not at this threshold"
        cells = (rounded(figures[part]) for part in ("units", "regret", "wrong"))
        lines.append([name, words, *cells])
    return table(head, lines)


def trial_table(rows: dict[str, Figures]) -> str:
    """Return the table of the Bayesian adaptive trial."""
    head = ["trial", "holds its error", "power", "patients", "events lost"]
    head += ["named superior: all equal", "patients: all equal", "**two tied for best**"]
    lines = []
    for name, figures in rows.items():
        words = "everywhere; proven" if "Tilt" in name else "nearly, where all arms are equal"
        columns = ["one best", "one best: patients", "events lost", "all equal"]
        columns.append("all equal: patients")
        line = [name, words, *(beside("trial", name, column, figures) for column in columns)]
        lines.append([*line, f"**{figures['two tied for best']}**"])
    return table(head, lines)


def reference_table(rows: dict[str, Figures]) -> str:
    """Return the table of the group-sequential reference."""
    head = ["design", "holds its error", "most", "no effect", "planned effect", "power"]
    lines = []
    for name, figures in rows.items():
        words = f"{ANY}; proven" if "Tilt" in name else PLANNED
        line = [name, words]
        for column in ("most", "null", "alternative"):
            cell = beside("reference", name, column, figures)
            line.append(cell if "%" in cell else f"{cell} %")
        lines.append([*line, rounded(figures.get("power")) or "0.9"])
    return table(head, lines)


ARCHIVE_HOLDS = {
    "fixed, looked at once": "at one look",
    "fixed, looked at every day": "not at all",
    "group sequential": PLANNED,
    "GAVI": ANY,
    "YEAST": HOLDS["YEAST"],
    "bascule": f"{ANY}; proven",
}
"""Where methods hold their error on an archive, by the beginning of their names."""


def archive_table(rows: dict[str, Figures]) -> str:
    """Return the table of the archive."""
    head = ["method", "holds its error", "found", "wrong", "days", "conversions lost"]
    lines = []
    for name, figures in rows.items():
        words = next(words for start, words in ARCHIVE_HOLDS.items() if name.startswith(start))
        if words != "not at all" and not name.startswith("bascule"):
            words += ", if sums are normal"
        columns = ("found", "wrong", "days", "lost")
        lines.append([name, words, *(rounded(figures[column]) for column in columns)])
    return table(head, lines)


def published_table(recorded: Recorded) -> str:
    """Return every published figure beside ours."""
    head = ["table, row", "figure", "published", "ours", "standard errors apart"]
    lines = [
        [
            f"{figure.table}: {figure.row}",
            figure.column,
            f"{figure.value:,g}",
            rounded(recorded[figure.table][figure.row][figure.column]),
            f"{distance(figure, recorded):.1f}",
        ]
        for figure in PUBLISHED
    ]
    return table(head, lines)
