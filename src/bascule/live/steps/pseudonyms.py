"""Names that stand in place of erased ones. Pure functions.

While an erased unit has not counted, a keyed hash of its name finds its row, so that its outcomes
still count; the key is deleted with the last such unit.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

PREFIX = "erased-"
"""How texts begin that stand in place of names."""


def pseudonym(key: str, text: str) -> str:
    """Return what stands in place of a name or an event id for as long as the key is kept.

    >>> pseudonym("00ff", "user-42")
    'erased-8ac2c133137a6ff65964fa655c660af5'
    """
    digest = hmac.new(bytes.fromhex(key), text.encode(), sha256)
    return PREFIX + digest.hexdigest()[:32]


def is_erased(unit: str) -> bool:
    """Whether a name stands in place of an erased one."""
    return unit.startswith(PREFIX)
