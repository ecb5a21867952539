"""The page of the benchmark: its tables, the published figures beside them, and its picture."""

# ruff: noqa: E501 (a row of a table of the page is one line)

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from bascule.presentation.figures import new_figure, rendered
from bascule.simulation import Estimate

OUT = Path("docs/research/benchmark.md")
PICTURE = Path("docs/images/benchmark.svg")

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


UNCAPPED = ("Tilt_3, effect 0.2, horizon",)
"""Our rows of the first table whose tests may take more units than the others."""


def sequential_table(rows: dict[str, Figures]) -> str:
    """Return the table of sequential tests of normal outcomes."""
    head = ["test", "holds its error", "at 0", "at .1", "at .2", "at .3", "at .4"]
    head += ["units at .2", "regret at .2", "error, if it runs on"]
    lines = []
    for name, figures in rows.items():
        units = figures["units"]
        regret = figures.get("regret", Estimate(units.mean / 10, units.se / 10))
        line = [name, holds(name)]
        effects = (0.0, 0.1, 0.2, 0.3, 0.4)
        line += [beside("sequential", name, f"at {effect:g}", figures) for effect in effects]
        units_cell = rounded(units) + (", not capped at 1,000" if name in UNCAPPED else "")
        lines.append([*line, units_cell, rounded(regret), rounded(figures.get("run on"))])
    return table(head, lines)


def rate_table(rows: dict[str, Figures]) -> str:
    """Return the table of sequential tests of 0/1 outcomes."""
    head = ["test", "holds its error", "no lift", "lift 10 %", "lift 20 %"]
    head += ["units at 20 %", "conversions lost at 20 %"]
    lines = []
    for name, figures in rows.items():
        units = figures["units"]
        regret = figures.get("regret", Estimate(units.mean / 100, units.se / 100))
        words = holds(name)
        if not name.startswith("Tilt") and "not proven" not in words:
            words += ", if sums are normal"
        line = [name, words]
        line += [beside("rates", name, f"at {lift:g}", figures) for lift in (0.0, 0.1, 0.2)]
        units_cell = rounded(units) + (", not capped at 9,000" if "horizon" in name else "")
        lines.append([*line, units_cell, rounded(regret)])
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
        words = "everywhere; proven" if "Tilt" in name else "where all arms are equal"
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


COMMON = "--error 0.05 --sides 1 --runs 20000 --seed 2026"
COMMANDS: dict[str, str] = {
    "Tilt_1, at .2": f"bascule simulate --means 0 0.2 --sigma 1 --rule tilt --tilt 1 --max-units 1000 {COMMON}",
    "Tilt_1, effect 0.2": f"bascule simulate --means 0 0.2 --sigma 1 --rule tilt --tilt 1 --effect 0.2 --max-units 1000 {COMMON}",
    "Tilt_1, effect 0.2, horizon": f"bascule simulate --means 0 0.2 --sigma 1 --rule tilt --tilt 1 --effect 0.2 --power 0.9155 {COMMON}",
    "Tilt_3, effect 0.2, horizon": f"bascule simulate --means 0 0.2 --sigma 1 --rule tilt --tilt 3 --effect 0.2 --power 0.9155 {COMMON}",
}
"""Commands of the product for its own rows of the first table."""


def table_commands(recorded: Recorded) -> str:
    """Return the command of every table, with its first row as an example."""
    return "\n".join(
        f'python -m bench.benchmark {name:<10} "{next(iter(rows))}"'
        for name, rows in recorded.items()
    )


