"""The table of what pages, the HTTP API, commands and MCP tools do is complete, and each gap has its reason."""

import click
import pytest

pytest.importorskip("mcp")

from tests.contracts import operations as of
from tests.contracts.test_actions import ACTIONS
from tests.places import ROOT
from themescope.jobs.cli.main import main


def test_every_operation_page_command_and_action_is_in_the_table() -> None:
    known = {
        "operations": (of.operations(), {name for row in of.ROWS for name in row.operations.split()}),
        "commands": (
            {*main.list_commands(click.Context(main))},
            {name for row in of.ROWS if row.commands for name in row.commands.split(", ")},
        ),
        "pages": (
            {folder.name for folder in (ROOT / "webapp" / "features").iterdir() if (folder / "page.py").is_file()},
            {name for row in of.ROWS for name in row.pages.split()},
        ),
        "actions": (
            {action for actions in ACTIONS.values() for action in actions},
            {name for row in of.ROWS if row.actions for name in row.actions.split("; ")},
        ),
    }
    for what, (there, listed) in known.items():
        assert (there - listed, listed - there) == (set(), set()), what


def test_every_gap_has_a_reason() -> None:
    without = [row.what for row in of.ROWS if not row.why and not (row.operations and row.commands)]
    assert without == []


def test_the_table_is_documented() -> None:
    assert of.documented() == of.table(), "Run: python -m tests.contracts.operations --write"
