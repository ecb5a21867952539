"""Webhooks: signed messages about decisions and alarms, sent to other programs until received.

The events are entries of the audit log, written in the transaction that decided. Deliveries are
stored, so that nothing is lost when the service ends; each is claimed before it is sent, so that
only one of several workers sends it. Signatures are those of Standard Webhooks.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol

import httpx

from bascule.live.api import Store, moment
from bascule.live.storage.statements import execute, fetch, shared_time
from bascule.service.outgoing import SECONDS, Outgoing
from bascule.service.reading.store_calls import StoreCalls
from bascule.service.settings import shown_url, webhook_key
from bascule.service.telemetry import log

EVENTS = {"decide": "decision", "end": "end", "alarm": "alarm", "harm": "harm"}
"""Types of events, by the action in the audit log."""

WAITS = (5.0, 30.0, 120.0, 600.0, 3600.0, 21600.0, 86400.0)
"""Seconds between attempts; a delivery has failed after the attempt that follows the last wait."""

LEASE = 60.0
"""Seconds for which a delivery is left to the worker that claimed it."""

AT_ONCE = 5
"""Maximum number of deliveries claimed at once per URL: they all end within `LEASE`."""

_REGISTER = (
    "INSERT INTO service_webhooks (url, since) "
    "SELECT ?, coalesce(max(id), 0) FROM audit WHERE true ON CONFLICT DO NOTHING"
)
# Entries before an import are left out: they happened in another store.
_UNSENT = (
    "SELECT a.id FROM audit a JOIN service_webhooks w ON w.url = ? AND a.id > w.since "
    "LEFT JOIN service_deliveries d ON d.audit = a.id AND d.url = ? "
    f"WHERE a.action IN ({', '.join('?' for _ in EVENTS)}) AND d.audit IS NULL "  # nosec B608
    "AND NOT EXISTS (SELECT 1 FROM audit later WHERE later.experiment = a.experiment "
    "AND later.id > a.id AND later.action = 'import') ORDER BY a.id LIMIT ?"
)
_ADD = (
    "INSERT INTO service_deliveries (url, audit, attempts, due, state, detail) "
    "VALUES (?, ?, 0, ?, 'waiting', '') ON CONFLICT DO NOTHING"
)
_DUE = (
    "SELECT d.audit, d.attempts, d.due, a.action, a.name, a.time, a.detail "
    "FROM service_deliveries d JOIN audit a ON a.id = d.audit "
    "WHERE d.url = ? AND d.state = 'waiting' AND d.due <= ? ORDER BY d.due LIMIT ?"
)
_CLAIM = (
    "UPDATE service_deliveries SET due = ?, attempts = attempts + 1 "
    "WHERE url = ? AND audit = ? AND due = ? RETURNING audit"
)
_SETTLE = "UPDATE service_deliveries SET state = ?, due = ?, detail = ? WHERE url = ? AND audit = ?"


@dataclass(frozen=True, slots=True)
class EventDelivery:
    """A delivery of an event to one URL: the entry of the audit log, and the attempt's number."""

    url: str
    """The key of the address in the store."""
    entry: int
    attempts: int
    body: bytes

    @property
    def id(self) -> str:
        """The id of the event, equal at every attempt so that a receiver can drop repetitions."""
        return f"audit-{self.entry}"


def register(store: Store, url: str) -> None:
    """Subscribe a URL to all future events, unless it is subscribed already."""
    with store.reading() as connection:
        known = fetch(connection, "SELECT 1 FROM service_webhooks WHERE url = ?", url)
    if not known:
        with store.writing() as connection:
            execute(connection, _REGISTER, (url,))


def claim(store: Store, url: str, now: float) -> list[EventDelivery]:
    """Claim up to `AT_ONCE` due deliveries to a URL, so that no other worker sends them."""
    with store.reading() as connection:
        now = shared_time(connection, now)
        new = [entry for (entry,) in fetch(connection, _UNSENT, url, url, *EVENTS, AT_ONCE)]
        due = fetch(connection, _DUE, url, now, AT_ONCE)
    if not new and not due:
        return []
    with store.writing() as connection:
        for entry in new:
            execute(connection, _ADD, (url, entry, now))
        return [
            EventDelivery(url, entry, attempts + 1, body_of(*event))
            for entry, attempts, due, *event in fetch(connection, _DUE, url, now, AT_ONCE)
            if fetch(connection, _CLAIM, now + LEASE, url, entry, due)
        ]