def page(recorded: Recorded) -> str:
    """Return the page."""
    from bench.benchmark import HORIZON_POWER, SLOW, TABLES

    runs = {name: entry.runs for name, entry in TABLES.items()}
    sequential, rates = recorded["sequential"], recorded["rates"]
    trial, arms = recorded["trial"], recorded["best-arm"]
    flat, horizon = sequential["YEAST"], sequential["Tilt_1, effect 0.2, horizon"]
    tilted = sequential["Tilt_3, effect 0.2, horizon"]
    farthest = max(distance(figure, recorded) for figure in PUBLISHED)
    commands = "\n".join(f"{line}  # {name}" for name, line in COMMANDS.items())
    return f"""# Benchmark on published problems

```{{index}} ! benchmark, ! group-sequential test, ! mSPRT, ! GAVI, ! YEAST, ! track-and-stop, ! adaptr
```

*`make benchmark` measures this page anew in less than ten minutes on two cores. Seeds are fixed; ± is one standard error.*

Other pages measure bascule on problems of our choice. This one takes problems that others have published, with their
settings, and places all methods beside each other: what they cost, and where they hold their error. The last
problem is not published: it is [an archive of tests](#a-simulated-archive-of-tests) that is simulated in their style. The rules of others
were written from their papers (`bascule.research.rivals`). {len(PUBLISHED)} figures were read in their sources and
repeated; the one that is farthest off is {farthest:.2f} standard errors away ([all of them](#published-figures-repeated)).
In the tables a published figure stands *(in parentheses)* beside ours; figures without one were not published, or could
not be read in their source.

![Power against mean units for an effect of 0.2](../images/benchmark.svg)

## What it shows

- **Everywhere, or at one point.** Tilted blocks, GAVI and mSPRT with a stated effect hold their error at any look and any
  size. Group-sequential tests hold it at the planned looks and the planned size, YEAST up to the planned size, a fixed test at
  one look: if the test runs on, the error of the fixed test grows to {100 * sequential["fixed"]["run on"].mean:.1f} %, that of the
  cubic spending to {100 * sequential["group sequential, 10 looks, cubic"]["run on"].mean:.1f} % and that of YEAST to
  {100 * flat["run on"].mean:.1f} %. Our tests with a horizon stop counting evidence there, and
  [nothing changes](horizon.md#past-the-horizon). A Bayesian trial that was calibrated where all arms are equal nearly
  holds its error there ({100 * trial["adaptr"]["all equal"].mean:.1f} %, published 4.8 %), but with two arms tied for best it names a superior one in {100 * trial["adaptr"]["two tied for best"].mean:.0f} % of trials.
- **Best at a known size:** group-sequential tests with linear spending decide soonest
  ({sequential["group sequential, 14 looks, linear"]["units"].mean:.0f} units with 14 looks), at a power of
  {sequential["group sequential, 14 looks, linear"]["at 0.2"].mean:.3f}. With a horizon ours takes {horizon["units"].mean:.0f} at
  {horizon["at 0.2"].mean:.3f}, proven and at any look; that is what YEAST takes ({flat["units"].mean:.0f} at
  {flat["at 0.2"].mean:.3f}), whose boundary is the same flat one. We found ours independently of it; theirs was published first.
- **Least regret:** {tilted["regret"].mean:.1f} with Tilt_3 and a horizon, at a power of {tilted["at 0.2"].mean:.3f}. Of the even splits, ours with the same
  horizon loses {horizon["regret"].mean:.1f} at {horizon["at 0.2"].mean:.3f}, the group-sequential test with 14 looks and linear spending {sequential["group sequential, 14 looks, linear"]["units"].mean / 10:.1f} at {sequential["group sequential, 14 looks, linear"]["at 0.2"].mean:.3f}, and
  the fixed test 100. With 0/1 outcomes mSPRT with the effect as seen loses less than Tilt_3 ({rates["mSPRT, effect as seen"]["units"].mean / 100:.1f} against {rates["Tilt_3, effect 0.02, horizon"]["regret"].mean:.1f}), but
  its error is {100 * rates["mSPRT, effect as seen"]["at 0"].mean:.1f} %.
- **Where ours is not the best.** *The uninformed rule at a known size*: Tilt_1 finds the effect in
  {100 * sequential["Tilt_1"]["at 0.2"].mean:.0f} % of tests, GAVI in {100 * sequential["GAVI"]["at 0.2"].mean:.0f} %, because it is told
  neither size nor effect, and GAVI is told the size. *Power at the planned size*: the fixed test has
  {sequential["fixed"]["at 0.2"].mean:.3f}, and a test that is valid at any time can match it at its last look (Koning and van Meer);
  neither a flat boundary nor ours does. *Three and more arms*: every pair is compared at its part of the error, so that
  it holds wherever the arms lie. With a fixed split and one look the leader needs no correction for the number of arms (Hung and
  Fithian); we know of no such proof for tests that adapt and stop. Track-and-stop names the best of five arms after {arms["five arms: track-and-stop"]["units"].mean:,.0f}
  units at a regret of {arms["five arms: track-and-stop"]["regret"].mean:.0f}, Tilt_3 after {arms["five arms: Tilt_3"]["units"].mean:,.0f} at {arms["five arms: Tilt_3"]["regret"].mean:.0f}, and Tilt_3 that is told the gap after {arms["five arms: Tilt_3, effect 0.09"]["units"].mean:,.0f} at {arms["five arms: Tilt_3, effect 0.09"]["regret"].mean:.0f};
  of four arms after {arms["four arms: track-and-stop"]["units"].mean:,.0f} at {arms["four arms: track-and-stop"]["regret"].mean:.0f}, {arms["four arms: Tilt_3"]["units"].mean:,.0f} at {arms["four arms: Tilt_3"]["regret"].mean:.0f}, and {arms["four arms: Tilt_3, effect 0.05"]["units"].mean:,.0f} at {arms["four arms: Tilt_3, effect 0.05"]["regret"].mean:.0f}. The threshold of
  track-and-stop is not proven there. adaptr has a power of
  {trial["adaptr"]["one best"].mean:.2f} at 2,000 patients where Tilt_1 has {trial["Tilt_1, effect 0.05"]["one best"].mean:.2f} and Tilt_3 {trial["Tilt_3, effect 0.05"]["one best"].mean:.2f}.

## Sequential tests at a known size

Podlozhniy (2024), who repeats Spotify's comparison (Schultzberg and Ankargren 2023): 500 pairs, outcomes with a known spread of 1,
one-sided at 5 %; {runs["sequential"]:,} runs a row. Columns *at* are the share of tests with a positive answer at an effect of 0 (the error) to 0.4; units are of 1,000, and
the regret is the effect times the units of the worse arm. *If it runs on* is the error of tests that are not stopped at 500 pairs and go on
to 700, with the last boundary and at the same distance between looks.

{sequential_table(sequential)}
Podlozhniy's mSPRT takes the mixture from the effect that is seen, which no proof covers; with 0/1 outcomes its error is {100 * rates["mSPRT, effect as seen"]["at 0"].mean:.1f} %. A horizon counts
information. Ours are planned with a power of {HORIZON_POWER}, which puts that of an even split at 1,000 units; an uneven split needs
more units for the same.

### 0/1 outcomes

The same with a conversion rate of 10 %, 4,500 units an arm and lifts of 10 and 20 %; {runs["rates"]:,} runs a row. The other tests are given the variance of an
outcome and treat sums of outcomes as normal. Ours do not know the variance, assume no distribution, and are proven.

{rate_table(rates)}
## Fixed-confidence best arm

Garivier and Kaufmann (2016): 0/1 outcomes with means .5, .45, .43, .4 and .3, .21, .2, .19, .18, at an error of 10 %; {runs["best-arm"]:,} runs
a row, {runs["best-arm"] // SLOW:,} of track-and-stop. Their rules stop at
log((log t + 1)/δ), the threshold of their experiments, which is below that of their proof; ours compare every pair at its part of
the error, by [bets](evidence.md) whose error is proven. The text of their table could not be
read where this page was made, so its figures are left out: these rows repeat their rules, and are not compared with their figures.

{best_arm_table(arms)}
## A Bayesian adaptive trial

adaptr 1.4.0, README: three arms, an undesirable 0/1 outcome, looks at 300 to 2,000 patients, response-adaptive randomisation
with a floor of 20 %, superiority at a posterior probability of .981, calibrated to 5 % where all arms are equal; {runs["trial"]:,} runs a row. *Power* is with rates of .25,
.20 and .30; *two tied for best* has rates of .20, .20 and .30, where no arm is superior. Read the power together with the error
in the last column: the higher power of adaptr comes with an error of {100 * trial["adaptr"]["two tied for best"].mean:.0f} % there.

{trial_table(trial)}
Patients are those randomised when a trial ends. Ours end at 2,000 patients too.

## Group-sequential reference

SAS/STAT, PROC SEQDESIGN, example 3 (Pocock, four stages, two-sided 5 %, power .9), O'Brien-Fleming by Lan and DeMets with ten looks, and
ours, in percent of the units of the fixed test. Figures of others are computed by numerical integration, ours are simulated with {runs["reference"]:,} runs.

{reference_table(recorded["reference"])}
## A simulated archive of tests

Archives of real tests are not part of this project, and the files were not at hand when this page was made. So this table has a
*simulated* archive in their style: one file with the visitors and conversions of each test, day and arm. It has {runs["archive"]} tests of 28 days, with 400
visitors per arm and day and a rate of 10 %. The lift is 0 in two of five tests, and -10, 10 or 20 % in the others. Tests are two-sided at 5 %.
*Found* is the share of tests with a lift that named the better arm. *Wrong* is the share of tests without a lift that named any arm. Days and
conversions lost are averages over the tests with a lift.

{archive_table(recorded["archive"])}
`bascule analyze` is told neither effect nor size, proves its error for 0/1 outcomes at any look, and finds least here; a test that is planned
with bascule has a horizon and the power of the first table.

With one of two public files, `bench.public_tests` prints what each test in it would have decided, and when, by the functions of
`bascule analyze --test`:

```sh
python -m bench.public_tests upworthy upworthy-archive.csv   # osf.io/jd64p
python -m bench.public_tests asos asos_digital_experiments.parquet   # osf.io/64jsb
```

[Three real trials](../using/real-trials.md) are analysed from their raw files.

## The paper's own figures

[Regenerate the paper](regenerate-the-paper.md) has the figures and claims of Degenne et al. (2019), with a verdict for each.

## Published figures, repeated

{published_table(recorded)}
Standard errors apart: the difference over the joint standard error of both, with that of rounding. The tests of others in a table see
the same outcomes, so that the figures of one column are too high or too low together.

## Commands

`python -m bench.benchmark TABLE "ROW"` prints any row with the figures of this page, by its name in the first column, and the
whole table without a row. The tables in their order, each with its first row:

```sh
{table_commands(recorded)}
```

Our rows of the first table, by the product itself:

```sh
{commands}
```

## Sources

- A. Kurennoy, M. Dodin, T. Gurbanov, A. Peleteiro Ramallo, *YEAST: Yet Another Sequential Test*, arXiv 2406.16523
- N. W. Koning, S. van Meer, *Anytime validity is free: inducing sequential tests*, arXiv 2501.03982
- K. Hung, W. Fithian, *Rank verification for exponential families*, arXiv 1610.03944
- A. Garivier, E. Kaufmann, *Optimal best arm identification with fixed confidence*, COLT 2016
- R. Johari, P. Koomen, L. Pekelis, D. Walsh, *Always valid inference: continuous monitoring of A/B tests*, Operations Research 2022 (mSPRT)
- M. Lindon, D. W. Ham, M. Tingley, I. Bojinov, arXiv 2210.08589 (mSPRT as it is run here)
- S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon, *Time-uniform, nonparametric, nonasymptotic confidence sequences*, Annals of Statistics 2021 (GAVI)
- I. Waudby-Smith, A. Ramdas, *Estimating means of bounded random variables by betting*, JRSS B 2024 (the kind of bets by which ours judges 0/1 outcomes)
- C. Qin, D. Russo, *Optimizing adaptive experiments: a unified approach to regret minimization and best-arm identification*, arXiv 2402.10592 (the same trade-off as here, in the limit of many units; not played)
- M. Schultzberg, S. Ankargren, [Choosing a sequential testing framework](https://engineering.atspotify.com/2023/03/choosing-sequential-testing-framework-comparisons-and-discussions/), Spotify 2023
- N. Podlozhniy, [Sequential testing guide](https://npodlozhniy.github.io/posts/sequential-testing), 2024
- A. Granholm, A. K. G. Jensen, T. Lange, B. S. Kaas-Hansen, *adaptr*, JOSS 2022, and the [README of its version 1.4.0](https://github.com/INCEPTdk/adaptr)
- [SAS/STAT, PROC SEQDESIGN, example 3](https://support.sas.com/documentation/cdl/en/statug/68162/HTML/default/statug_seqdesign_examples03.htm)
"""


