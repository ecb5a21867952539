"""Settings of a service: where it listens, whom it trusts, and how much it accepts at once."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from bascule.core.errors import InputError, invalid
from bascule.core.inputs.checks import seconds

WEBHOOK_SECRET = "BASCULE_WEBHOOK_SECRET"  # nosec B105: the name of a variable, no secret
"""The environment variable with the secret that signs webhooks."""


MAILBOX = re.compile(r"[a-z0-9!#$%&'*+/=?^_`{|}~.-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)*", re.I | re.A)
"""Pattern of a common e-mail address: one @, and no quotes, comments, spaces or commas."""

LISTED = re.compile(r"[a-z0-9!#$%&'*+/=?^_`{|}~.-]*@[a-z0-9-]+(?:\.[a-z0-9-]+)*", re.I | re.A)
"""Pattern of an e-mail address, or of a domain such as @shop.example."""

MOST_FIELDS = 1000
"""Maximum number of fields of a URL or a form; the largest form has fewer than a hundred."""

LARGE = 8192
"""Number of bytes above which a body is parsed and validated in a thread."""

NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a service; by default it serves only programs on its own machine.

    `origins` are the web sites whose pages may call the API from a browser. `proxies` are the
    addresses, or networks, of reverse proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are
    believed; by default, no proxy is believed. A caller (a key at an address) may send `rate`
    requests a second, and an address may fail to authenticate `guesses` times a minute. With
    `retention`, as "90d", units that came longer ago are erased in experiments that have ended.
    `url` is the address under which people reach the service, to which an identity provider sends
    them back.

    >>> Settings().is_local
    True
    """

    host: str = "127.0.0.1"
    port: int = 8000
    origins: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    largest_body: int = 1_000_000
    largest_batch: int = 1000
    deepest_json: int = 20
    rate: float = 10_000.0
    guesses: int = 30
    session_hours: float = 12.0
    webhooks: tuple[str, ...] = ()
    webhook_secret: str = ""
    notify: tuple[str, ...] = ()
    retention: str = ""
    url: str = ""
    oidc_issuer: str = ""
    oidc_client: str = ""
    oidc_secret: str = ""
    oidc_viewers: tuple[str, ...] = ()
    oidc_admins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("largest_body", "largest_batch", "deepest_json", "rate", "guesses"):
            if not getattr(self, name) > 0:
                raise invalid(f"{name} must be above 0 (got {getattr(self, name)!r})")
        for origin in self.origins:
            if "://" not in origin or origin.count("/") != 2:
                raise InputError(
                    "origins",
                    "an origin must be a URL without a path, such as https://shop.example "
                    f"(got {origin!r})",
                )
        for proxy in self.proxies:
            _check_proxy(proxy)
        if "*" in self.proxies and len(self.proxies) > 1:
            proxies = ", ".join(proxy for proxy in self.proxies if proxy != "*")
            message = f"* believes every proxy: give --proxy '*' alone, or only {proxies:.60}"
            raise InputError("proxies", message)
        for url in self.webhooks:
            if _host(url) is None:
                raise InputError(
                    "webhooks",
                    "a webhook must be an HTTP URL, such as https://hooks.example/bascule "
                    f"(got {shown_url(url)!r})",
                )
        if self.webhooks:
            webhook_key(self.webhook_secret)
        if self.url and (_host(self.url) is None or _has_more(self.url)):
            raise invalid(
                "url must be an HTTP URL without a path or query, such as https://tests.example "
                f"(got {self.url!r:.60})"
            )
        if self.oidc_issuer:
            self._check_oidc()
        elif self.oidc_client or self.oidc_secret or self.oidc_viewers or self.oidc_admins:
            raise InputError(
                "oidc_issuer",
                "the other settings of OIDC need the URL of the identity provider: give "
                "--oidc-issuer https://accounts.example, or leave them out",
            )
        if self.retention and seconds("retention", self.retention) <= 0.0:
            raise invalid(
                f"retention must be above 0 (got {self.retention!r:.60}): it would erase every "
                "unit of tests that have ended"
            )

    def _check_oidc(self) -> None:
        host = _host(self.oidc_issuer)
        is_safe = self.oidc_issuer.startswith("https://") or is_loopback(host or "")
        if host is None or not is_safe:
            raise InputError(
                "oidc_issuer",
                "an issuer must be an HTTPS URL, such as https://accounts.example "
                f"(got {self.oidc_issuer!r:.60})",
            )
        if not self.oidc_client:
            raise InputError("oidc_client", "OIDC needs a client id: give --oidc-client")
        entries = (*self.oidc_viewers, *self.oidc_admins)
        wrong = [entry for entry in entries if not LISTED.fullmatch(entry)]
        if not entries or wrong:
            raise InputError(
                "oidc_viewers",
                "say who may sign in, one address or domain each, as --oidc-viewer @shop.example "
                f"--oidc-admin ann@shop.example (got {', '.join(wrong) or 'nobody':.60})",
            )
        if not self.url and not (self.is_local and not self.proxies):
            raise InputError(
                "url",
                "OIDC needs the address under which people reach the service: give --url "
                "https://tests.example",
            )

    @property
    def is_local(self) -> bool:
        """Whether the service listens on this machine only, perhaps behind a proxy."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether an address, or a host name, means this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def webhook_key(secret: str) -> bytes:
    """Return the key that signs webhooks: the text's bytes, or the base64 after `whsec_` decoded.

    >>> webhook_key("whsec_c2VjcmV0IG9mIHRoZSBzaG9w")
    b'secret of the shop'
    """
    if not secret:
        raise InputError("webhook_secret", f"webhooks are signed: set {WEBHOOK_SECRET}")
    key = secret.encode()
    if secret.startswith("whsec_"):
        try:
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except (binascii.Error, ValueError):
            raise InputError(
                "webhook_secret", f"{WEBHOOK_SECRET} must be base64 after whsec_"
            ) from None
    if not key.strip():
        raise InputError("webhook_secret", f"{WEBHOOK_SECRET} is blank: give it a random text")
    return key


def shown_url(url: str) -> str:
    """Return a URL as it may be logged: scheme, host and port, since the rest may hold a secret.

    >>> shown_url("https://ann:pass@hooks.example:8443/services/T0/SECRET?token=1")
    'https://hooks.example:8443/...'
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
    except ValueError:
        return "..."
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}/..."


