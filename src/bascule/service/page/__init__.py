"""The page: the status of every test, what to do next, and a form for a new one."""

from __future__ import annotations

from bascule.service.page import keys
from bascule.service.page.render import problem_page
from bascule.service.page.router import router

router.include_router(keys.router)

__all__ = ["problem_page", "router"]
