"""Design files, JSON or YAML."""

from __future__ import annotations

from pathlib import Path

from bascule.core.design import Design
from bascule.core.errors import InputError


def load_design(path: str | Path) -> Design:
    """The design of a file; one that ends in .yaml or .yml is YAML, any other JSON."""
    if Path(path).suffix.lower() not in (".yaml", ".yml"):
        return Design.load(path)
    import yaml

    try:
        data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "not a text file"
        raise InputError("design", f"cannot read the design file {path}: {reason}") from None
    except yaml.YAMLError as problem:
        place = getattr(problem, "problem_mark", None)
        where = "" if place is None else f" (line {place.line + 1})"
        raise InputError("design", f"the design file {path} is not valid YAML{where}") from None
    if not isinstance(data, dict):
        raise InputError("design", f"the design file {path} holds no design")
    return Design.from_dict(data)
