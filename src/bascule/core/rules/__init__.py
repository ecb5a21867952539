"""Rules, one file each. A new one is registered by adding it to `AnyRule`."""

from __future__ import annotations

from bascule.core.rules.base import Rule, Shape
from bascule.core.rules.etc import ETC
from bascule.core.rules.etc_prime import ETCPrime
from bascule.core.rules.ucb import UCB

AnyRule = UCB | ETC | ETCPrime
"""Every rule a design can hold."""

__all__ = ["ETC", "UCB", "AnyRule", "ETCPrime", "Rule", "Shape"]
