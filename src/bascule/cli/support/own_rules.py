"""Rules given to a command by name, or as a class in a Python file."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from typing import Any

from bascule.core.errors import InputError, invalid
from bascule.core.rules import RULES, Rule

FORM = "NAME or FILE.py:CLASS, with arguments as in my_rule.py:Eager(4)"


def named_rule(text: str, field: str = "rule") -> Rule:
    """Return the rule that a text names: registered, of another tool, or a class in a Python file.

    Arguments may follow in parentheses; without them the class is made with its defaults.

    >>> named_rule("tilt(5)"), named_rule("thompson").label
    (Tilt(tilt=5.0, effect=None, batch=1), 'thompson_0.01')
    """
    from bascule.research.rivals import RIVALS

    named, _, arguments = text.partition("(")
    path, colon, name = named.rpartition(":")
    if colon:
        cls = _class_in(Path(path), name, field)
    elif named in RIVALS:
        cls = RIVALS[named]
    elif named in RULES.kinds:
        cls = RULES.get(named)
    else:
        known = ", ".join([*RULES.kinds, *RIVALS])
        raise invalid(
            f"{field} {text!r} does not exist: choose from {known}, or name a class of your own as "
            "FILE.py:CLASS"
        )
    positional, keywords = _arguments(f"({arguments}" if arguments else "()", text, field)
    try:
        return cls(*positional, **keywords)
    except TypeError as problem:
        raise invalid(f"{field} {text!r} cannot be made: {problem}") from None


def _class_in(path: Path, name: str, field: str) -> type[Rule]:
    """Import a Python file as a module, and return the rule class of a given name."""
    if not path.is_file():
        raise invalid(f"{field} needs a file that exists (got {str(path)!r}): {FORM}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError(field, f"{path} is no Python file: {FORM}")
    module = importlib.util.module_from_spec(spec)
    # Annotations of a dataclass are looked up in the module of its class.
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as problem:
        raise InputError(field, f"{path} cannot be imported: {problem!r}") from problem
    found: Any = getattr(module, name, None)
    if not RULES.accepts(found):
        rules = [key for key, value in vars(module).items() if RULES.accepts(value)]
        raise InputError(
            field,
            f"{path} has no rule {name!r}; rules in it: {', '.join(rules) or 'none'} (a rule "
            "derives from bascule.design.Rule)",
        )
    rule: type[Rule] = found
    return rule


def _arguments(text: str, rule: str, field: str) -> tuple[list[Any], dict[str, Any]]:
    """Parse the arguments of a call; they must be literals."""
    try:
        call = ast.parse(f"_{text}", mode="eval").body
        if not isinstance(call, ast.Call):
            raise SyntaxError(text)
        positional = [ast.literal_eval(argument) for argument in call.args]
        keywords = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError):
        raise invalid(
            f"{field} {rule!r} cannot be read: {FORM}, whose arguments are plain values"
        ) from None
    return positional, keywords
