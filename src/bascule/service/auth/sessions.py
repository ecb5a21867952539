"""Sessions of the page: one-time links, cookies, and the token that every change carries.

What a browser holds is random; the store has only its hash.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import Connection

from bascule.live.api import Store
from bascule.live.storage.statements import execute, fetch

LINK_SECONDS = 3600.0

PROBE = "probe"
"""In place of a hash, for the row that `write_probe` writes."""

_FIND = 'SELECT "key", caller FROM service_sessions WHERE hash = ? AND kind = ? AND expires > ?'
_USE = "DELETE FROM service_sessions WHERE hash = ? AND kind = ? AND expires > ? RETURNING hash"
_END = "DELETE FROM service_sessions WHERE hash = ? OR expires <= ?"
_ADD = 'INSERT INTO service_sessions (hash, kind, "key", expires, caller) VALUES (?, ?, ?, ?, ?)'


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that has signed in; `key` is the number of its key, or None after a link."""

    token: str
    key: str | None
    caller: str | None = None
    """Name and role, as JSON, of whom an identity provider has named."""

    @property
    def csrf(self) -> str:
        """The token that each change has to carry; no other site can know it.

        >>> Session("secret", None).csrf == Session("other", None).csrf
        False
        """
        return hmac.new(self.token.encode(), b"csrf", sha256).hexdigest()


def make_link(store: Store, now: float) -> str:
    """Create the token of a link that signs in once, as an admin."""
    with store.writing() as connection:
        return _insert(connection, "link", None, now + LINK_SECONDS)


def open_session(
    store: Store, key: str | None, now: float, hours: float, caller: str | None = None
) -> Session:
    """Open a session for the number of a key, for a caller named elsewhere, or for a link."""
    with store.writing() as connection:
        token = _insert(connection, "session", key, now + 3600 * hours, caller)
    return Session(token, key, caller)


def use_link(store: Store, token: str, now: float, hours: float) -> Session | None:
    """Exchange the token of a link for a session; None if it was used or has expired."""
    mine = (_hash(token), "link", now)
    with store.reading() as connection:
        # Without the write lock, so that guessed tokens do not delay writers.
        if not fetch(connection, _FIND, *mine):
            return None
    with store.writing() as connection:
        if not fetch(connection, _USE, *mine):
            return None
        return Session(_insert(connection, "session", None, now + 3600 * hours), None)


def find_session(store: Store, token: str, now: float) -> Session | None:
    """The session of a token that a browser holds."""
    with store.reading() as connection:
        rows = fetch(connection, _FIND, _hash(token), "session", now)
    return Session(token, *rows[0]) if rows else None


def close_session(store: Store, token: str, now: float) -> None:
    """End a session, and delete those that have expired."""
    with store.writing() as connection:
        execute(connection, _END, (_hash(token), now))


def write_probe(store: Store, now: float) -> None:
    """Write one row, so that a disk that is full or read-only shows."""
    with store.writing() as connection:
        execute(connection, "DELETE FROM service_sessions WHERE hash = ?", (PROBE,))
        execute(connection, _ADD, (PROBE, "probe", None, now, None))


def _insert(
    connection: Connection, kind: str, key: str | None, expires: float, caller: str | None = None
) -> str:
    """Add a row with the hash of a new token, and return the token."""
    token = secrets.token_urlsafe(32)
    execute(connection, _ADD, (_hash(token), kind, key, expires, caller))
    return token


def _hash(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
