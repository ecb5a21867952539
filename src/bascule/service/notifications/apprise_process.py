"""Messages through Apprise, each sent in a separate process.

Apprise waits for the network in the thread that calls it, and reads all of an answer. A service
that sends a byte a minute, or an answer without end, would take a thread or the memory of whoever
waits for it; a process has limits, and can be ended.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import re
import signal
import sys
from contextlib import suppress
from multiprocessing.context import SpawnProcess
from typing import Any

from bascule.core.errors import InputError, require

LONGEST = 600
"""Maximum number of seconds for sending a message; its process is ended after that."""

MEMORY = 2**30
"""Memory limit, in bytes, of the process that sends a message; the answer counts too."""

KIND = re.compile(r"[a-z0-9+.-]{1,30}://", re.I)
"""Pattern of the scheme of an address; what follows the scheme may be a secret."""

SEVERAL = re.compile(rf"\s|,{KIND.pattern}", re.I)
"""Pattern of a text with several addresses, which is refused: if the message to one of them failed,
it would be sent again to all."""

SPAWN = multiprocessing.get_context("spawn")


def begin_sending(url: str, title: str, body: str) -> SpawnProcess:
    """Start a process that sends a message and exits with code 0 if it was taken.

    When the service ends, it ends the process too, without waiting for it.
    """
    process = SPAWN.Process(target=_send, args=(url, title, body), daemon=True)
    process.start()
    return process


def plugin(url: str) -> Any:
    """Return Apprise's plugin for an address; the error for an unknown address does not show it."""
    require("notify", "sending notifications", "apprise")
    import apprise

    # Apprise would log addresses with their passwords; the service logs the results itself.
    logging.getLogger("apprise").disabled = True
    kind = KIND.match(url)
    is_one = kind is not None and not SEVERAL.search(url)
    # Redirects are off: one would send the message to an address that nobody has configured.
    asset = apprise.AppriseAsset(http_redirects=False)
    made = apprise.Apprise.instantiate(url, asset=asset) if is_one else None
    if made is None:
        shown = "" if kind is None else f" (got {kind[0]}...)"
        raise InputError(
            "notify",
            f"notify must be an address that Apprise knows{shown}: give one address, as in "
            "slack://TokenA/TokenB/TokenC or mailto://user:password@host",
        )
    return made


def _send(url: str, title: str, body: str) -> None:
    # Output of Apprise is discarded, since it may contain the address.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    limit_process()
    taken = plugin(url).notify(title=title, body=body)
    sys.exit(0 if taken else 1)


def limit_process() -> None:
    """Limit the time and the memory of this process on systems that can (Windows cannot)."""
    with suppress(AttributeError):
        signal.alarm(LONGEST)
    with suppress(ImportError, ValueError, OSError):
        import resource

        # The memory may already be limited to less. macOS refuses any limit.
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = [limit for limit in (MEMORY, soft, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
