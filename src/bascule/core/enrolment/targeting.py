"""Targeting rules: JSON in the form of JsonLogic, checked when a test is created.

A rule is true or false for the attributes of a unit's context. It has no loops, no functions of its
own and no access to anything but the attributes, so it always ends and never fails: whatever cannot
be evaluated is refused beforehand. A comparison is false if its attribute is missing, or has
another type than the value that it is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bascule.core.errors import InputError, invalid
from bascule.core.inputs.checks import LARGEST

Context = Mapping[str, Any]
Test = Callable[[Context], bool]
Term = Callable[[Context], Any]

DEEPEST, MOST_PARTS, LONGEST_TEXT = 10, 500, 500
"""Maximum depth of a rule, number of its parts, and length of its texts."""

MOST_VALUES = 1000
"""Maximum number of values in a context, including those in its lists and objects."""


def checked_context(context: object) -> Context:
    """Return a context; raise `InputError` if it is too large to evaluate a rule quickly.

    >>> checked_context({"groups": ["alpha", "beta"]})
    {'groups': ['alpha', 'beta']}
    """
    if not isinstance(context, Mapping):
        raise invalid(f"context must have names and values (got {context!r:.60})")
    values = 0
    left: list[Any] = [context]
    while left:
        part = left.pop()
        values += len(part)
        if values > MOST_VALUES:
            raise invalid(
                f"context may have at most {MOST_VALUES:,} values, those of its lists included: "
                "send only what targeting rules ask for"
            )
        inside = part.values() if isinstance(part, Mapping) else part
        left += [value for value in inside if isinstance(value, (Mapping, list, tuple))]
    return context


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _alike(left: object, right: object) -> bool:
    """Return whether two values can be compared: both numbers, both texts or both booleans."""
    if _is_number(left):
        return _is_number(right)
    return isinstance(left, (str, bool)) and type(left) is type(right)


def _ordered(left: object, right: object) -> bool:
    return _alike(left, right) and not isinstance(left, bool)


def _both_text(left: object, right: object) -> bool:
    return isinstance(left, str) and isinstance(right, str)


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda left, right: _alike(left, right) and left == right,
    "!=": lambda left, right: _alike(left, right) and left != right,
    "<": lambda left, right: _ordered(left, right) and left < right,
    "<=": lambda left, right: _ordered(left, right) and left <= right,
    ">": lambda left, right: _ordered(left, right) and left > right,
    ">=": lambda left, right: _ordered(left, right) and left >= right,
    "starts_with": lambda left, right: _both_text(left, right) and left.startswith(right),
    "ends_with": lambda left, right: _both_text(left, right) and left.endswith(right),
}
"""Operators on two values, at least one of which is an attribute."""

OPERATORS = ("and", "or", "!", "in", *COMPARISONS)


def rule_of(rule: object) -> Test:
    """Return the predicate that a rule describes; raise `InputError` if it cannot be evaluated.

    >>> french, adult = {"==": [{"var": "country"}, "FR"]}, {">=": [{"var": "age"}, 18]}
    >>> both = rule_of({"and": [french, adult]})
    >>> both({"country": "FR", "age": 30}), both({"country": "FR"}), both({})
    (True, False, False)
    """
    return _Reader().test(rule, 1)


class _Reader:
    """Parser of a targeting rule that limits the number of its parts."""

    def __init__(self) -> None:
        self._parts = 0

    def test(self, rule: object, depth: int) -> Test:
        """Return the predicate for a part of a rule that is true or false."""
        self._count(depth)
        if not isinstance(rule, Mapping) or len(rule) != 1:
            example = '{"==": [{"var": "country"}, "FR"]}'
            raise _refused(f"{_shown(rule)} is not a rule: write {example}")
        ((operator, operands),) = rule.items()
        if operator in ("and", "or"):
            return self._joined(operator, operands, depth)
        if operator == "!":
            (inner,) = (
                operands if isinstance(operands, list) and len(operands) == 1 else (operands,)
            )
            negated = self.test(inner, depth + 1)
            return lambda context: not negated(context)
        if operator == "in":
            return self._member(operands, depth)
        if operator in COMPARISONS:
            return self._compared(operator, operands, depth)
        raise _refused(f"{operator!r:.60} is not an operator: use {', '.join(OPERATORS)}")

    def _joined(self, operator: str, operands: object, depth: int) -> Test:
        if not isinstance(operands, list) or not operands:
            raise _refused(f'"{operator}" needs a list of rules (got {_shown(operands)})')
        tests = [self.test(part, depth + 1) for part in operands]
        if operator == "and":
            return lambda context: all(test(context) for test in tests)
        return lambda context: any(test(context) for test in tests)

    def _compared(self, operator: str, operands: object, depth: int) -> Test:
        left, right = self._two(operator, operands)
        first, second = self._term(left, depth + 1), self._term(right, depth + 1)
        if not (_is_variable(left) or _is_variable(right)):
            raise _refused(f'"{operator}" compares {_shown(operands)}: one must be {{"var": NAME}}')
        compare = COMPARISONS[operator]
        return lambda context: compare(first(context), second(context))

    def _member(self, operands: object, depth: int) -> Test:
        """Return the predicate that a value is in a list of literals, or in an attribute's list."""
        left, right = self._two("in", operands)
        value = self._term(left, depth + 1)
        if isinstance(right, list):
            accepted = [self._term(term, depth + 1)({}) for term in right if not _is_variable(term)]
            if len(accepted) < len(right) or not _is_variable(left):
                raise _refused('"in" needs an attribute and a list of texts or numbers')
            return lambda context: any(_is_equal(value(context), entry) for entry in accepted)
        if not _is_variable(right):
            raise _refused(f'"in" needs a list of texts or numbers (got {_shown(right)})')
        listed = self._term(right, depth + 1)

        def test(context: Context) -> bool:
            members, sought = listed(context), value(context)
            if not isinstance(members, (list, tuple)):
                return False
            return any(_is_equal(sought, member) for member in members)

        return test

    def _term(self, part: object, depth: int) -> Term:
        """Read a value: a text, a number, true or false, or an attribute."""
        self._count(depth)
        if isinstance(part, Mapping) and len(part) == 1 and "var" in part:
            return _attribute(part["var"])
        if isinstance(part, str) and len(part) > LONGEST_TEXT:
            raise _refused(f"a text may have at most {LONGEST_TEXT} characters (got {len(part):,})")
        is_finite = _is_number(part) and -LARGEST <= part <= LARGEST  # type: ignore[operator]
        if not (isinstance(part, (str, bool)) or is_finite):
            raise _refused(f'{_shown(part)} is no text, number, true, false or {{"var": NAME}}')
        return lambda _: part

    def _two(self, operator: str, operands: object) -> tuple[object, object]:
        if not isinstance(operands, list) or len(operands) != 2:
            raise _refused(f'"{operator}" needs a list of two values (got {_shown(operands)})')
        return operands[0], operands[1]

    def _count(self, depth: int) -> None:
        self._parts += 1
        if depth > DEEPEST or self._parts > MOST_PARTS:
            raise _refused(f"at most {MOST_PARTS} parts, nested at most {DEEPEST} levels")


def _attribute(name: object) -> Term:
    """Return a function for the value of an attribute; "a.b" is the field b of the object a."""
    if not isinstance(name, str) or not name or len(name) > LONGEST_TEXT:
        raise _refused(f'{_shown(name)} is no name of an attribute: write {{"var": "country"}}')
    steps = name.split(".")

    def value(context: Context) -> Any:
        part: Any = context
        for step in steps:
            if not isinstance(part, Mapping):
                return None
            part = part.get(step)
        return part

    return value


def _is_variable(part: object) -> bool:
    return isinstance(part, Mapping)


def _is_equal(left: object, right: object) -> bool:
    return _alike(left, right) and left == right


def _shown(part: object) -> str:
    return f"{part!r:.60}"


def _refused(problem: str) -> InputError:
    return invalid(f"where cannot be evaluated: {problem}")
