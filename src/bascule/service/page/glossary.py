"""The glossary of the page: the terms that it shows, and links to them.

A test compares the definitions with docs/using/glossary.md, which has these and more.
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

TERMS = {
    "alpha": "The knob of UCB(alpha), one of the paper's rules: near 1 it keeps regret low, large "
    "values decide sooner. It does not change the error.",
    "arm": "A version under test. Other tools say variant, variation or treatment.",
    "baseline": "The mean outcome of the control arm that you expect when you plan a test.",
    "block": "In tilted blocks: a small group of consecutive units whose sizes per arm are fixed "
    "before its first outcome and whose order is random.",
    "confidence sequence": "A sequence of intervals, one for each time, that contain the true "
    "value at all times at once with the stated probability. The intervals of bascule are "
    "confidence sequences.",
    "control": "The arm that the others are compared with, usually the current version. "
    'Differences are given as treatment minus control: "green - control".',
    "conversion window": "How long events of a unit count, from its assignment. When the window "
    'has passed, the unit is mature. Set it with Measure("7d", "any").',
    "cost": "The regret in the unit of the outcome, for example conversions or money lost.",
    "decision": "The arm that a test declares the winner, with its error and its guarantee. A "
    "decision does not revert.",
    "design": "Everything that is fixed before the first unit: arms, outcome model, rule, error, "
    "and how events become outcomes.",
    "dropped arm": "An arm that gets no new units, because it was beaten or was dropped by hand. "
    "Nothing more is claimed about an arm dropped by hand.",
    "error": "The probability that you allow for a wrong decision. It is two-sided: if the arms "
    "are equal, either of them is declared the winner with probability at most the error, and a "
    "worse arm with at most half of it. With sides=1 it is one-sided: a worse arm is declared the "
    "winner with probability at most the error, either of two equal arms with at most twice that.",
    "evidence": "A number that measures how strongly the data speak against a claim. See "
    "e-process.",
    "excluded": "Not counted, with a reason: an outcome of an unknown unit, a duplicate, a row "
    "that cannot be read. Excluded rows are counted and can be listed.",
    "forecast": "What a running test is expected to take and cost from now on.",
    "guarantee": "What kind of statement stands behind an error. proven: holds for finite samples "
    "under stated assumptions. gaussian: exact if outcomes are normal. asymptotic: approximate, "
    "better with more data. as published: as the paper states it, without a proof here. "
    "stated by its author: the rule is not part of bascule, and nobody has checked it here.",
    "guardrail": "A second metric that must not get worse by its margin or more: an arm is shipped "
    "only if every guardrail has shown that.",
    "interval": "The range of values for a difference that the data leave open, with its level. "
    "With an error of 5 %, each bound fails with probability at most 2.5 % at any time: a 95 % "
    "interval. With sides=1 it is a 90 % interval. See confidence sequence.",
    "knob": "The setting that moves a rule between low regret and early decisions: tilt or alpha. "
    "It may be changed while a test runs; the error stays the same.",
    "lift": "The difference between a new arm and the baseline, absolute or as a percentage of "
    "the baseline.",
    "matured unit": "A unit whose conversion window has passed, so that its outcome is final.",
    "minimum detectable effect": "The smallest difference that a planned test should find with "
    "the stated probability. bascule plan calls it the lift.",
    "outcome": "The number that a unit contributes: 0 or 1 for a conversion, an amount for "
    "revenue.",
    "regret": "What the units so far have lost compared with giving every unit the best arm, in "
    "outcome units.",
    "release": "After the decision: give the winner to units of the other arms, too.",
    "rule": "Allocation (which arm the next unit gets) together with stopping (whether there is a "
    "decision).",
    "sample ratio mismatch": "Numbers of units per arm that do not fit the assignment "
    "probabilities, a sign that units are lost or counted twice.",
    "tilt": "The knob of Tilt(tilt): how many units the leading arm gets for each unit of another "
    "arm. 1 is an even split.",
    "tilted blocks": "The rule that bascule recommends, Tilt(tilt). It compares arms within "
    "blocks, so a trend that all arms share does no harm.",
    "unit": "What is assigned: a user, a session, a server, a patient.",
}


def anchor(term: str) -> str:
    """Return the fragment of a term's address.

    >>> anchor("sample ratio mismatch")
    'sample-ratio-mismatch'
    """
    return re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def term(name: str, text: str | None = None) -> Markup:
    """Return a link to a term, which templates put where it first occurs on a page.

    >>> term("arm", "Arms")
    Markup('<a class="term" href="/glossary#arm">Arms</a>')
    """
    if name not in TERMS:
        raise KeyError(f"{name!r} is not in the glossary of the page")
    shown = escape(text or name)
    return Markup('<a class="term" href="/glossary#{}">{}</a>').format(anchor(name), shown)
