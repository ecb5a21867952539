"""Targets: where the shares of a steered test are written, and read back from.

A target has two operations. `read` returns the share of each variant of the flag, and `write` sets
these shares and leaves everything else about the flag as it is.
"""

from __future__ import annotations

import json
import subprocess  # nosec B404 - the command that the user's own file names
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from bascule.core.errors import InputError, invalid
from bascule.core.inputs.files import write_whole
from bascule.steering.ledger import Shares

WRITE_SECONDS = 60.0
"""Maximum number of seconds for a call of a target; a write takes at most two calls."""

PARTS = 1000
"""Flags have whole weights: shares are written in thousandths."""


class Target(Protocol):
    """Where shares are written to."""

    def within(self, folder: Path) -> Target:
        """Return the target with absolute paths, given the folder of the test."""

    def read(self) -> Shares:
        """Return the share of each variant."""

    def write(self, shares: Shares) -> None:
        """Set the share of each variant."""


def failed(place: str, problem: str) -> InputError:
    """Return the error to raise for a problem with a target."""
    return InputError("target", f"{place}: {problem}", kind="conflict")


def weights(shares: Shares) -> dict[str, int]:
    """Return shares as whole thousandths that add up to 1,000.

    >>> weights({"control": 1 / 3, "green": 1 / 3, "blue": 1 / 3})
    {'control': 333, 'green': 333, 'blue': 334}
    """
    parts = {arm: round(PARTS * share) for arm, share in shares.items()}
    last = [arm for arm, share in shares.items() if share > 0.0][-1]
    parts[last] += PARTS - sum(parts.values())
    return parts


def shares_of(place: str, parts: Mapping[str, object]) -> dict[str, float]:
    """Return weights as shares that add up to 1; raise an error if they are not weights."""
    numbers = {name: float(part) for name, part in parts.items() if isinstance(part, int | float)}
    total = sum(numbers.values())
    if len(numbers) < max(2, len(parts)) or min(numbers.values()) < 0.0 or total <= 0.0:
        raise failed(
            place,
            f"two or more variants must have weights from 0 on, not all 0 (got "
            f"{dict(parts)!r:.80})",
        )
    return {name: part / total for name, part in numbers.items()}


@dataclass(frozen=True, slots=True)
class Flagd:
    """A flag in a file of flagd: the weights of its `fractional` targeting rule.

    The file is replaced by a new one as a whole, so that flagd never reads half of it.
    """

    kind: Literal["flagd"]
    file: Path
    flag: str
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    def within(self, folder: Path) -> Flagd:
        """Return the target with the absolute path of its file, given the folder of the test."""
        return replace(self, file=folder / self.file)

    @property
    def _where(self) -> str:
        return f"flag {self.flag!r} in {self.file}"

    def _definition(self) -> tuple[dict[str, Any], list[Any]]:
        """Return the data of the file, and the list in it that has the weights."""
        try:
            data = json.loads(self.file.read_text(encoding="utf-8"))
            rules = list(_fractions(data["flags"][self.flag].get("targeting")))
        except OSError as problem:
            raise failed(str(self.file), f"cannot be read ({problem.strerror})") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise failed(self._where, "there is no such flag: check file and flag") from None
        if len(rules) != 1:
            raise failed(
                self._where,
                f"its targeting must have one fractional rule (it has {len(rules)}), as "
                '{"fractional": [["control", 50], ["green", 50]]}',
            )
        return data, rules[0]

    def read(self) -> Shares:
        """Return the share of each variant."""
        _, rule = self._definition()
        return shares_of(self._where, {entry[0]: (*entry, 1)[1] for entry in _entries(rule)})

    def write(self, shares: Shares) -> None:
        """Set the weights, and replace the file."""
        data, rule = self._definition()
        key = rule[: len(rule) - len(_entries(rule))]
        rule[:] = [*key, *([arm, weight] for arm, weight in weights(shares).items())]
        try:
            write_whole(self.file, json.dumps(data, indent=2, ensure_ascii=False).encode() + b"\n")
        except OSError as problem:
            raise failed(str(self.file), f"cannot be written ({problem.strerror})") from None


def _fractions(node: Any) -> list[list[Any]]:
    """Return the arguments of every `fractional` rule within a targeting rule."""
    if isinstance(node, list):
        return [rule for part in node for rule in _fractions(part)]
    if not isinstance(node, dict):
        return []
    own = [node["fractional"]] if isinstance(node.get("fractional"), list) else []
    return own + [rule for part in node.values() for rule in _fractions(part)]