def settle(store: Store, sent: EventDelivery, problem: str | None, now: float) -> str:
    """Store the result of an attempt: "done", "waiting" for the next attempt, or "failed"."""
    state, wait = "done", 0.0
    if problem is not None:
        tried = sent.attempts - 1
        state, wait = ("waiting", WAITS[tried]) if tried < len(WAITS) else ("failed", 0.0)
    with store.writing() as connection:
        due = shared_time(connection, now) + wait
        execute(connection, _SETTLE, (state, due, (problem or "")[:200], sent.url, sent.entry))
    return state


async def send(
    client: httpx.AsyncClient, url: str, sent: EventDelivery, secret: str, now: float
) -> str | None:
    """Send an event; return None if it was received, or else the reason."""
    headers = {"Content-Type": "application/json", **signed(sent.id, sent.body, secret, int(now))}
    try:
        async with (
            asyncio.timeout(SECONDS),
            # The body of the answer is not read: it may have no end.
            client.stream("POST", url, content=sent.body, headers=headers) as answer,
        ):
            return None if answer.is_success else f"answered {answer.status_code}"
    except TimeoutError:
        return f"no answer within {SECONDS:g} s"


def key_of(kind: str, url: str) -> str:
    """Return the key under which an address is stored: a hash, since addresses may hold secrets.

    >>> key_of("webhook", "https://hooks.example/SECRET").startswith("webhook:")
    True
    """
    return f"{kind}:{sha256(url.encode()).hexdigest()[:32]}"


class Recipient(Protocol):
    """An address that events are sent to."""

    what: str
    """The kind of message, for the log."""
    key: str
    """The key of the address in the store."""
    shown: str
    """The address as it may be logged."""

    async def deliver(self, store: Store, calls: StoreCalls, sent: EventDelivery) -> str | None:
        """Send an event; return None if it was received, or else the reason."""


class Webhook:
    """A URL that gets signed events."""

    what = "webhook"

    def __init__(self, url: str, secret: str, outgoing: Outgoing) -> None:
        self._url, self._secret, self._outgoing = url, secret, outgoing
        self.key, self.shown = key_of("webhook", url), shown_url(url)

    async def deliver(
        self,
        store: Store,  # noqa: ARG002
        calls: StoreCalls,  # noqa: ARG002
        sent: EventDelivery,
    ) -> str | None:
        """Send an event; return None if it was received, or else the reason."""
        client = self._outgoing.client
        return await send(client, self._url, sent, self._secret, time.time())


async def attempt(
    target: Recipient, store: Store, calls: StoreCalls, sent: EventDelivery
) -> str | None:
    """Send an event; return None if it was received, or else the reason, which holds no secrets."""
    try:
        return await target.deliver(store, calls, sent)
    except Exception as problem:
        # Several libraries raise here, since addresses, proxies and answers can be wrong in many
        # ways. Only the type is shown, because the message may contain the address.
        return type(problem).__name__


async def deliver_due(store: Store, calls: StoreCalls, target: Recipient) -> list[str]:
    """Send an address the events that are due; return "done", "waiting" or "failed" for each."""
    await calls.short(register, store, target.key)
    due = await calls.short(claim, store, target.key, time.time())
    results = []
    for sent in due:
        problem = await attempt(target, store, calls, sent)
        state = await calls.short(settle, store, sent, problem, time.time())
        results.append(state)
        log(
            f"{target.what} {state}",
            level="info" if problem is None else "warning",
            url=target.shown,
            id=sent.id,
            attempt=sent.attempts,
            problem=problem,
        )
    return results


def signed(number: str, body: bytes, secret: str, now: int) -> dict[str, str]:
    """Return the headers with the signature of a body and of the time it was sent.

    >>> signed("audit-1", b"{}", "of the shop", 0)["webhook-id"]
    'audit-1'
    """
    content = f"{number}.{now}.".encode() + body
    mac = base64.b64encode(hmac.new(webhook_key(secret), content, sha256).digest()).decode()
    return {
        "webhook-id": number,
        "webhook-timestamp": str(now),
        "webhook-signature": f"v1,{mac}",
    }


def body_of(action: str, name: str, time: float, detail: str) -> bytes:
    """Return the JSON of an event, made from an entry of the audit log."""
    data = {
        "type": EVENTS[action],
        "timestamp": moment(time).isoformat(),
        "data": {"experiment": name, **_detail(detail)},
    }
    return json.dumps(data, separators=(",", ":")).encode()


def _detail(text: str) -> dict[str, Any]:
    """Parse the details of an entry of the audit log.

    Unreadable text is returned under the key "unreadable", so that it does not hold up the entries
    after it.
    """
    try:
        return dict(json.loads(text))
    except (TypeError, ValueError):
        return {"unreadable": text}
