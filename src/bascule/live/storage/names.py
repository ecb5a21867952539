"""Names as a database keeps them: texts that it takes, and what stands in place of erased ones.

A keyed hash stands in place of the name of an erased unit that has not counted: it finds the unit's
row, so that its outcomes still count. The key is deleted with the last such unit.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

PREFIX = "erased-"
"""The prefix of texts that replace erased names."""


def is_storable(text: object) -> bool:
    r"""Whether every database takes a text, which has no zero character and no lone surrogate.

    >>> is_storable("\u00e9"), is_storable("a\0"), is_storable("\ud800")
    (True, False, False)
    """
    if not isinstance(text, str) or "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def pseudonym(key: str, text: str) -> str:
    """Return the pseudonym of a name or an event id: a hash with a key.

    >>> pseudonym("00ff", "user-42")
    'erased-8ac2c133137a6ff65964fa655c660af5'
    """
    digest = hmac.new(bytes.fromhex(key), text.encode(), sha256)
    return PREFIX + digest.hexdigest()[:32]


def is_erased(unit: str) -> bool:
    """Whether a name is the pseudonym of an erased one."""
    return unit.startswith(PREFIX)
