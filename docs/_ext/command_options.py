"""The directive `command-options`: the options of a command as a table, made from the command."""

from __future__ import annotations

from typing import Any

import typer
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx

from bascule.cli.main import application


def option_table(name: str) -> list[str]:
    """Return the options of a command as the lines of a table in Markdown."""
    command = typer.main.get_command(application()).commands[name]  # type: ignore[attr-defined]
    lines = ["| option | meaning | default |", "|---|---|---|"]
    for option in command.params:
        if option.name in ("help", "help_all") or not option.opts[0].startswith("-"):
            continue
        is_flag = getattr(option, "is_flag", False)
        flags = "`, `".join([*option.opts, *option.secondary_opts])
        typed = flags if is_flag else f"{flags} {option.metavar or 'VALUE'}"
        cells = (f"`{typed}`", option.help or "", _default(option))
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return lines


def _default(option: Any) -> str:
    """Return the default as the help of the command shows it."""
    shown = option.show_default
    if isinstance(shown, str):
        return shown
    has_default = shown is not False and option.default not in (None, False, [], ())
    return str(option.default) if has_default else ""


class CommandOptions(Directive):
    """A table of the options of a command."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse the table where the directive stands."""
        found = nodes.container()
        self.state.nested_parse(StringList(option_table(self.arguments[0])), 0, found)
        return [found]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("command-options", CommandOptions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
