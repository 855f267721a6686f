"""`themescope people`: accounts and roles."""

from __future__ import annotations

import sys

import click

from core.errors import DataError
from db.label_records import Role
from jobs.cli.shell import Shell, common, pass_shell
from jobs.cli.tables import table
from jobs.services import people
from jobs.services.passwords import SHORTEST

ROLE = click.Choice([role.value for role in Role])


@click.group("people")
def people_() -> None:
    """Manage accounts and roles (viewer, labeller, admin)."""


@people_.command("list")
@common
@pass_shell
def list_(shell: Shell) -> None:
    """List people with role, sign-in method and time of last use."""
    rows = [
        {
            "name": member.person.name or "(no name)",
            "role": member.person.role.value,
            "signs in by": member.login or "–",
            "last seen": f"{member.person.seen:%Y-%m-%d %H:%M}" if member.person.seen else "–",
        }
        for member in people.members(shell.store)
    ]
    shell.show({"people": rows}, table(rows, empty="Nobody yet. Add somebody: themescope people add NAME --role admin"))


@people_.command()
@click.argument("name")
@click.option("--role", type=ROLE, default=Role.LABELLER.value, show_default=True, help="Role of the person.")
@click.option("--oidc", is_flag=True, help="Sign in through your organisation (OIDC); NAME is the e-mail address.")
@common
@pass_shell
def add(shell: Shell, name: str, role: str, oidc: bool) -> None:
    """Add an account for NAME. The password is prompted for, or read from standard input (one line)."""
    password = None if oidc else _password()
    stored = people.add(shell.store, name, Role(role), password)
    shell.show({"name": stored, "role": role}, f"{stored} may sign in as {role}.")


@people_.command()
@click.argument("name")
@common
@pass_shell
def password(shell: Shell, name: str) -> None:
    """Set a new password for NAME, prompted for or read from standard input. Open sessions end."""
    people.set_password(shell.store, name, _password())
    shell.show({"name": name}, f"{name} has another password.")


@people_.command("set-role")
@click.argument("name")
@click.argument("role", type=ROLE)
@common
@pass_shell
def set_role(shell: Shell, name: str, role: str) -> None:
    """Set the role of NAME: viewer, labeller or admin."""
    people.set_role(shell.store, name, Role(role))
    shell.show({"name": name, "role": role}, f"{name} is {role} now.")


@people_.command()
@click.argument("name")
@common
@pass_shell
def remove(shell: Shell, name: str) -> None:
    """Remove the account of NAME. Their labellings and reviews are kept."""
    people.remove(shell.store, name)
    shell.show({"name": name}, f"{name} is removed; what they labelled stays.")


def _password() -> str:
    """Prompt for a password twice, or read the first line of standard input if it is not a terminal."""
    if sys.stdin.isatty():
        typed: str = click.prompt(
            f"Password (at least {SHORTEST} characters)", hide_input=True, confirmation_prompt=True
        )
        return typed
    try:
        given = sys.stdin.readline().rstrip("\r\n")
    except UnicodeDecodeError:
        raise DataError("The password on standard input is not text in UTF-8. Write it as one line.") from None
    if not given:
        raise DataError("There is no password on standard input. Write it as one line.")
    return given
