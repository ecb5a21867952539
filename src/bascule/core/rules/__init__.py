"""Rules, one file each. A new one derives from `Rule` and is registered here."""

from __future__ import annotations

from bascule.core.rules.allocation import BlockAllocation
from bascule.core.rules.base import RULES, Knob, Rule, Shape
from bascule.core.rules.etc import ETC, ETCPrime
from bascule.core.rules.tilt import Tilt
from bascule.core.rules.ucb import UCB

for _rule in (UCB, ETC, ETCPrime, Tilt):
    RULES.register(_rule)

__all__ = [
    "ETC",
    "RULES",
    "UCB",
    "BlockAllocation",
    "ETCPrime",
    "Knob",
    "Rule",
    "Shape",
    "Tilt",
]
