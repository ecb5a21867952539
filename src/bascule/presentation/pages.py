"""Reports as pages.

A page is one file with everything in it, and loads nothing from elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

    from bascule.presentation.report import Drawable, Report


def environment(package: str) -> Environment:
    """Return what renders the templates of a package; all text in them is escaped."""
    # Loaded at first use: most results are never made into a page.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def report_page(report: Report, kind: str, file: str = "") -> str:
    """Return a report as a page: what it has to say, its figures, and its details.

    - `kind`: what the page is, written above the headline
    - `file`: the text of a file that the report is about

    >>> from bascule.presentation.report import Drawable, Report
    >>> page = report_page(Report("Ship green", notes=("Proven.",)), "Test report")
    >>> page.startswith("<!doctype html>"), "Ship green" in page, "http" in page
    (True, True, False)
    """
    from bascule.presentation.figures import inline

    def drawn(figure: Drawable) -> str:
        return inline(figure.plot())

    page = environment("bascule.presentation").get_template("page.html")
    return page.render(report=report, kind=kind, drawn=drawn, file=file)
