"""The HTTP client with which the service calls others: an identity provider, and webhooks."""

from __future__ import annotations

from functools import cached_property
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

SECONDS = 10.0
"""Seconds that a call may take."""


class Outgoing:
    """One HTTP client for all outgoing calls; it keeps no cookies.

    Loading certificates takes a hundred times as long as preparing a call, so they are loaded when
    the service starts. The client is created by the first call: an unusable proxy in the
    environment must not keep the service from starting.
    """

    def __init__(self) -> None:
        self._tls = httpx.create_ssl_context()

    @cached_property
    def client(self) -> httpx.AsyncClient:
        """The HTTP client, made at first use."""
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        return httpx.AsyncClient(timeout=SECONDS, verify=self._tls, cookies=no_cookies)

    async def close(self) -> None:
        """Close the client's open connections."""
        if "client" in self.__dict__:
            await self.client.aclose()
