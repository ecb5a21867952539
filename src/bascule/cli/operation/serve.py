"""`bascule serve`: the service on a store."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import typer

from bascule.cli.support.stores import STORE
from bascule.core.errors import InputError

if TYPE_CHECKING:
    from bascule.live.api import Store

SECRET = "BASCULE_WEBHOOK_SECRET"  # nosec B105: the name of a variable, no secret
PROXIES = "FORWARDED_ALLOW_IPS"


def command(
    store: str = STORE,
    host: str = typer.Option("127.0.0.1", envvar="BASCULE_HOST", help="The address to listen on."),
    port: int = typer.Option(
        8000, min=0, max=65535, envvar="BASCULE_PORT", help="The port; 0 takes a free one."
    ),
    workers: int = typer.Option(
        1, envvar="BASCULE_WORKERS", help="Processes; more than one needs PostgreSQL."
    ),
    origin: list[str] = typer.Option(
        [],
        envvar="BASCULE_ORIGIN",
        help="A web site whose pages may call the API; may be given again.",
    ),
    proxy: list[str] = typer.Option(
        [],
        envvar="BASCULE_PROXY",
        help="The address or network of a reverse proxy whose X-Forwarded-For and "
        f"X-Forwarded-Proto are believed; may be given again, or as {PROXIES}.",
    ),
    webhook: list[str] = typer.Option(
        [],
        envvar="BASCULE_WEBHOOK",
        help=f"Send decisions and alarms to this URL, signed with {SECRET}; may be given again.",
    ),
    notify: list[str] = typer.Option(
        [],
        envvar="BASCULE_NOTIFY",
        help="Send decisions and alarms in plain words to an address of Apprise, as "
        "slack://..., msteams://... or mailto://...; may be given again.",
        show_default=False,
    ),
    trace: bool = typer.Option(
        False,
        "--trace",
        envvar="BASCULE_TRACE",
        help="Send traces to OpenTelemetry, as its variables (OTEL_...) say.",
    ),
    oidc_issuer: str = typer.Option(
        "",
        envvar="BASCULE_OIDC_ISSUER",
        help="Let people sign in to the page with this OpenID Connect provider.",
        show_default=False,
    ),
    oidc_client: str = typer.Option(
        "", envvar="BASCULE_OIDC_CLIENT", help="The client id there.", show_default=False
    ),
    oidc_viewer: list[str] = typer.Option(
        [],
        envvar="BASCULE_OIDC_VIEWER",
        help="Who may look: ann@shop.example, or @shop.example; may be given again.",
        show_default=False,
    ),
    oidc_admin: list[str] = typer.Option(
        [],
        envvar="BASCULE_OIDC_ADMIN",
        help="Who may change tests; may be given again.",
        show_default=False,
    ),
    retention: str = typer.Option(
        "",
        metavar="AGE",
        envvar="BASCULE_RETENTION",
        help="Erase units that came longer ago, as 90d, in experiments that have ended.",
        show_default=False,
    ),
    largest_body: int = typer.Option(
        1_000_000, envvar="BASCULE_LARGEST_BODY", help="Bytes that a request may have."
    ),
    largest_batch: int = typer.Option(
        1000, envvar="BASCULE_LARGEST_BATCH", help="Outcomes that a request may have."
    ),
    rate: float = typer.Option(
        10_000.0,
        envvar="BASCULE_RATE",
        help="Requests a second that a key may send from one address.",
    ),
    log_level: str = typer.Option(
        "info", envvar="BASCULE_LOG_LEVEL", help="debug, info, warning or error."
    ),
) -> None:
    """Serve a store over HTTP: the API, OFREP for OpenFeature clients, and the page."""
    needed()
    from bascule.service.server.run import serve
    from bascule.service.server.settings import Settings

    if log_level not in ("debug", "info", "warning", "error"):
        raise InputError("log_level", f"log level must be debug, info, ... (got {log_level!r})")
    settings = Settings(
        host=host,
        port=port,
        origins=tuple(origin),
        proxies=tuple(proxy) or _proxies_of_environment(),
        largest_body=largest_body,
        largest_batch=largest_batch,
        rate=rate,
        webhooks=tuple(webhook),
        webhook_secret=os.environ.get(SECRET, ""),
        notify=tuple(notify),
        retention=retention,
        trace=trace,
        oidc_issuer=oidc_issuer,
        oidc_client=oidc_client,
        oidc_secret=os.environ.get("BASCULE_OIDC_SECRET", ""),
        oidc_viewers=tuple(oidc_viewer),
        oidc_admins=tuple(oidc_admin),
    )
    # An interrupt is how one ends a service in a terminal.
    with suppress(KeyboardInterrupt):
        serve(store, settings, workers, log_level, ready=_greet)


def _proxies_of_environment() -> tuple[str, ...]:
    given = os.environ.get(PROXIES, "").split(",")
    return tuple(proxy.strip() for proxy in given if proxy.strip())


def needed() -> None:
    """Raise an error that says what to install where a dependency of the service is missing."""
    try:
        import fastapi  # noqa: F401
        import httpx  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as missing:
        raise InputError(
            "service", f"the service needs {missing.name}: pip install 'bascule[service]'"
        ) from None


def _greet(store: Store, address: str) -> None:
    from bascule.service.auth.keys import list_keys
    from bascule.service.auth.sessions import make_link

    typer.echo(f"bascule is at {address}")
    if sys.stdout.isatty():
        typer.echo(f"sign in once at {address}/sign-in?token={make_link(store, time.time())}")
    else:
        # What is written to a file or a journal is read by more people than may be admins.
        typer.echo(
            "sign in with a key, or with a link: bascule key link --address "
            f"{address}, with the --store of this service"
        )
    if not list_keys(store):
        typer.echo(
            "there are no keys: every program on this machine may use the API; create one with "
            "bascule key create"
        )
