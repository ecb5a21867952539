"""How a service is run: what it listens on, whom it lets in, and how much it takes at once."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

from bascule.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that an operator may set; the defaults suit a laptop.

    `origins` are the web sites whose pages may call the API from a browser. A caller may send
    `rate` requests a second, and an address may try `guesses` wrong keys a minute.

    >>> Settings().is_local
    True
    """

    host: str = "127.0.0.1"
    port: int = 8000
    origins: tuple[str, ...] = ()
    largest_body: int = 1_000_000
    largest_batch: int = 1000
    deepest_json: int = 20
    rate: float = 10_000.0
    guesses: int = 30
    session_hours: float = 12.0
    webhooks: tuple[str, ...] = ()
    webhook_secret: str = ""

    def __post_init__(self) -> None:
        if self.webhooks and not self.webhook_secret:
            raise InputError("webhook_secret", "webhooks are signed: set BASCULE_WEBHOOK_SECRET")
        for name in ("largest_body", "largest_batch", "deepest_json", "rate", "guesses"):
            if not getattr(self, name) > 0:
                raise InputError(name, f"{name} must be above 0 (got {getattr(self, name)!r})")
        for origin in self.origins:
            if "://" not in origin or origin.count("/") != 2:
                raise InputError(
                    "origins", f"an origin is as in https://shop.example (got {origin!r})"
                )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the service."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether an address, or a name of one, is this machine's own.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
