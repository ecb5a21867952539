"""Sphinx settings: `make docs` builds the pages, and they need no network to be read."""

import gc
import sys
from pathlib import Path

import bascule

# Pages are trees of many objects: garbage collection took a quarter of the time of a build.
gc.set_threshold(200_000, 50, 50)

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "bascule"
author = "the bascule authors"
release = bascule.__version__

extensions = [
    *("myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"),
    *("mathml", "plain_docstrings", "plain_markdown", "command_options"),
]
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "bascule"
html_search_scorer = str(Path(__file__).parent / "scorer.js")
html_static_path = ["_static"]
html_css_files = ["docs.css"]
html_js_files = ["copy.js"]
html_logo = html_favicon = "../src/bascule/service/page/static/mark.svg"
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
exclude_patterns = ["_build"]
# Quotes and ellipses only: options such as --window keep their two hyphens.
smartquotes_action = "qe"