def _entries(rule: list[Any]) -> list[list[Any]]:
    """Return the variants of a fractional rule, without the key that users are hashed by."""
    return [part for part in rule if isinstance(part, list) and part and isinstance(part[0], str)]


@dataclass(frozen=True, slots=True)
class Unleash:
    """A flag of Unleash: the weights of the strategy with variants in one environment."""

    kind: Literal["unleash"]
    url: str
    flag: str
    environment: str
    token: str
    project: str = "default"
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    def within(self, folder: Path) -> Unleash:  # noqa: ARG002 - it has no paths
        """Return the target itself, which has no paths."""
        return self

    @property
    def _where(self) -> str:
        return f"Unleash, flag {self.flag!r} in {self.environment}"

    def _call(self, method: str, path: str = "", body: object = None) -> Any:
        address = (
            f"{self.url.rstrip('/')}/api/admin/projects/{self.project}/features/{self.flag}"
            f"/environments/{self.environment}/strategies{path}"
        )
        if not address.startswith(("http://", "https://")):
            raise failed(self._where, "url must begin with http:// or https://")
        headers = {"Authorization": self.token, "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(address, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=WRITE_SECONDS) as answer:  # nosec B310
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as problem:
            hints = {401: ": check the token", 403: ": the token may not do this"}
            said = f"it answered {problem.code}{hints.get(problem.code, '')}"
            raise failed(
                self._where, f"{said} ({problem.read(200).decode(errors='replace')})"
            ) from None
        except (OSError, ValueError) as problem:
            raise failed(self._where, f"it cannot be reached ({problem})") from None

    def _strategy(self) -> dict[str, Any]:
        found = [strategy for strategy in self._call("GET") if strategy.get("variants")]
        if len(found) != 1:
            raise failed(
                self._where,
                f"exactly one strategy must have variants (got {len(found)}): change them there",
            )
        return dict(found[0])

    def read(self) -> Shares:
        """Return the share of each variant."""
        variants = self._strategy()["variants"]
        return shares_of(self._where, {variant["name"]: variant["weight"] for variant in variants})

    def write(self, shares: Shares) -> None:
        """Set the weights; the last arm with a share gets the rest to 1,000."""
        strategy, parts = self._strategy(), weights(shares)
        last = [arm for arm, weight in parts.items() if weight][-1]
        variants = [
            {
                **variant,
                "weight": parts[variant["name"]],
                "weightType": "variable" if variant["name"] == last else "fix",
            }
            for variant in strategy["variants"]
        ]
        kept = ("name", "title", "disabled", "parameters", "constraints", "segments", "sortOrder")
        body = {name: strategy[name] for name in kept if name in strategy}
        self._call("PUT", f"/{strategy['id']}", {**body, "variants": variants})


@dataclass(frozen=True, slots=True)
class Command:
    """A program of the user's own, called as `COMMAND read` and `COMMAND write`.

    For `read` it prints the shares as a JSON object. For `write` it gets them on standard input.
    """

    kind: Literal["command"]
    command: tuple[str, ...]
    folder: Path = Path()
    """Where the program runs, relative to the folder of the test."""
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if not self.command:
            raise invalid('command must be a list of words, as ["./set-shares.sh"] (got [])')

    def within(self, folder: Path) -> Command:
        """Return the target with the absolute path of its folder, given the folder of the test."""
        return replace(self, folder=folder / self.folder)

    def _run(self, verb: str, text: str = "") -> str:
        place = f"command {self.command[0]}"
        try:
            result = subprocess.run(  # nosec B603
                [*self.command, verb],
                input=text,
                capture_output=True,
                text=True,
                timeout=WRITE_SECONDS,
                cwd=self.folder,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise failed(place, f"{verb} failed ({problem})") from None
        if result.returncode:
            said = result.stderr.strip().splitlines() or ["it says nothing"]
            raise failed(
                place, f"{verb} failed with exit code {result.returncode} ({said[-1]:.200})"
            )
        return result.stdout

    def read(self) -> Shares:
        """Return the shares that the program prints."""
        printed, place = self._run("read"), f"command {self.command[0]}"
        try:
            return shares_of(place, dict(json.loads(printed)))
        except (ValueError, TypeError):
            raise failed(place, f"read must print shares as JSON (got {printed!r:.80})") from None

    def write(self, shares: Shares) -> None:
        """Call the program with the shares."""
        self._run("write", json.dumps(dict(shares)))
