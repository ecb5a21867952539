"""Signing in to the page: one-time links, sessions, and the token that every change carries.

What a browser holds is random; the store has only its hash.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import Connection, delete, insert, select

from bascule.live.api.store import Store
from bascule.live.storage.schema import sessions

LINK_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that has signed in; `key` is the number of the key, or None after a link."""

    token: str
    key: str | None

    @property
    def csrf(self) -> str:
        """What each change has to carry: no other site can know it.

        >>> Session("secret", None).csrf == Session("other", None).csrf
        False
        """
        return hmac.new(self.token.encode(), b"csrf", sha256).hexdigest()


def make_link(store: Store, now: float) -> str:
    """The token of a link that signs in once, as an admin."""
    return _put(store, "link", None, now + LINK_SECONDS)


def open_session(store: Store, key: str | None, now: float, hours: float) -> Session:
    """A new session for whoever has shown a key, or a link if None."""
    return Session(_put(store, "session", key, now + 3600 * hours), key)


def use_link(store: Store, token: str, now: float, hours: float) -> Session | None:
    """A session for the token of a link, which opens nothing again."""
    with store.writing() as connection:
        gone = delete(sessions).where(
            sessions.c.hash == _hash(token), sessions.c.kind == "link", sessions.c.expires > now
        )
        if connection.execute(gone).rowcount != 1:
            return None
        made = secrets.token_urlsafe(32)
        _insert(connection, made, "session", None, now + 3600 * hours)
    return Session(made, None)


def find_session(store: Store, token: str, now: float) -> Session | None:
    """The session of a token that a browser holds."""
    asked = select(sessions.c.key).where(
        sessions.c.hash == _hash(token), sessions.c.kind == "session", sessions.c.expires > now
    )
    with store.reading() as connection:
        found = connection.execute(asked).one_or_none()
    return None if found is None else Session(token, found.key)


def close_session(store: Store, token: str, now: float) -> None:
    """Sign out, and sweep out what has expired."""
    with store.writing() as connection:
        gone = (sessions.c.hash == _hash(token)) | (sessions.c.expires <= now)
        connection.execute(delete(sessions).where(gone))


def _put(store: Store, kind: str, key: str | None, expires: float) -> str:
    token = secrets.token_urlsafe(32)
    with store.writing() as connection:
        _insert(connection, token, kind, key, expires)
    return token


def _insert(connection: Connection, token: str, kind: str, key: str | None, expires: float) -> None:
    row = {"hash": _hash(token), "kind": kind, "key": key, "expires": expires}
    connection.execute(insert(sessions).values(row))


def _hash(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
