"""The page: the status of every test, what to do next, and a form for a new one."""

from __future__ import annotations

from bascule.service.page.render import problem_page
from bascule.service.page.router import page_router

__all__ = ["page_router", "problem_page"]
