"""Comparisons and audits of rules, the paper's results, and rules that are for research only.

The names are listed in `__init__.pyi`; each is loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
