"""Rules, one file each. A new one is registered by adding it to `AnyRule`."""

from __future__ import annotations

from bascule.core.rules.base import IntervalRule, Rule, Shape
from bascule.core.rules.etc import ETC
from bascule.core.rules.etc_prime import ETCPrime
from bascule.core.rules.static import Static
from bascule.core.rules.tilt import Tilt
from bascule.core.rules.ucb import UCB

PaperRule = UCB | ETC | ETCPrime
"""The rules of the paper, which compare the intervals of the arms."""

AnyRule = PaperRule | Tilt | Static
"""Every rule a design can hold."""

__all__ = [
    "ETC",
    "UCB",
    "AnyRule",
    "ETCPrime",
    "IntervalRule",
    "PaperRule",
    "Rule",
    "Shape",
    "Static",
    "Tilt",
]
