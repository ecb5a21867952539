"""Webhooks: decisions and alarms told to other programs, signed, and again until they listen.

What is to be told stands in the audit log, written in the transaction that decided. Deliveries are
kept in the store, so that nothing is lost when the service ends; each is claimed before it is sent,
so that of several workers one sends it. Signatures are those of Standard Webhooks.
"""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import httpx
from sqlalchemy import Connection, and_, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from bascule.live.api.store import Store
from bascule.live.clock import moment
from bascule.live.storage.schema import audit, deliveries, webhooks

EVENTS = {"decide": "decision", "end": "end", "alarm": "alarm"}
"""What is told, by the action in the audit log."""

WAITS = (5.0, 30.0, 120.0, 600.0, 3600.0, 21600.0, 86400.0)
"""Seconds from one attempt to the next; after the last one a delivery has failed."""

LEASE = 60.0
"""Seconds for which a delivery is left to the worker that claimed it."""

AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Delivery:
    """Something to tell one URL: the entry of the audit log, and how often it was tried."""

    url: str
    entry: int
    attempts: int
    body: bytes

    @property
    def id(self) -> str:
        """The same at every attempt, so that whoever hears it twice can tell."""
        return f"audit-{self.entry}"


def register(store: Store, urls: Sequence[str]) -> None:
    """Tell URLs that are new of what happens from now on."""
    with store.writing() as connection:
        newest = connection.execute(select(func.max(audit.c.id))).scalar() or 0
        for url in urls:
            _insert_if_new(connection, webhooks, [{"url": url, "since": newest}])


def claim(store: Store, urls: Sequence[str], now: float) -> list[Delivery]:
    """What is to be sent now, and by nobody else."""
    with store.reading() as connection:
        new = [row for url in urls for row in _untold(connection, url, now)]
        due = connection.execute(_due(urls, now)).first() is not None
    if not new and not due:
        return []
    with store.writing() as connection:
        if new:
            _insert_if_new(connection, deliveries, new)
        rows = connection.execute(_due(urls, now)).all()
        return [_delivery(row) for row in rows if _claimed(connection, row, now)]


def settle(store: Store, sent: Delivery, problem: str | None, now: float) -> str:
    """Write down what became of an attempt: "done", "waiting" for the next one, or "failed"."""
    state = "done"
    due = now
    if problem is not None:
        tried = sent.attempts - 1
        state = "waiting" if tried < len(WAITS) else "failed"
        due = now + (WAITS[tried] if tried < len(WAITS) else 0.0)
    with store.writing() as connection:
        connection.execute(
            update(deliveries)
            .where(deliveries.c.url == sent.url, deliveries.c.audit == sent.entry)
            .values(state=state, due=due, detail=(problem or "")[:200])
        )
    return state


async def send(client: httpx.AsyncClient, sent: Delivery, secret: str, now: float) -> str | None:
    """Tell a URL; None if it has heard, or else why not."""
    headers = {"Content-Type": "application/json", **signed(sent.id, sent.body, secret, int(now))}
    try:
        answer = await client.post(sent.url, content=sent.body, headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as problem:
        return f"{type(problem).__name__}: {problem}"
    return None if answer.is_success else f"answered {answer.status_code}"


def signed(number: str, body: bytes, secret: str, now: int) -> dict[str, str]:
    """The headers that prove who sends a body, and when.

    >>> signed("audit-1", b"{}", "secret", 0)["webhook-signature"]
    'v1,NEddPnapyPt/Q2H4ucIDnKGFwZ7iC3SZBJ0QGuBHWaU='
    """
    key = secret.encode()
    if secret.startswith("whsec_"):
        key = base64.b64decode(secret.removeprefix("whsec_"))
    told = f"{number}.{now}.".encode() + body
    mac = base64.b64encode(hmac.new(key, told, sha256).digest()).decode()
    return {
        "webhook-id": number,
        "webhook-timestamp": str(now),
        "webhook-signature": f"v1,{mac}",
    }


def body_of(row: Any) -> bytes:
    """What is told of an entry of the audit log."""
    data = {
        "type": EVENTS[row.action],
        "timestamp": moment(row.time).isoformat(),
        "data": {"experiment": row.name, **json.loads(row.detail)},
    }
    return json.dumps(data, separators=(",", ":")).encode()


def _untold(connection: Connection, url: str, now: float) -> list[dict[str, Any]]:
    same = and_(deliveries.c.audit == audit.c.id, deliveries.c.url == url)
    asked = (
        select(audit.c.id)
        .join_from(audit, webhooks, webhooks.c.url == url)
        .outerjoin(deliveries, same)
        .where(
            audit.c.id > webhooks.c.since,
            audit.c.action.in_(EVENTS),
            deliveries.c.audit.is_(None),
        )
        .limit(AT_ONCE)
    )
    new = {"url": url, "attempts": 0, "due": now, "state": "waiting", "detail": ""}
    return [{**new, "audit": number} for number in connection.execute(asked).scalars()]


def _due(urls: Sequence[str], now: float) -> Any:
    return (
        select(deliveries, audit.c.action, audit.c.name, audit.c.time, audit.c.detail.label("told"))
        .join_from(deliveries, audit, audit.c.id == deliveries.c.audit)
        .where(deliveries.c.url.in_(urls), deliveries.c.state == "waiting", deliveries.c.due <= now)
        .order_by(deliveries.c.due)
        .limit(AT_ONCE)
    )


def _claimed(connection: Connection, row: Any, now: float) -> bool:
    mine = update(deliveries).where(
        deliveries.c.url == row.url, deliveries.c.audit == row.audit, deliveries.c.due == row.due
    )
    values = {"due": now + LEASE, "attempts": row.attempts + 1}
    return connection.execute(mine.values(values)).rowcount == 1


def _delivery(row: Any) -> Delivery:
    entry = _Entry(row.action, row.name, row.time, row.told)
    return Delivery(row.url, row.audit, row.attempts + 1, body_of(entry))


@dataclass(frozen=True, slots=True)
class _Entry:
    action: str
    name: str
    time: float
    detail: str


def _insert_if_new(connection: Connection, table: Any, rows: list[dict[str, Any]]) -> None:
    made = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    connection.execute(made(table).on_conflict_do_nothing(), rows)
