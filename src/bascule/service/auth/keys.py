"""API keys: shown once when created, stored as hashes, and revocable.

A key is `bsc_ID_SECRET`. The secret has 256 random bits, so that it cannot be guessed, and one
round of SHA-256 protects it as well as a slow hash, which is for passwords that people remember.
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

from bascule.core.errors import InputError
from bascule.live.api import Store, check_name
from bascule.live.storage.schema import COLUMNS
from bascule.live.storage.statements import execute, fetch, insert
from bascule.service.reading.store_calls import SharedRead, StoreCalls

Role = Literal["client", "viewer", "admin"]
ROLES: tuple[Role, ...] = ("client", "viewer", "admin")
"""Clients assign units and record outcomes, viewers read, and admins do everything."""

FRESH = 1.0
"""Seconds after which keys are read again, so that a revocation elsewhere takes effect."""

LONGEST_LABEL = 100

_KEYS = (
    "SELECT id, hash, role, label, created, creator, revoked, experiments, unit_names "
    "FROM service_keys ORDER BY created, id"
)
_REVOKE = "UPDATE service_keys SET revoked = ? WHERE id = ? AND revoked IS NULL"


@dataclass(frozen=True, slots=True)
class Key:
    """A stored key; `experiments` is None where it is valid for all."""

    id: str
    hash: str
    role: Role
    label: str
    created: float
    creator: str
    revoked: float | None = None
    experiments: tuple[str, ...] | None = None
    unit_names: bool = False

    @property
    def name(self) -> str:
        """The name in the audit log."""
        return f"{self.label} (key {self.id})" if self.label else f"key {self.id}"


def create_key(
    store: Store,
    role: str,
    experiments: Sequence[str] = (),
    label: str = "",
    creator: str = "command line",
    unit_names: bool = False,
) -> str:
    """Create a key and return it, for the only time.

    A viewer's key shows and exports the names of units only with `unit_names`.

    >>> import bascule as bs
    >>> with bs.open(":memory:") as store:
    ...     key = create_key(store, "client", ["button"])
    ...     [(key.role, key.experiments) for key in list_keys(store)]
    [('client', ('button',))]
    """
    if role not in ROLES:
        raise InputError("role", f"role must be one of {', '.join(ROLES)} (got {role!r})")
    if len(label) > LONGEST_LABEL or not label.isprintable():
        raise InputError("label", f"label must be at most {LONGEST_LABEL} printable characters")
    for name in experiments:
        check_name(name)
    number, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    limited = json.dumps(sorted(set(experiments))) if experiments else None
    made = (store.clock.now(), creator, None, int(unit_names))
    row = (number, _hash(secret), role, label, limited, *made)
    with store.writing() as connection:
        insert(connection, "service_keys", COLUMNS["service_keys"], [row])
    return f"bsc_{number}_{secret}"


def list_keys(store: Store) -> list[Key]:
    """All keys, the oldest first, revoked ones included."""
    with store.reading() as connection:
        rows = fetch(connection, _KEYS)
    return [
        Key(number, digest, role, label, created, creator, gone, _limits(text), bool(names))
        for number, digest, role, label, created, creator, gone, text, names in rows
    ]


def revoke_key(store: Store, number: str) -> None:
    """Revoke a key."""
    with store.writing() as connection:
        if not fetch(connection, "SELECT 1 FROM service_keys WHERE id = ?", number):
            message = f"there is no key {number!r:.60}: bascule key list shows them"
            raise InputError("key", message, kind="not_found")
        execute(connection, _REVOKE, (store.clock.now(), number))


class Keyring:
    """The keys of a store in memory, read again when they may have changed."""

    def __init__(self, store: Store, calls: StoreCalls) -> None:
        self._keys: SharedRead[dict[str, Key]] = SharedRead(
            lambda: calls.short(lambda: {key.id: key for key in list_keys(store)}), {}
        )

    @property
    def is_empty(self) -> bool:
        """Whether there has never been a key; a revoked one counts."""
        return not self._keys.value

    async def refresh(self, age: float = FRESH) -> None:
        """Read the keys unless that was done less than `age` seconds ago."""
        since = time.monotonic() - age
        if self._keys.is_older_than(since):
            await self._keys.newer_than(since)

    def forget(self) -> None:
        """Read the keys again at the next request."""
        self._keys.forget()

    def fresh(self, given: str) -> Key | None:
        """Return the given key if it is valid and was read within the last second; else None."""
        is_old = self._keys.is_older_than(time.monotonic() - FRESH)
        return None if is_old else self.find(given)

    async def verify(self, given: str) -> Key | None:
        """The key that was given if it is valid, or None; a new one is known at once."""
        await self.refresh()
        if _number(given) not in self._keys.value:
            # Created a moment ago, or wrong. All who wait share one read, so that wrong keys cost
            # the store no more than one query at a time.
            await self._keys.newer_than(time.monotonic())
        return self.find(given)

    def find(self, given: str) -> Key | None:
        """The key that was given, if it is known and not revoked."""
        prefix, _, rest = given.partition("_")
        number, _, secret = rest.partition("_")
        key = self._keys.value.get(number)
        if prefix != "bsc" or key is None:
            return None
        # In constant time, so that the time it takes says nothing about the hash.
        if not hmac.compare_digest(_hash(secret), key.hash):
            return None
        return key if key.revoked is None else None

    def by_id(self, number: str) -> Key | None:
        """The key of that number, if it was not revoked."""
        key = self._keys.value.get(number)
        return None if key is None or key.revoked is not None else key


def _number(given: str) -> str:
    return given.partition("_")[2].partition("_")[0]


def _hash(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _limits(text: str | None) -> tuple[str, ...] | None:
    """The experiments of a key; none at all where what is stored cannot be read."""
    if text is None:
        return None
    try:
        return tuple(map(str, json.loads(text)))
    except (ValueError, TypeError):
        return ()
