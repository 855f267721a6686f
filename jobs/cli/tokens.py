"""`themescope people token`: tokens with which programs use the HTTP API as a person."""

from __future__ import annotations

import click

from themescope.db.sql import now
from themescope.jobs.cli.shell import Shell, common, pass_shell, table
from themescope.jobs.services.accounts import api_tokens


@click.group("token")
def token() -> None:
    """Manage tokens of the HTTP API."""


@token.command()
@click.argument("person")
@click.argument("name")
@click.option(
    "--days",
    type=click.IntRange(1, api_tokens.MOST_DAYS),
    default=api_tokens.DAYS,
    show_default=True,
    help="Number of days until it expires.",
)
@common
@pass_shell
def create(shell: Shell, person: str, name: str, days: int) -> None:
    """Create a token for the account of PERSON and print it; NAME says what it is for. It is not shown again."""
    made = api_tokens.create(shell.store, person, name, days)
    shell.show({"id": made.record.id, "token": made.secret, "expires": made.record.expires}, made.secret)


@token.command("list")
@click.argument("person", default="")
@common
@pass_shell
def list_(shell: Shell, person: str) -> None:
    """List the tokens of PERSON, or of everybody, without their secrets."""
    rows = [
        {
            "id": str(one.id),
            "person": one.person,
            "name": one.name,
            "state": one.state(now()),
            "created": f"{one.created:%Y-%m-%d}",
            "last used": f"{one.used:%Y-%m-%d %H:%M}" if one.used else "–",
            "expires": f"{one.expires:%Y-%m-%d}",
        }
        for one in api_tokens.tokens_of(shell.store, person or None)
    ]
    shell.show({"tokens": rows}, table(rows, empty="There are no tokens."))


@token.command()
@click.argument("id", type=int)
@common
@pass_shell
def revoke(shell: Shell, id: int) -> None:
    """Revoke the token with the number ID of the list; programs that use it are refused at once."""
    found = api_tokens.revoke(shell.store, id)
    shell.show({"id": id, "person": found.person}, f"The token “{found.name}” of {found.person} was revoked.")