def _has_more(url: str) -> bool:
    """Whether a URL has a path, a query or a fragment."""
    parts = urlsplit(url)
    return bool(parts.path.strip("/") or parts.query or parts.fragment)


def _host(url: str) -> str | None:
    """Return the host of an HTTP URL; None if it is invalid or programs could read it differently.

    Unusual notations of numeric addresses are refused: some programs read 0177.0.0.1 as 127.0.0.1,
    others as 177.0.0.1.

    >>> _host("https://hooks.example:8443/x"), _host("http://0177.0.0.1/"), _host("http://0x7f.1")
    ('hooks.example', None, None)
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        if NUMBER.fullmatch(host.rpartition(".")[2]) or ":" in host:
            ip_address(host)
    except ValueError:
        return None
    fits = parts.scheme in ("http", "https") and bool(host) and port != 0
    is_plain = url.isascii() and url.isprintable() and " " not in url
    return host if fits and is_plain else None


def _check_proxy(proxy: str) -> None:
    if proxy == "*":
        return
    try:
        network = ip_network(proxy, strict=False)
    except ValueError:
        raise InputError(
            "proxies", f"a proxy is an address or a network, as in 10.0.0.0/8 (got {proxy!r:.60})"
        ) from None
    if "/" in proxy and str(network.network_address) != str(ip_address(proxy.partition("/")[0])):
        raise InputError(
            "proxies", f"{proxy} is no network: give {network}, or {proxy.partition('/')[0]}"
        )


def believed(proxies: Sequence[str]) -> list[str]:
    """Return trusted proxies, those of IPv4 also as IPv4-mapped IPv6 addresses.

    >>> believed(["10.0.0.0/8"])
    ['10.0.0.0/8', '::ffff:a00:0/104']
    """
    networks = [ip_network(proxy) for proxy in proxies if proxy != "*"]
    mapped = [
        str(ip_network((f"::ffff:{network.network_address}", 96 + network.prefixlen)))
        for network in networks
        if network.version == 4
    ]
    return [*proxies, *mapped]
