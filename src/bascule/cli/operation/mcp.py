"""`bascule mcp`: tools for assistants that speak the Model Context Protocol."""

from __future__ import annotations

import typer

from bascule.cli.support.designs import switch
from bascule.core.errors import require


def command(
    url: str = typer.Option(
        "http://127.0.0.1:8000", envvar="BASCULE_URL", help="Where the service is."
    ),
    key: str = typer.Option(
        "",
        envvar="BASCULE_KEY",
        help="API key of the tools: they may do what its role allows.",
        show_default=False,
    ),
    allow_changes: bool = switch(
        "--allow-changes", "Also offer tools that create and change tests."
    ),
) -> None:
    """Serve tools of a running service to an assistant, on standard input and output."""
    require("mcp", "this command", "mcp", "httpx")
    import asyncio

    from bascule.service.mcp_server import serve

    asyncio.run(serve(url, key, allow_changes))
