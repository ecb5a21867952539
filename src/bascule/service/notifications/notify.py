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
from bascule.service.notifications.webhooks import DEADLINE, Delivery


def check_targets(urls: Sequence[str]) -> None:
    """Raise unless Apprise is there and knows every address; an address is never shown."""
    if urls:
        for url in urls:
            _messenger(url)


async def notify(url: str, sent: Delivery) -> str | None:
    """Send a message to an address; None if it was taken, or else why not."""
    title, body = message(json.loads(sent.body))
    try:
        async with asyncio.timeout(3 * DEADLINE):
            taken = await _messenger(url).async_notify(title=title, body=body)
    except TimeoutError:
        return f"no answer within {3 * DEADLINE:g} s"
    except Exception as problem:
        # Its message may have the address in it.
        return type(problem).__name__
    return None if taken else "not delivered"


def message(event: dict[str, Any]) -> tuple[str, str]:
    """Return the title and the text of a message about an event.

    >>> message({"type": "decision", "data": {"experiment": "button", "name": "green",
    ...     "arm": 1, "error": 0.05, "units": 2081}})
    ('button: decided', 'Ship green: wrong with probability at most 5 %, after 2,081 units.')
    >>> message({"type": "decision", "data": {"experiment": "button", "name": "control",
    ...     "arm": 0, "error": 0.05, "units": 300, "harm": ["latency"]}})[1]
    'Keep control, all else is harmful (latency): wrong with probability at most 5 %, after 300 \
units.'
    """
    data = event["data"]
    name = str(data.get("experiment", ""))
    if event["type"] == "decision":
        risk = f"wrong with probability at most {100 * data.get('error', 1.0):.3g} %"
        arm, harm = str(data.get("name", "")), ", ".join(data.get("harm", ()))
        what = arm if data.get("arm") is None else f"Ship {arm}"
        if harm:
            what = f"Keep {arm}, all else is harmful ({harm})"
        return f"{name}: decided", f"{what}: {risk}, after {data.get('units', 0):,} units."
    if event["type"] == "harm":
        metrics = ", ".join(data.get("metrics", ()))
        return f"{name}: arm removed", f"{data.get('arm', '')} is harmful ({metrics})."
    if event["type"] == "end":
        return f"{name}: ended undecided", str(data.get("reason", "It came to no decision."))
    return f"{name}: {event['type']}", str(data.get("message", "Look at the test's page."))


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
