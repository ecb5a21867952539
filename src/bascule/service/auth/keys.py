"""API keys: made once, shown once, kept as hashes, and revocable.

A key is `bsc_ID_SECRET`. The secret has 256 bits of chance, so nobody can try them out, and one
round of SHA-256 is as good as a slow hash, which is there for what people can remember.
"""

from __future__ import annotations

import hmac
import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from sqlalchemy import Connection, insert, select, update

from bascule.core.errors import InputError
from bascule.live.api.store import Store, check_name
from bascule.live.storage.schema import keys

Role = Literal["client", "viewer", "admin"]
ROLES: tuple[Role, ...] = ("client", "viewer", "admin")
"""Clients assign and record, viewers look, and admins do everything."""

FRESH = 1.0
"""Seconds after which keys are read again: a key that was revoked elsewhere lives no longer."""

LONGEST_LABEL = 100


@dataclass(frozen=True, slots=True)
class Key:
    """What is kept of a key; `experiments` is None where it is good for all."""

    id: str
    hash: str
    role: Role
    label: str
    experiments: tuple[str, ...] | None
    created: float
    creator: str
    revoked: float | None = None

    @property
    def name(self) -> str:
        """Whom the audit log names."""
        return f"{self.label} (key {self.id})" if self.label else f"key {self.id}"


def create_key(
    store: Store,
    role: str,
    experiments: Sequence[str] = (),
    label: str = "",
    creator: str = "command line",
) -> str:
    """Make a key and return it, for the only time.

    >>> import bascule as bs
    >>> with bs.open(":memory:") as store:
    ...     key = create_key(store, "client", ["button"])
    ...     [(found.role, found.experiments) for found in list_keys(store)]
    [('client', ('button',))]
    """
    if role not in ROLES:
        raise InputError("role", f"role must be one of {', '.join(ROLES)} (got {role!r})")
    if len(label) > LONGEST_LABEL or not label.isprintable():
        raise InputError("label", f"label must be at most {LONGEST_LABEL} printable characters")
    for name in experiments:
        check_name(name)
    number, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    row = {
        "id": number,
        "hash": _hash(secret),
        "role": role,
        "label": label,
        "experiments": json.dumps(sorted(set(experiments))) if experiments else None,
        "created": store.clock.now(),
        "creator": creator,
    }
    with store.writing() as connection:
        connection.execute(insert(keys).values(row))
    return f"bsc_{number}_{secret}"


def list_keys(store: Store) -> list[Key]:
    """All keys, the oldest first, and the revoked ones too."""
    with store.reading() as connection:
        return _read(connection)


def revoke_key(store: Store, number: str) -> None:
    """Let a key open nothing any more."""
    with store.writing() as connection:
        found = connection.execute(select(keys.c.revoked).where(keys.c.id == number)).one_or_none()
        if found is None:
            raise InputError("key", f"there is no key {number!r:.60}: list what there is")
        if found.revoked is None:
            now = store.clock.now()
            connection.execute(update(keys).where(keys.c.id == number).values(revoked=now))


class Keyring:
    """The keys of a store, read again when they may have changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys: dict[str, Key] = {}
        self._read_at = -FRESH

    @property
    def is_stale(self) -> bool:
        """Whether it is time to read the keys again."""
        return time.monotonic() - self._read_at >= FRESH

    @property
    def is_empty(self) -> bool:
        """Whether there has never been a key; a revoked one counts."""
        return not self._keys

    def refresh(self) -> None:
        """Read the keys."""
        now = time.monotonic()
        self._keys = {key.id: key for key in list_keys(self._store)}
        self._read_at = now

    def forget(self) -> None:
        """Read the keys again at the next request."""
        self._read_at = -FRESH

    def find(self, given: str) -> Key | None:
        """The key that was given, if it is one and was not revoked."""
        prefix, _, rest = given.partition("_")
        number, _, secret = rest.partition("_")
        key = self._keys.get(number)
        if prefix != "bsc" or key is None:
            return None
        # In constant time: how long it takes says nothing about the hash.
        if not hmac.compare_digest(_hash(secret), key.hash):
            return None
        return key if key.revoked is None else None

    def has(self, given: str) -> bool:
        """Whether there is, or was, a key of the number that a given one has."""
        return given.partition("_")[2].partition("_")[0] in self._keys

    def by_id(self, number: str) -> Key | None:
        """The key of that number, if it was not revoked."""
        key = self._keys.get(number)
        return None if key is None or key.revoked is not None else key


def _hash(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _read(connection: Connection) -> list[Key]:
    rows = connection.execute(select(keys).order_by(keys.c.created, keys.c.id))
    return [
        Key(
            row.id,
            row.hash,
            row.role,
            row.label,
            None if row.experiments is None else tuple(json.loads(row.experiments)),
            row.created,
            row.creator,
            row.revoked,
        )
        for row in rows
    ]
