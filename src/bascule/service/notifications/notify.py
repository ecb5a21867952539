"""Notifications in plain words to Slack, Teams, mail and other services, through Apprise.

They share the deliveries of the webhooks: each is stored, claimed by one worker, and tried again.
An address has passwords in it, so the store knows only its hash.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any

from bascule.core.errors import InputError
from bascule.live.api import Store
from bascule.presentation.report import lines
from bascule.service.notifications.webhooks import DEADLINE, Delivery
from bascule.service.server.reading.store_calls import StoreCalls


def check_targets(urls: Sequence[str]) -> None:
    """Raise unless Apprise is there and knows every address; an address is never shown."""
    if urls:
        for url in urls:
            _messenger(url)


async def notify(store: Store, calls: StoreCalls, url: str, sent: Delivery) -> str | None:
    """Send a message to an address; None if it was taken, or else why not."""
    title, body = await calls.short(message, store, json.loads(sent.body))
    try:
        async with asyncio.timeout(3 * DEADLINE):
            taken = await _messenger(url).async_notify(title=title, body=body)
    except TimeoutError:
        return f"no answer within {3 * DEADLINE:g} s"
    except Exception as problem:
        # Its message may have the address in it.
        return type(problem).__name__
    return None if taken else "not delivered"


def message(store: Store, event: dict[str, Any]) -> tuple[str, str]:
    """Return the title and the text of a message about an event.

    A decision, or an end without one, is described by the report of the test, as in its status.
    """
    data = event["data"]
    name = str(data.get("experiment", ""))
    if event["type"] == "harm":
        metrics = ", ".join(data.get("metrics", ()))
        return f"{name}: arm removed", f"{data.get('arm', '')} is harmful ({metrics})."
    if event["type"] not in ("decision", "end"):
        return f"{name}: {event['type']}", str(data.get("message", "Look at the test's page."))
    try:
        report = store.get(name).status().report()
    except InputError:
        # It was deleted meanwhile.
        return f"{name}: {event['type']}", str(data.get("name") or data.get("reason", ""))
    return f"{name}: {report.headline}", "\n".join(lines(report, width=0))


def _messenger(url: str) -> Any:
    try:
        import apprise
    except ModuleNotFoundError:
        raise InputError(
            "notify", "notifications need Apprise: pip install 'bascule[notify]'"
        ) from None
    # Apprise logs addresses, passwords included; what became of a delivery is logged by us.
    logging.getLogger("apprise").disabled = True
    made = apprise.Apprise()
    if not made.add(url):
        raise InputError(
            "notify",
            f"Apprise knows no address of the kind {url.partition('://')[0]!r:.30}, or its parts "
            "are wrong: slack://TokenA/TokenB/TokenC and mailto://user:password@host are examples",
        )
    return made
