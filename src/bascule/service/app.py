"""The service put together: `make_app(store, settings)` is an ASGI application.

`app.state` has the `store`, the `settings`, the `keys` (a `Keyring`) and `guesses`.

The page is in `bascule.service.page`, which has `page_router()`, an `APIRouter` whose paths begin
at `/`, and may have `problem_page(request, problem)`, the HTML for a refusal. Its folder `static`
is served at `/static`. Calls of the store wait for the disk: in endpoints they go through
`starlette.concurrency.run_in_threadpool`, and changes inside `acting_as(caller.name)` of
`bascule.live.actor`, so that the audit log says who it was.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from bascule import __version__
from bascule.core.errors import InputError, StoreError
from bascule.live.store import Store
from bascule.service.keys import Keyring
from bascule.service.limits import Buckets
from bascule.service.problems import Problem, problem_of
from bascule.service.settings import Settings

PAGE = "bascule.service.page"
API = ("/v1", "/ofrep", "/healthz", "/readyz", "/metrics", "/openapi.json")


def make_app(store: Store, settings: Settings | None = None) -> FastAPI:
    """The service on a store.

    >>> import bascule as bs
    >>> app = make_app(bs.open(":memory:"))
    >>> app.title
    'bascule'
    """
    settings = settings or Settings()
    app = FastAPI(
        title="bascule",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        # A redirect for a slash too many would break clients that follow none.
        redirect_slashes=False,
    )
    app.state.store = store
    app.state.settings = settings
    app.state.keys = Keyring(store)
    app.state.guesses = Buckets(settings.guesses / 60, settings.guesses)
    _answer_problems(app)
    _add_page(app)
    return app


def _add_page(app: FastAPI) -> None:
    if importlib.util.find_spec(PAGE) is None:
        return
    page = importlib.import_module(PAGE)
    app.include_router(page.page_router(), include_in_schema=False)
    static = Path(str(page.__file__)).parent / "static"
    if static.is_dir():
        app.mount("/static", StaticFiles(directory=static), name="static")
    app.state.problem_page = getattr(page, "problem_page", None)


def _answer_problems(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def refused(request: Request, problem: Problem) -> Response:
        if _wants_page(request):
            if problem.status == 401 and request.method == "GET":
                return RedirectResponse("/sign-in", 303)
            shown = getattr(request.app.state, "problem_page", None)
            if shown is not None:
                answer: Response = shown(request, problem)
                return answer
        return problem.response()

    @app.exception_handler(InputError)
    async def unusable(request: Request, error: InputError) -> Response:
        return await refused(request, problem_of(error))

    @app.exception_handler(StoreError)
    async def failed(request: Request, error: StoreError) -> Response:
        return await refused(request, problem_of(error))

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        problem = Problem(error.status_code, str(error.detail), headers=error.headers)
        return await refused(request, problem)


def _wants_page(request: Request) -> bool:
    path = request.url.path
    return not path.startswith(API) and "text/html" in request.headers.get("accept", "")
