"""Names in a database: which texts can be stored, and the pseudonyms of erased names.

If a unit is erased before it has counted, a keyed hash replaces its name, so that its outcomes can
still be matched to its row. The key is deleted once no such unit is left.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

PREFIX = "erased-"
"""The prefix of texts that replace erased names."""


def is_storable(text: object) -> bool:
    r"""Whether a value can be stored: text without zero characters and lone surrogates.

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
    """Return the pseudonym of a name or an event id: a keyed hash.

    >>> pseudonym("00ff", "user-42")
    'erased-8ac2c133137a6ff65964fa655c660af5'
    """
    digest = hmac.new(bytes.fromhex(key), text.encode(), sha256)
    return PREFIX + digest.hexdigest()[:32]


def is_erased(unit: str) -> bool:
    """Whether a name is a pseudonym or a random text that replaces the name of an erased unit."""
    return unit.startswith(PREFIX)
