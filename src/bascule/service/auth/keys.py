"""API keys, which are stored as hashes, and sessions of the web page.

A key is `bsc_ID_SECRET`. The secret has 256 random bits, so that it cannot be guessed, and one
round of SHA-256 protects it as well as a slow hash, which is for passwords that people remember.

Tokens of sessions and of one-time links are random too, and the store has only their hashes.
"""

from __future__ import annotations

import hmac
import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

from sqlalchemy import Connection

from bascule.core.errors import InputError, invalid
from bascule.live.api import Store, check_name
from bascule.live.storage.schema import COLUMNS
from bascule.live.storage.statements import execute, fetch, insert, shared_time
from bascule.service.reading.store_calls import SharedRead, StoreCalls

Role = Literal["client", "viewer", "admin"]
ROLES: tuple[Role, ...] = ("client", "viewer", "admin")
"""Clients assign units and record outcomes, viewers read, and admins do everything."""

FRESH = 1.0
"""Seconds after which keys are read again, so that keys revoked elsewhere stop working."""

LONGEST_LABEL = 100

_KEYS = (
    "SELECT id, hash, role, label, created, creator, revoked, experiments, unit_names "
    "FROM service_keys ORDER BY created, id"
)
_REVOKE = "UPDATE service_keys SET revoked = ? WHERE id = ? AND revoked IS NULL"


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request: a name for the audit log, a role, and experiments (None: all).

    `csrf` is the token that changes through the page must carry; None for a caller with a key.
    """

    name: str
    role: Role
    experiments: tuple[str, ...] | None = None
    csrf: str | None = None
    unit_names: bool = field(default=False, repr=False)

    def sees(self, name: str) -> bool:
        """Whether the caller's key is valid for an experiment.

        >>> Caller("shop", "client", ("button",)).sees("banner")
        False
        """
        return self.experiments is None or name in self.experiments

    @property
    def is_admin(self) -> bool:
        """Whether the caller may change experiments."""
        return self.role == "admin"

    @property
    def sees_names(self) -> bool:
        """Whether the caller may see and export the names of units.

        >>> Caller("ann", "viewer").sees_names, Caller("bob", "admin").sees_names
        (False, True)
        """
        return self.is_admin or self.unit_names

    @property
    def is_limited(self) -> bool:
        """Whether the caller must not learn of other experiments."""
        return self.experiments is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Key(Caller):
    """A stored key, which is the caller of the requests that it is sent with.

    Its name has the label of the key and its number.
    """

    id: str
    hash: str = field(repr=False)
    label: str
    created: float
    creator: str
    revoked: float | None = None


def create_key(
    store: Store,
    role: str,
    experiments: Sequence[str] = (),
    label: str = "",
    creator: str = "unknown user (command line)",
    unit_names: bool = False,
) -> str:
    """Create a key and return it; it cannot be shown again.

    A viewer's key shows and exports the names of units only with `unit_names`.

    >>> import bascule as bs
    >>> with bs.open(":memory:") as store:
    ...     key = create_key(store, "client", ["button"])
    ...     [(key.role, key.experiments) for key in list_keys(store)]
    [('client', ('button',))]
    """
    if role not in ROLES:
        raise invalid(f"role must be one of {', '.join(ROLES)} (got {role!r})")
    if len(label) > LONGEST_LABEL or not label.isprintable():
        raise invalid(f"label must be at most {LONGEST_LABEL} printable characters")
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
    """Return all keys, including revoked ones, the oldest first."""
    with store.reading() as connection:
        rows = fetch(connection, _KEYS)
    return [
        Key(
            name=f"{label or 'unnamed'} (key {number})",
            role=role,
            experiments=_limits(text),
            unit_names=bool(names),
            id=number,
            hash=digest,
            label=label,
            created=created,
            creator=creator,
            revoked=gone,
        )
        for number, digest, role, label, created, creator, gone, text, names in rows
    ]


def revoke_key(store: Store, number: str) -> None:
    """Revoke the key whose `id` is `number`; raise an error if there is none."""
    with store.writing() as connection:
        if not fetch(connection, "SELECT 1 FROM service_keys WHERE id = ?", number):
            message = f"there is no key {number!r:.60}: bascule key list shows them"
            raise InputError("key", message, kind="not_found")
        execute(connection, _REVOKE, (store.clock.now(), number))


class Keyring:
    """The keys of a store, kept in memory and read again when they are older than `FRESH`."""

    def __init__(self, store: Store, calls: StoreCalls) -> None:
        self._keys: SharedRead[dict[str, Key]] = SharedRead(
            lambda: calls.short(lambda: {key.id: key for key in list_keys(store)}), {}
        )

    @property
    def is_empty(self) -> bool:
        """Whether the store has no keys at all; revoked keys count as keys."""
        return not self._keys.value

    async def refresh(self) -> None:
        """Read the keys unless that was done less than `FRESH` seconds ago."""
        if not self._keys.is_fresh(FRESH):
            await self._keys.newer_than(time.monotonic() - FRESH)

    def forget(self) -> None:
        """Read the keys again at the next request."""
        self._keys.forget()

    def fresh(self, key: str) -> Key | None:
        """Return the given key if it is valid and was read within the last second; else None."""
        return self.find(key) if self._keys.is_fresh(FRESH) else None

    async def verify(self, key: str) -> Key | None:
        """Return the given key if it is valid, also one created a moment ago; else None."""
        await self.refresh()
        if _number(key) not in self._keys.value:
            # An unknown key was created a moment ago, or is wrong. All callers who wait share one
            # read, so that wrong keys cost the store at most one query at a time.
            await self._keys.newer_than(time.monotonic())
        return self.find(key)

    def find(self, given: str) -> Key | None:
        """Return the given key if it is known and not revoked; else None."""
        prefix, _, rest = given.partition("_")
        number, _, secret = rest.partition("_")
        key = self._keys.value.get(number)
        if prefix != "bsc" or key is None:
            return None
        # Compared in constant time, so that the time taken reveals nothing about the hash.
        if not hmac.compare_digest(_hash(secret), key.hash):
            return None
        return key if key.revoked is None else None

    def by_id(self, number: str) -> Key | None:
        """Return the key whose `id` is `number`; None if there is none or it was revoked."""
        key = self._keys.value.get(number)
        return None if key is None or key.revoked is not None else key


def _number(key: str) -> str:
    return key.partition("_")[2].partition("_")[0]


def _hash(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _limits(text: str | None) -> tuple[str, ...] | None:
    """Parse the experiments of a key, None meaning all; a key with unreadable ones gets none."""
    if text is None:
        return None
    try:
        return tuple(map(str, json.loads(text)))
    except (ValueError, TypeError):
        return ()


LINK_SECONDS = 3600.0

PROBE = "probe"
"""Text stored in place of a hash in the row that `write_probe` writes."""

_FIND = 'SELECT "key", caller FROM service_sessions WHERE hash = ? AND kind = ? AND expires > ?'
_USE = "DELETE FROM service_sessions WHERE hash = ? AND kind = ? AND expires > ? RETURNING hash"
_END = "DELETE FROM service_sessions WHERE hash = ? OR expires <= ?"
_ADD = 'INSERT INTO service_sessions (hash, kind, "key", expires, caller) VALUES (?, ?, ?, ?, ?)'


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in browser; `key` is the number of the API key used, or None for other sign-ins."""

    token: str
    key: str | None
    caller: str | None = None
    """JSON with the name and role of a person who signed in with an identity provider."""

    @property
    def csrf(self) -> str:
        """The CSRF token that each change has to carry, derived from the session's secret token.

        >>> Session("secret", None).csrf == Session("other", None).csrf
        False
        """
        return hmac.new(self.token.encode(), b"csrf", sha256).hexdigest()


