"""`themescope people`: accounts and roles, tokens of the HTTP API, and personal data."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from themescope.core.errors import DataError
from themescope.core.records.stored import Role
from themescope.db.passwords import SHORTEST
from themescope.db.sql import now
from themescope.jobs.cli.shell import Shell, common, pass_shell, table
from themescope.jobs.services.accounts import api_tokens, people

_ROLE = click.Choice([role.value for role in Role])


@click.group("people")
def people_() -> None:
    """Manage accounts and roles (viewer, labeller, admin)."""


@people_.command("list")
@common
@pass_shell
def list_people(shell: Shell) -> None:
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
    shell.show(
        {"people": rows},
        table(rows, empty="There are no accounts yet. Add one: themescope people add NAME --role admin"),
    )


@people_.command()
@click.argument("name")
@click.option("--role", type=_ROLE, default=Role.LABELLER.value, show_default=True, help="Role of the person.")
@click.option("--oidc", is_flag=True, help="Sign in through your organisation (OIDC); NAME is the e-mail address.")
@common
@pass_shell
def add(shell: Shell, name: str, role: str, oidc: bool) -> None:
    """Add an account for NAME. The password is prompted for, or read from standard input (one line)."""
    password = None if oidc else _password()
    stored = people.add(shell.store, name, Role(role), password)
    shell.show({"name": stored, "role": role}, f"{stored} can sign in with the role {role}.")


@people_.command()
@click.argument("name")
@common
@pass_shell
def password(shell: Shell, name: str) -> None:
    """Set a new password for NAME, prompted for or read from standard input. Open sessions end."""
    people.set_password(shell.store, name, _password())
    shell.show({"name": name}, f"The password of {name} was changed.")


@people_.command("set-role")
@click.argument("name")
@click.argument("role", type=_ROLE)
@common
@pass_shell
def set_role(shell: Shell, name: str, role: str) -> None:
    """Set the role of NAME: viewer, labeller or admin."""
    people.set_role(shell.store, name, Role(role))
    shell.show({"name": name, "role": role}, f"{name} now has the role {role}.")


@people_.command()
@click.argument("name")
@common
@pass_shell
def remove(shell: Shell, name: str) -> None:
    """Remove the account of NAME. Their labellings and reviews are kept."""
    people.remove(shell.store, name)
    shell.show({"name": name}, f"The account of {name} was removed. Their labellings are kept.")


@people_.command()
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Number of events.")
@common
@pass_shell
def log(shell: Shell, limit: int) -> None:
    """List changes of accounts and sign-ins, newest first."""
    with shell.store.reading() as r:
        events = r.audit_log.latest(limit)
    rows = [
        {
            "time": f"{event.created:%Y-%m-%d %H:%M:%S}",
            "by": event.author or "–",
            "action": event.action,
            "account": event.person or "–",
            "detail": event.detail,
        }
        for event in events
    ]
    shell.show({"events": rows}, table(rows, empty="There are no events yet."))


def _password() -> str:
    """Prompt for a password twice, or read the first line of standard input if it is not a terminal."""
    if sys.stdin.isatty():
        return str(
            click.prompt(f"Password (at least {SHORTEST} characters)", hide_input=True, confirmation_prompt=True)
        )
    try:
        given = sys.stdin.readline().rstrip("\r\n")
    except UnicodeDecodeError:
        raise DataError("The password on standard input is not text in UTF-8. Write it as one line.") from None
    if not given:
        raise DataError("Standard input has no password. Write it as one line.")
    return given


@people_.group("token")
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


@people_.command("export")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@common
@pass_shell
def export_person(shell: Shell, name: str, file: Path) -> None:
    """Write everything that is stored about the person NAME to the new JSON FILE."""
    from themescope.jobs.services.accounts.personal_data import export

    counts = export(shell.store, name, file)
    total = sum(counts.values())
    shell.show({"name": name, "file": str(file), "rows": counts}, f"{total:,} rows of {name} were written to {file}.")


@people_.command()
@click.argument("name")
@click.option("--keep-texts", is_flag=True, help="Keep names and notes that contain more than the name.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@common
@pass_shell
def forget(shell: Shell, name: str, keep_texts: bool, yes: bool) -> None:
    """Remove the account of NAME, and replace the name by a pseudonym everywhere. This cannot be undone.

    Labels, history and reviews are kept under the pseudonym. The person should have closed all pages.
    """
    from themescope.jobs.services.accounts.personal_data import find_traces, forget

    traces = find_traces(shell.store, name, not keep_texts)
    if not (yes or shell.json):
        rows = [{"table and column": label, "rows": count} for label, count in traces.rows.items()]
        click.echo(table(rows, empty="No row has the name."))
        if traces.bundles:
            click.echo(f"Exported bundles with the name, which will be deleted: {len(traces.bundles)}")
        click.confirm(f"Replace {traces.name} in these rows? This cannot be undone.", abort=True)
    done = forget(shell.store, name, not keep_texts)
    left = [f"{traces.name} is now {done.pseudonym}."]
    if traces.corpora:
        left.append(f"Texts of corpora with the name, not changed: {traces.corpora:,}.")
    left += [f"Contains the name, not changed: {path}" for path in done.files]
    left += [f"Made before, may contain the name: {path}" for path in done.backups]
    value = {
        "name": traces.name,
        "pseudonym": done.pseudonym,
        "rows": traces.rows,
        "texts of corpora": traces.corpora,
        "deleted": [str(path) for path in traces.bundles],
        "files": [str(path) for path in (*done.files, *done.backups)],
    }
    shell.show(value, "\n".join(left))
