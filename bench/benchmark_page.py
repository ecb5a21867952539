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
settings, and shows what each method costs and where it holds its error. The last problem is not published: it is
[an archive of tests](#a-simulated-archive-of-tests) that is simulated in the style of real ones.

The rules of others were written from their papers (`bascule.research.rivals`). {len(PUBLISHED)} published figures were read in
their sources and repeated; the one that is farthest off is {farthest:.2f} standard errors away ([all of
them](#published-figures-repeated)). In the tables a published figure stands *(in parentheses)* beside ours; a figure
without one was not published, or could not be read in its source. ± is one standard error; that of a share is
computed with two runs of each result added (Agresti and Coull), so that it is never 0. Thompson sampling, top-two rules and a mixed allocation are compared in
[Rules of other tools](peers.md).

![Power against mean units for an effect of 0.2](../images/benchmark.svg)

*Tilt_k* is [tilted blocks](tilted-blocks.md) in which the leader gets at most k units of a block for one of every other arm; Tilt_1
is an even split with early stopping.

## What it shows

### Who holds the error, and where

The tests of this table are run at 5 %.

| test | holds its error | error elsewhere |
| --- | --- | --- |
| tilted blocks | at any look, any sample size, for 0/1, bounded and known-spread outcomes | |
| GAVI, mSPRT with a stated effect | at any look, any sample size, if sums are normal | |
| group sequential | at the planned looks and size | {run_on["linear"]:.1f} to {run_on["cubic"]:.1f} %, if it goes on to 700 pairs instead of 500 |
| YEAST | at any look, up to the planned size | {run_on["YEAST"]:.1f} %, if it goes on |
| fixed | at one look, of the planned size | {run_on["fixed"]:.1f} %, if it goes on |
| mSPRT with the effect as seen | not proven | {100 * seen["at 0"].mean:.1f} % with 0/1 outcomes |
| adaptr, calibrated at three equal arms | nearly, at three equal arms ({100 * adaptr["all equal"].mean:.1f} %) | {100 * adaptr["two tied for best"].mean:.0f} %, if two arms are tied for best |

A test of ours with a horizon may go on, too: it [stops counting evidence](horizon.md#past-the-horizon) there, so its
error stays.

### What a decision costs at a known size

500 pairs with normal outcomes are planned, one-sided at 5 %, the effect is 0.2 standard deviations, and *regret* is the effect
times the units of the worse arm ([all figures](#sequential-tests-at-a-known-size), with their standard errors):

{summary_table(sequential)}
- **Soonest:** group-sequential tests, which look at planned times only: linear spending at a lower power, quadratic spending
  at the same power as ours.
- **Any look:** our even split with a horizon takes as many units as YEAST. YEAST has a flat boundary, which we found
  independently and later; ours is a [bet that follows this boundary](horizon.md#bets-that-follow-the-boundary), nearly as sharp and
  proven.
- **Least regret:** tilt 3. It takes more units, because the worse arm gets fewer of them: at most {tilted["most"].mean:,.0f} in {runs["sequential"]:,} runs at each effect. With 0/1 outcomes
  mSPRT with the effect as seen loses a little less until its end ({seen["units"].mean / 100:.1f} against {rates["Tilt_3, effect 0.02, horizon"]["regret"].mean:.1f} conversions), but it finds the lift less often, and does not hold its error.

### Where bascule is not the best

- **Planned looks.** A group-sequential test with quadratic spending and 14 looks has the power of our even split ({quadratic["at 0.2"].mean:.3f}) with
  {100 - 100 * quadratic["units"].mean / horizon["units"].mean:.0f} % fewer units. That is the price of looking at any time.
- **A sample size that the test does not know.** Tilt_1 without effect and horizon finds the effect in {100 * sequential["Tilt_1"]["at 0.2"].mean:.0f} % of tests,
  GAVI in {100 * sequential["GAVI"]["at 0.2"].mean:.0f} %: GAVI is tuned to the sample size; its error holds at any.
- **Power at the planned sample size.** The fixed test has {sequential["fixed"]["at 0.2"].mean:.3f}, and a test that is valid at any time can have as much at its
  last look (Koning and van Meer). Neither YEAST nor ours reaches it.
- **Three arms and more.** Ours compares every pair at its share of the error, so that the error holds wherever the means
  lie. That costs units:
  - Track-and-stop names the best of [five arms](#fixed-confidence-best-arm) after {arms["five arms: track-and-stop"]["units"].mean:,.0f} units with a regret of {arms["five arms: track-and-stop"]["regret"].mean:.0f}. Tilt_3 takes {arms["five arms: Tilt_3"]["units"].mean:,.0f}
    and {arms["five arms: Tilt_3"]["regret"].mean:.0f}, and {arms["five arms: Tilt_3, effect 0.09"]["units"].mean:,.0f} and {arms["five arms: Tilt_3, effect 0.09"]["regret"].mean:.0f} if it knows the gap. The threshold of track-and-stop is not proven.
  - [adaptr](#a-bayesian-adaptive-trial) has a power of {adaptr["one best"].mean:.2f} at 2,000 patients; Tilt_1 and Tilt_3 with a known effect {trial["Tilt_1, effect 0.05"]["one best"].mean:.2f} and {trial["Tilt_3, effect 0.05"]["one best"].mean:.2f}. The error of adaptr with two arms tied for best
    is the {100 * adaptr["two tied for best"].mean:.0f} % above.
  - With a fixed split and one look the leader needs no correction for the number of arms (Hung and Fithian). We know of
    no such proof for tests that adapt and stop.

## Sequential tests at a known size

Podlozhniy (2024), who repeats Spotify's comparison (Schultzberg and Ankargren 2023): 500 pairs, outcomes with a known spread of 1,
one-sided at 5 %; {runs["sequential"]:,} runs for each row and effect.

- *at 0* to *at .4* are the shares of tests with a positive answer at these effects; *at 0* is the error.
- *units* and *regret* (the effect times the units of the worse arm) are means until a test ends, decided or not; what an
  undecided test loses afterwards is not counted.
- *most units* is 1,000 for tests that are stopped there. For ours with a horizon it is what the longest of all runs took: a
  horizon counts information, and an uneven split needs more units for the same information.
- *error, if it runs on* is the share of wrong answers at effect 0 if tests that are undecided at 500 pairs go on to 700, with looks as far
  apart as before and the boundary of the last planned look (not measured for 14 looks).

Ours with a horizon are planned with a power of {HORIZON_POWER}, which puts the horizon of an even split at 1,000 units and a
block.

{sequential_table(sequential)}
Podlozhniy's mSPRT takes the mixture from the effect that is seen, which no proof covers.

### 0/1 outcomes

The same with a conversion rate of 10 %, 4,500 units an arm and lifts of 10 and 20 %; {runs["rates"]:,} runs for each row and effect. The other tests are given the variance of an
outcome and treat sums of outcomes as normal. Ours assume no distribution and no variance, and are proven. Those with an effect are
given the rate of 10 %, which sets their bets at the start; their error does not depend on it. Their horizon counts information
that depends on the outcomes, so the units at which it ends vary, and may exceed the 9,000.

{rate_table(rates)}
## Fixed-confidence best arm

Garivier and Kaufmann (2016): 0/1 outcomes with means .5, .45, .43, .4 and .3, .21, .2, .19, .18, at an error of 10 %; {runs["best-arm"]:,} runs
a row, {runs["best-arm"] // SLOW:,} of track-and-stop. Their rules stop at
log((log t + 1)/δ), the threshold of their experiments, which is below that of their proof; ours compare every pair at its share
of the error, by [bets](evidence.md) whose error is proven. Their published table is not repeated here, because its figures could
not be checked against the source. *Regret* adds up the gaps of the arms times their units.

{best_arm_table(arms)}
## A Bayesian adaptive trial

adaptr 1.4.0, README: three arms, an undesirable 0/1 outcome, looks at 300 to 2,000 patients, response-adaptive randomisation
with a floor of 20 %, superiority at a posterior probability of .981, calibrated to 5 % where all arms are equal; {runs["trial"]:,} runs a row. A trial has a look every 100 patients, while 100 more
join before their outcomes are known, drops arms that are hardly the best, and also ends for equivalence (rates within .05 with a
probability of .9). *Power* is with rates of .25,
.20 and .30; *two tied for best* has rates of .20, .20 and .30, where no arm is superior. Read the power together with the error
in the last column: the higher power of adaptr comes with an error of {100 * trial["adaptr"]["two tied for best"].mean:.0f} % there. *Events lost* are the events that would
not have happened if all patients had got the best arm, in the case of *power*.

{trial_table(trial)}
Patients are those randomised when a trial ends. Ours end at 2,000 patients too.

## Group-sequential reference

SAS/STAT, PROC SEQDESIGN, example 3 (Pocock, four stages, two-sided 5 %, power .9), O'Brien-Fleming by Lan and DeMets with ten looks, and
ours, in percent of the units of the fixed test with as many sides; one-sided tests are at 5 %. Figures of others are computed by numerical integration, ours are simulated with {runs["reference"]:,} runs.

{reference_table(recorded["reference"])}
## A simulated archive of tests

Archives of real tests are not part of this project, and the files were not at hand when this page was made. So this table has a
*simulated* archive in their style: one file with the visitors and conversions of each test, day and arm. It has {runs["archive"]} tests of 28 days, with 400
visitors per arm and day and a rate of 10 %. The lift is 0 in two of five tests, and -10, 10 or 20 % in the others. Tests are two-sided at 5 %.
*Found* is the share of tests with a lift that named the better arm. *Wrong* is the share of tests without a lift that named any arm. Days and
conversions lost are averages over the tests with a lift.

{archive_table(recorded["archive"])}
`bascule analyze` knows neither the effect nor the sample size, proves its error for 0/1 outcomes at any look, and finds least here; a test that is planned
with bascule has a horizon and the power that it is planned for.

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
*rates* is the table of 0/1 outcomes, where *at 0.1* is a lift of 10 %; *one best* is the power in the trial; *null* and *alternative* are
the columns *no effect* and *planned effect*. Standard errors apart: the difference over the joint standard error of both, with that of
rounding. Podlozhniy's shares are taken to come from 100,000 runs, and adaptr's from its 1,000. The tests of others in a table see the
same outcomes, so the figures of one column are too high or too low together: at a lift of 10 % they show one deviation several times.

## Commands

`make benchmark` measures this page anew, in less than ten minutes on two cores. Seeds are fixed: with the versions in
`constraints.txt` every figure is repeated to the digit. Other versions of NumPy draw some binomial numbers differently, which
changes the row of adaptr and the archive within their errors.

`python -m bench.benchmark TABLE "ROW"` prints any row of the measured tables with the figures of this page, by its name in the first column, and the
whole table without a row. The tables in their order, each with its first row:

```sh
{table_commands(recorded)}
```

Our rows of *Sequential tests at a known size*, by the product itself:

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