def make_link(store: Store, now: float) -> str:
    """Create the token of a link that signs in once, as an admin."""
    with store.writing() as connection:
        return _insert(connection, "link", None, now, LINK_SECONDS)


def open_session(
    store: Store, key: str | None, now: float, hours: float, caller: str | None = None
) -> Session:
    """Open a session for the number of a key, or for a caller whom an identity provider names."""
    with store.writing() as connection:
        token = _insert(connection, "session", key, now, 3600 * hours, caller)
    return Session(token, key, caller)


def use_link(store: Store, token: str, now: float, hours: float) -> Session | None:
    """Exchange the token of a link for a session; None if it was used or has expired."""
    with store.reading() as connection:
        mine = (_hash(token), "link", shared_time(connection, now))
        # First read without the write lock, so that guessed tokens do not delay writers.
        if not fetch(connection, _FIND, *mine):
            return None
    with store.writing() as connection:
        if not fetch(connection, _USE, *mine):
            return None
        return Session(_insert(connection, "session", None, now, 3600 * hours), None)


def find_session(store: Store, token: str, now: float) -> Session | None:
    """Return the session of a token; None if there is none or it has expired."""
    with store.reading() as connection:
        time = shared_time(connection, now)
        rows = fetch(connection, _FIND, _hash(token), "session", time)
    return Session(token, *rows[0]) if rows else None


def close_session(store: Store, token: str, now: float) -> None:
    """End a session, and delete those that have expired."""
    with store.writing() as connection:
        execute(connection, _END, (_hash(token), shared_time(connection, now)))


def write_probe(store: Store, now: float) -> None:
    """Write one row; this fails if the disk is full or read-only, or if the clock is wrong."""
    with store.writing() as connection:
        store.runner.store_time(connection)
        execute(connection, "DELETE FROM service_sessions WHERE hash = ?", (PROBE,))
        execute(connection, _ADD, (PROBE, "probe", None, now, None))


def _insert(
    connection: Connection,
    kind: str,
    key: str | None,
    now: float,
    seconds: float,
    caller: str | None = None,
) -> str:
    """Create a token, store its hash with the time at which it expires, and return the token."""
    token = secrets.token_urlsafe(32)
    expires = shared_time(connection, now) + seconds
    execute(connection, _ADD, (_hash(token), kind, key, expires, caller))
    return token