def draw(recorded: Recorded) -> None:
    """Draw power against mean units for an effect of 0.2."""
    figure, (axis,) = new_figure(width=7.2, height=4.4)
    for name, figures in recorded["sequential"].items():
        if "quadratic" in name or "10 looks" in name:
            continue
        words = holds(name)
        colour = "C0" if "Tilt" in name else "C2" if words == ANY else "C3"
        x, y = figures["units"].mean, figures["at 0.2"].mean
        axis.plot([x], [y], "o" if colour != "C3" else "s", color=colour)
        below = name.startswith(("Tilt_1, effect 0.2, h", "mSPRT, effect 0.2"))
        left = name == "fixed"
        offset = 16 if name == "YEAST" else -12 if below else 4
        axis.annotate(
            name.replace("group sequential, ", ""),
            (x, y),
            (-6 if left else -20 if name == "YEAST" else 6, offset),
            textcoords="offset points",
            ha="right" if left else "left",
            fontsize=8,
            color=colour,
        )
    axis.plot([], [], "o", color="C0", label="bascule: any look, any size (proven)")
    axis.plot([], [], "o", color="C2", label="any look, any size")
    axis.plot([], [], "s", color="C3", label="planned looks or size only, or not proven")
    axis.set(xlabel="mean units, of 1,000", ylabel="power", xlim=(520, 1020), ylim=(0.6, 0.97))
    axis.legend(loc="lower right", frameon=False, fontsize=8)
    PICTURE.write_bytes(rendered(figure, "svg"))


def write_page(recorded: Recorded) -> None:
    """Write the page and its picture."""
    OUT.write_text(page(recorded), encoding="utf-8")
    draw(recorded)
