"""`themescope mcp`: the server of the Model Context Protocol, on standard input and output."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import click

from themescope.core.errors import MissingExtraError
from themescope.db.access import Actor
from themescope.db.store import Store
from themescope.jobs.cli.shell import Shell, pass_shell
from themescope.jobs.services.accounts import api_tokens
from themescope.jobs.services.accounts.people import tidy

_HERE = "this machine"


@click.command("mcp")
@click.option("--read-only", is_flag=True, help="Offer no tools that change labels.")
@click.option("--person", default="", help="Name for changes of labels, where no token is given.")
@pass_shell
def mcp(shell: Shell, read_only: bool, person: str) -> None:
    """Serve a program, such as a language model, on standard input and output (Model Context Protocol).

    THEMESCOPE_TOKEN names the person: the server has the rights of that person. Without it, it acts for the owner of
    the data folder.
    """
    try:
        from themescope.jobs.mcp import serve, server_for
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "mcp":
            raise
        raise MissingExtraError("The command mcp", "mcp", "mcp") from None
    serve(server_for(shell.store, _actor(shell.store, tidy(person)), read_only))


def _actor(store: Store, person: str) -> Callable[[], Actor]:
    """Return a function that looks up the person with the current role, and raises ``AccessError`` if there is none."""
    token = store.settings.token
    if token:
        return partial(api_tokens.actor_of, store, token, _HERE)

    def owner() -> Actor:
        with store.reading() as r:
            return r.people.actor(person)

    return owner
