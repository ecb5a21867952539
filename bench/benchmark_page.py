"""The page of the benchmark and its picture; `bench.benchmark_tables` has its tables."""

# ruff: noqa: E501 (a row of a table of the page is one line)

from __future__ import annotations

from pathlib import Path

from bascule.presentation.figures import new_figure, rendered
from bench.benchmark_tables import (
    ANY,
    PUBLISHED,
    Recorded,
    archive_table,
    best_arm_table,
    distance,
    holds,
    published_table,
    rate_table,
    reference_table,
    sequential_table,
    summary_table,
    trial_table,
)

OUT = Path("docs/research/benchmark.md")
PICTURE = Path("docs/images/benchmark.svg")

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


def broken(command: str) -> str:
    """Return a command on two lines."""
    return command.replace(f" {COMMON}", f" \\\n    {COMMON}")


def page(recorded: Recorded) -> str:
    """Return the page."""
    from bench.benchmark import HORIZON_POWER, TABLES
    from bench.benchmark_arms import SLOW

    runs = {name: entry.runs for name, entry in TABLES.items()}
    sequential, rates = recorded["sequential"], recorded["rates"]
    trial, arms = recorded["trial"], recorded["best-arm"]
    tilted, seen = sequential["Tilt_3, effect 0.2, horizon"], rates["mSPRT, effect as seen"]
    adaptr, spending = trial["adaptr"], "group sequential, 10 looks, "
    quadratic = sequential["group sequential, 14 looks, quadratic"]
    horizon = sequential["Tilt_1, effect 0.2, horizon"]
    run_on = {
        name.removeprefix(spending): 100 * figures["run on"].mean
        for name, figures in sequential.items()
        if "run on" in figures
    }
    farthest = max(distance(figure, recorded) for figure in PUBLISHED)
    commands = "\n".join(f"# {name}\n{broken(line)}" for name, line in COMMANDS.items())
    return f"""# Benchmark on published problems

<!-- index: ! benchmark, ! group-sequential test, ! mSPRT, ! GAVI, ! YEAST, ! track-and-stop, ! adaptr -->

Other pages measure bascule on problems of our choice. This one takes problems that others have published, with their
settings, and shows what each method costs and where it holds its error. The last problem is ours: a [simulated archive
of tests](#a-simulated-archive-of-tests).

We implemented the methods of others from their papers (`bascule.research.rivals`) and reproduced {len(PUBLISHED)} published
figures; the largest deviation is {farthest:.2f} standard errors ([all of them](#published-figures-repeated)). In the tables
a published figure stands *(in parentheses)* beside ours; a figure without one was not published, or could not be read
in its source. ± is one standard error. That of a share is computed after adding two successes and two failures
(Agresti and Coull), so that it is never 0; the share itself is as observed. Thompson sampling, top-two rules and a mixed allocation are compared in
[Rules of other tools](peers.md).

![Power against mean units for an effect of 0.2](../images/benchmark.svg)

*Tilt_k* is bascule's rule, [tilted blocks](tilted-blocks.md) in which the leader gets at most k units for each unit of
another arm; Tilt_1 is an even split with early stopping.

## What it shows

### Who holds the error, and where

All tests in this table have a nominal error of 5 %, which is one-sided for the tests of two arms.

| test | holds its error | error outside that |
| --- | --- | --- |
| tilted blocks | at any look, any sample size, for 0/1, bounded and known-spread outcomes | |
| GAVI, mSPRT with a stated effect | at any look, any sample size, if sums are normal | |
| group sequential | at the planned looks and size | {run_on["linear"]:.1f} to {run_on["cubic"]:.1f} %, if it goes on to 700 pairs instead of 500 |
| YEAST | at any look, up to the planned size | {run_on["YEAST"]:.1f} %, if it goes on |
| fixed | at one look, of the planned size | {run_on["fixed"]:.1f} %, if it goes on |
| mSPRT with the effect estimated from the data | not proven | {100 * seen["at 0"].mean:.1f} % with 0/1 outcomes |
| adaptr, calibrated at three equal arms | nearly, at three equal arms ({100 * adaptr["all equal"].mean:.1f} %) | {100 * adaptr["two tied for best"].mean:.0f} %, if two arms are tied for best |

A bascule test with a horizon may also run on: it [stops counting evidence](horizon.md#past-the-horizon) at the horizon,
so its error does not grow.

### What a decision costs at a known size

The tests are planned for 500 pairs with normal outcomes, one-sided at 5 %; the true effect is 0.2 standard deviations.
*Regret* is the effect times the units of the worse arm ([all figures](#sequential-tests-at-a-known-size), with their standard errors):

{summary_table(sequential)}
- **Soonest:** group-sequential tests, which look at planned times only. With linear spending their power is lower than
  that of our even split ({sequential["group sequential, 14 looks, linear"]["at 0.2"].mean:.3f} against {horizon["at 0.2"].mean:.3f}); with quadratic spending it is the same ({quadratic["at 0.2"].mean:.3f}).
- **Any look:** our even split with a horizon takes as many units as YEAST. YEAST uses a flat boundary; we found
  the same one independently, but later. bascule does not use this boundary itself, but a [bet that
  follows it](horizon.md#bets-that-follow-the-boundary), which is nearly as sharp and whose error is proven.
- **Least regret:** tilt 3. It takes more units in all, because the split is uneven: {tilted["units"].mean:,.0f} on average, and at most {tilted["most"].mean:,.0f} in any of the {runs["sequential"]:,} runs
  at each effect. With 0/1 outcomes, mSPRT with the effect estimated from the data loses slightly less
  ({seen["units"].mean / 100:.1f} against {rates["Tilt_3, effect 0.02, horizon"]["regret"].mean:.1f} conversions), but finds the lift less often and does not hold its error.

### Where bascule is not the best

- **Planned looks.** A group-sequential test with quadratic spending and 14 looks has the power of our even split ({quadratic["at 0.2"].mean:.3f}) with
  {100 - 100 * quadratic["units"].mean / horizon["units"].mean:.0f} % fewer units. These are the price of looking at any time.
- **Tests without a planned effect.** Tilt_1 without a planned effect and without a horizon finds the difference in {100 * sequential["Tilt_1"]["at 0.2"].mean:.0f} % of tests,
  GAVI in {100 * sequential["GAVI"]["at 0.2"].mean:.0f} %: GAVI finds more because it is tuned to the sample size; its error is controlled at every sample size.
- **Power at the planned sample size.** The fixed test has {sequential["fixed"]["at 0.2"].mean:.3f}, and in principle a test that is valid at
  any time can reach the same power at its last look (Koning and van Meer). Neither YEAST nor bascule does.
- **Three arms and more.** bascule divides the error among the pairs of arms, so that it holds for any means. That costs
  units:
  - Track-and-stop names the best of [five arms](#fixed-confidence-best-arm) after {arms["five arms: track-and-stop"]["units"].mean:,.0f} units with a regret of {arms["five arms: track-and-stop"]["regret"].mean:.0f}. Tilt_3 takes {arms["five arms: Tilt_3"]["units"].mean:,.0f}
    units with a regret of {arms["five arms: Tilt_3"]["regret"].mean:.0f}; if the gap is given, {arms["five arms: Tilt_3, effect 0.09"]["units"].mean:,.0f} and {arms["five arms: Tilt_3, effect 0.09"]["regret"].mean:.0f}. The threshold of track-and-stop is not proven.
  - At 2,000 patients [adaptr](#a-bayesian-adaptive-trial) has a power of {adaptr["one best"].mean:.2f}, Tilt_1 and Tilt_3 with a given effect {trial["Tilt_1, effect 0.05"]["one best"].mean:.2f} and {trial["Tilt_3, effect 0.05"]["one best"].mean:.2f};
    but its error is {100 * adaptr["two tied for best"].mean:.0f} % if two arms are tied for best.
  - With a fixed split and one look the leader needs no correction for the number of arms (Hung and Fithian). We know of
    no such proof for tests that adapt and stop.

## Sequential tests at a known size

The problem is that of Podlozhniy (2024), who repeats the comparison of Spotify (Schultzberg and Ankargren 2023): 500 pairs,
a known standard deviation of 1, one-sided at 5 %. There are {runs["sequential"]:,} runs for each row and effect.

- *at 0* to *at .4* are the shares of tests with a positive answer at these effects; *at 0* is the error.
- *units* and *regret* (the effect times the units of the worse arm) are means until a test ends, decided or not; what an
  undecided test loses afterwards is not counted.
- *most units* is 1,000 for tests that are stopped at 1,000 units. For bascule with a horizon it is the longest of all runs: a
  horizon counts information, and an uneven split needs more units for the same information.
- *error, if it runs on*: tests that are undecided at 500 pairs go on to 700. The further looks are as far apart as the
  planned ones, and use the boundary of the last planned look. The figure is their share of wrong answers at effect 0 (not measured for 14 looks).

The rows of bascule with a horizon have a planned power of {HORIZON_POWER}, which puts the horizon of an even split at 1,002
units: 1,000 and one more block.

{sequential_table(sequential)}
Podlozhniy's mSPRT, *effect as seen*, sets its mixture by the effect that is estimated from the data, which no proof covers.

### 0/1 outcomes

The same comparison with a conversion rate of 10 %, 4,500 units for each arm, lifts of 10 and 20 %, and {runs["rates"]:,} runs
for each row and effect. The tests of others are given the variance of an outcome and treat sums of outcomes as normal.
The rows of bascule assume neither a distribution nor a variance, and their error is proven. Those with an effect start
from the rate of 10 %; their error holds even if that rate is wrong. Their horizon counts information that depends on
the outcomes, so the number of units at which it ends varies, and may exceed the 9,000.

{rate_table(rates)}
## Fixed-confidence best arm

The two problems are those of Garivier and Kaufmann (2016), with 0/1 outcomes and an error of 10 %: four arms with means of
.5, .45, .43 and .4, and five arms with means of .3, .21, .2, .19 and .18. There are {runs["best-arm"]:,} runs for each row, and {runs["best-arm"] // SLOW:,} for track-and-stop. Their rules stop when the evidence exceeds log((log t + 1)/δ), with t units so far and an error of δ.
This is the threshold of their experiments; the one in their proof is higher. bascule divides the error among the pairs of
arms, with [bets](evidence.md) whose error is proven. Their published figures are left out, because we could not read them
in the source. *Regret* adds up the gaps of the arms times their units.

{best_arm_table(arms)}
## A Bayesian adaptive trial

The problem is that of the README of adaptr 1.4.0: three arms, an undesirable 0/1 outcome, and looks at 300 patients and
after every further 100 up to 2,000. At each look except the last, 100 further patients have joined whose outcomes are not
yet known. There are {runs["trial"]:,} runs for each row. adaptr randomises response-adaptively with a floor of 20 %, and declares
superiority at a posterior probability of .981, which is calibrated to an error of 5 % where all arms are equal. It drops
arms that are unlikely to be best, and also ends for equivalence (rates within .05 with a probability of .9).

*Power* is with rates of .25, .20 and .30; *two tied for best* has rates of .20, .20 and .30, where no arm is superior.
Read the power together with the error in the last column: the higher power of adaptr comes with an error of {100 * trial["adaptr"]["two tied for best"].mean:.0f} % when
two arms are tied for best. *Events lost*, for the rates of the column *power*, are those that would not have happened if
all patients had got the best arm.

{trial_table(trial)}
*Patients* are those randomised by the end of a trial, at most 2,000 in every row.

## Group-sequential reference

The columns *most*, *no effect* and *planned effect* are numbers of units, in percent of those of a fixed test with the same
number of sides, an error of 5 % and a power of 0.9; *power* is a probability. The designs
are example 3 of SAS/STAT PROC SEQDESIGN (Pocock, four stages, power .9), O'Brien-Fleming by Lan and DeMets with ten
looks, and those of bascule. Figures of others are computed by numerical integration, ours are simulated with {runs["reference"]:,} runs.

{reference_table(recorded["reference"])}
## A simulated archive of tests

We do not distribute archives of real tests, so this table uses a *simulated* one of the same form: one file with the visitors and conversions of each test, day and arm. It has {runs["archive"]} tests of 28 days, with 400
visitors per arm and day and a rate of 10 %. The lift is 0 in two of five tests, and -10, 10 or 20 % in the others. Tests are two-sided at 5 %.
*Found* is, among the tests with a lift, the share that named the better arm; *wrong* is, among those without a lift, the share that named any arm. Days and
conversions lost are averages over the tests with a lift.

{archive_table(recorded["archive"])}
`bascule analyze` finds the fewest lifts here, because it knows neither the effect nor the sample size, and its error is
proven for 0/1 outcomes at any look. A test that was planned with bascule has the power that it was planned for.

`bench.public_tests` reads two public archives, once you have downloaded a file: it prints what each test would have
decided, and when, by the functions of `bascule analyze --test`:

```sh
python -m bench.public_tests upworthy upworthy-archive.csv   # osf.io/jd64p
python -m bench.public_tests asos asos_digital_experiments.parquet   # osf.io/64jsb
```

[Three real trials](../using/real-trials.md) are analysed from their raw files.

## The paper's own figures

[Regenerate the paper](regenerate-the-paper.md) has the figures and claims of Degenne et al. (2019), with a verdict for each.

## Published figures, repeated

{published_table(recorded)}
*rates* is the table of 0/1 outcomes, where *at 0.1* is a lift of 10 %; *one best* is the power in the trial; *null* and *alternative* are
the columns *no effect* and *planned effect*. *Standard errors apart* is the difference divided by the joint standard error,
rounding included. We assume that Podlozhniy's shares come from 100,000 runs; those of adaptr come from 1,000. All methods of
others in a table are run on the same simulated outcomes, so deviations in a column are correlated: those at a lift of 10 %
are largely one deviation, seen several times.

## Commands

`make benchmark` recomputes every figure of this page in less than ten minutes on two cores. Seeds are fixed: with the versions in
`constraints.txt` every figure is reproduced exactly. Other versions of NumPy draw some binomial numbers differently, which
changes the row of adaptr and the archive within their errors.

`python -m bench.benchmark TABLE "ROW"` prints one row of a table of this page, by its name in the first column, or the whole table
if the row is left out. The tables in their order, each with its first row:

```sh
{table_commands(recorded)}
```

These commands reproduce our rows of *Sequential tests at a known size*, at an effect of .2, with the command line:

```sh
{commands}
```

## Sources

- A. Kurennoy, M. Dodin, T. Gurbanov, A. Peleteiro Ramallo, *YEAST: Yet Another Sequential Test*, arXiv 2406.16523
- N. W. Koning, S. van Meer, *Anytime validity is free: inducing sequential tests*, arXiv 2501.03982
- K. Hung, W. Fithian, *Rank verification for exponential families*, arXiv 1610.03944
- A. Garivier, E. Kaufmann, *Optimal best arm identification with fixed confidence*, COLT 2016
- R. Johari, P. Koomen, L. Pekelis, D. Walsh, *Always valid inference: continuous monitoring of A/B tests*, Operations Research 2022 (mSPRT)
- M. Lindon, D. W. Ham, M. Tingley, I. Bojinov, *Anytime-valid linear models and regression adjusted causal inference in randomized experiments*, arXiv 2210.08589 (mSPRT as it is run here)
- S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon, *Time-uniform, nonparametric, nonasymptotic confidence sequences*, Annals of Statistics 2021 (GAVI)
- I. Waudby-Smith, A. Ramdas, *Estimating means of bounded random variables by betting*, JRSS B 2024 (the kind of bets by which ours judges 0/1 outcomes)
- C. Qin, D. Russo, *Optimizing adaptive experiments: a unified approach to regret minimization and best-arm identification*, arXiv 2402.10592 (the same trade-off as here, in the limit of many units; not included in the tables)
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
