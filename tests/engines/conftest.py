"""The running service that tests of optional services need."""

from __future__ import annotations

from tests.service.conftest import admin, name, programs, service

__all__ = ["admin", "name", "programs", "service"]
