"""`bascule serve`: the service on a store."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bascule.cli.support.declared import declared, named, read
from bascule.cli.support.stores import STORE, shown_location
from bascule.core.errors import require
from bascule.core.options import Option

if TYPE_CHECKING:
    from bascule.live.api import Store

SECRET = "BASCULE_WEBHOOK_SECRET"  # nosec B105: the name of a variable, no secret
PROXIES = "FORWARDED_ALLOW_IPS"


SERVICE = named(
    host=Option("The address to listen on.", group="basics", default="127.0.0.1"),
    port=Option(
        "The port; 0 takes a free one.",
        kind="whole",
        group="basics",
        default="8000",
        limits=(0, 65535),
    ),
    workers=Option(
        "Processes; more than one needs PostgreSQL.", kind="whole", group="basics", default="1"
    ),
    webhook=Option(
        f"Send decisions, ends and alarms to this URL, signed with the variable {SECRET}.",
        group="basics",
        many=True,
        metavar="URL",
    ),
    notify=Option(
        "Send decisions, ends and alarms in words to an address of Apprise, as slack://..., "
        "msteams://... or mailto://...",
        group="basics",
        many=True,
        metavar="ADDRESS",
    ),
    retention=Option(
        "Erase units that came longer ago than this, such as 90d, in experiments that have ended.",
        group="basics",
        metavar="AGE",
    ),
    origin=Option("A web site whose pages may call the API.", many=True, metavar="URL"),
    proxy=Option(
        "The address or network of a reverse proxy whose X-Forwarded-For and X-Forwarded-Proto "
        f"are believed; by default those in the variable {PROXIES}.",
        many=True,
        metavar="ADDRESS",
    ),
    url=Option(
        "The address under which people reach the service, as https://tests.example.",
        metavar="URL",
    ),
    oidc_issuer=Option(
        "Let people sign in to the page with this OpenID Connect provider.",
        metavar="URL",
        needs=("oidc_client",),
    ),
    oidc_client=Option("The client id at the provider.", metavar="ID", needs=("oidc_issuer",)),
    oidc_viewer=Option(
        "Who may look: ann@shop.example, or @shop.example.", many=True, metavar="ADDRESS"
    ),
    oidc_admin=Option("Who may change tests.", many=True, metavar="ADDRESS"),
    largest_body=Option("Maximum number of bytes of a request.", kind="whole", default="1000000"),
    largest_batch=Option("Maximum number of outcomes in a request.", kind="whole", default="1000"),
    rate=Option(
        "Maximum number of requests per second with one key from one address.",
        kind="positive",
        default="10000",
    ),
    log_level=Option(
        "What is logged.", choices=("debug", "info", "warning", "error"), default="info"
    ),
)
"""Options of the service: most `Settings`, the number of processes, and the level of the log."""

SEVERAL = {
    "origin": "origins",
    "proxy": "proxies",
    "webhook": "webhooks",
    "oidc_viewer": "oidc_viewers",
    "oidc_admin": "oidc_admins",
}
"""Names of settings by the name of their option, which is the singular."""


@declared(SERVICE, environment="BASCULE_")
def command(store: str = STORE, **options: Any) -> None:
    """Serve a store over HTTP: the API, OFREP for OpenFeature clients, and the page."""
    needed()
    from bascule.service.server.run import serve
    from bascule.service.settings import Settings

    asked = read(SERVICE, options)
    workers, log_level = asked.pop("workers", 1), asked.pop("log_level", "info")
    asked = {
        SEVERAL.get(name, name): tuple(value) if SERVICE[name].many else value
        for name, value in asked.items()
    }
    asked.setdefault("proxies", _proxies_of_environment())
    settings = Settings(
        **asked,
        webhook_secret=os.environ.get(SECRET, ""),
        oidc_secret=os.environ.get("BASCULE_OIDC_SECRET", ""),
    )
    is_new = "://" not in store and not Path(store).is_file()

    def greet(opened: Store, address: str) -> None:
        _greet(opened, address, store, is_new, is_open=not settings.proxies)

    # In a terminal, a service is ended by an interrupt.
    with suppress(KeyboardInterrupt):
        serve(store, settings, workers, log_level, ready=greet)


def _proxies_of_environment() -> tuple[str, ...]:
    proxies = os.environ.get(PROXIES, "").split(",")
    return tuple(proxy.strip() for proxy in proxies if proxy.strip())


def needed() -> None:
    """Raise an error that says what to install if a dependency of the service is missing."""
    require("service", "the service", "fastapi", "httpx", "prometheus_client", "uvicorn")


def _greet(store: Store, address: str, location: str, is_new: bool, *, is_open: bool) -> None:
    from bascule.service.auth.keys import list_keys, make_link

    made = f" (new store, without tests: {Path(location).resolve()})" if is_new else ""
    typer.echo(f"bascule is at {address}{made}")
    if sys.stdout.isatty():
        typer.echo(f"sign in once at {address}/sign-in?token={make_link(store, time.time())}")
    else:
        # People who are not admins may read this output if it goes to a file or a journal.
        typer.echo(
            "sign in with a key, or with the link that this prints: "
            f"bascule key link --address {address} --store {shown_location(location)}"
        )
    if not list_keys(store):
        may = "every program on this machine may use the API" if is_open else "programs need one"
        typer.echo(
            f"there are no keys: {may}; create one with "
            f"bascule key create --role admin --store {shown_location(location)}"
        )
