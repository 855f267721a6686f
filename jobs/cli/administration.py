"""Commands that administer an installation: `worker`, `doctor`, `backup`, `restore`, `mcp`, and `people`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import click

from themescope.core.errors import DataError, optional_module
from themescope.core.records.stored import Role
from themescope.db.access import Actor
from themescope.db.passwords import SHORTEST
from themescope.db.settings import Settings
from themescope.db.sql import now
from themescope.db.store import Store
from themescope.jobs.backups import About
from themescope.jobs.cli.main import FAILED, Shell, command, fields, pairs, pass_shell, table
from themescope.jobs.queue.runner import Bar
from themescope.jobs.services import people
from themescope.jobs.services.people import tidy


@command()
def worker(
    shell: Shell,
    workers: Annotated[int, "Number of jobs to run in parallel.", click.IntRange(1, 64)] = 1,
    queue: Annotated[str, "Name of the queue."] = "default",
    warm_up: Annotated[bool, "Precompile the code that maps need while idle."] = True,
) -> None:
    """Run queued jobs until stopped. Interrupted jobs are queued again and resume."""
    from themescope.jobs.common import logs, memory
    from themescope.jobs.queue.worker import Worker

    logs.set_up("worker", Settings.from_environment().log_format)
    memory.limit()
    if Worker(shell.store, queue, warm_up).run(workers):
        shell.store.close()
        # What maps need has been compiled by now, and importing it again would take back the memory.
        os.execv(sys.executable, [*sys.orig_argv, *([] if "--no-warm-up" in sys.orig_argv else ["--no-warm-up"])])


@command()
def doctor(
    shell: Shell,
    vectors: Annotated[bool, "Also read every vector file and compare its content with its name."] = False,
) -> int:
    """Check the installation: Python, packages, store, queue, worker, disk, word vectors. Exits with 1 on a problem."""
    from themescope.jobs.services.installation import examine

    checks = examine(vectors)
    problems = sum(check.problem for check in checks)
    values = [{"ok": not check.problem, **fields(check, "name", "warning", "found")} for check in checks]
    rows = table([{"": check.mark, "what": check.name, "found": check.found} for check in checks])
    shell.show({"ok": not problems, "checks": values}, f"{rows}\n\n{problems or 'No'} problems found.")
    return FAILED if problems else 0


@command()
def backup(shell: Shell, file: Path) -> int:
    """Write a backup of the whole store to the new FILE, also while people work, and check it.

    Exits with 1 if files of models or vectors were missing or damaged; the backup has all others.
    """
    from themescope.jobs.backups import write_backup

    # Not migrated: before an upgrade, the tables are saved as they are.
    store = Store(Settings.from_environment())
    bar = Bar("Backing up", shell.json)
    try:
        made = write_backup(store, file, bar)
    finally:
        store.close()
    bar.end(True)
    _show(shell, file, made.about, f"Written and checked: {file} ({made.bytes / 1e6:,.1f} MB).")
    return FAILED if made.about.problems else 0


@command()
def restore(
    shell: Shell,
    file: Path,
    check: Annotated[bool, "Only compare the file with its checksums and show what it contains."] = False,
) -> None:
    """Restore the backup FILE into an empty data folder and an empty database."""
    from themescope.jobs.backups import check_backup, restore_backup

    bar, settings = Bar("Checking" if check else "Restoring", shell.json), Settings.from_environment()
    if check:
        about, end = check_backup(file, bar), f"{file} is complete and undamaged."
    else:
        about = restore_backup(settings, file, bar)
        end = f"Restored into {settings.home} and {settings.database_label}. People sign in again."
    bar.end(True)
    if about.is_older:
        end += f" Its tables are those of an older version (schema {about.schema}); the next start migrates them."
    _show(shell, file, about, end)


def _show(shell: Shell, file: Path, about: About, end: str) -> None:
    facts = {
        "made": f"{about.when:%Y-%m-%d %H:%M:%S} UTC by Themescope {about.themescope}",
        "database": f"{about.engine}, schema {about.schema}, {sum(about.rows.values()):,} rows",
        **{f"rows of {name}": about.rows.get(name, 0) for name in ("corpus", "sentence", "labelling", "person")},
        "models": len(about.artifacts),
        "vector files": len(about.vectors),
    }
    lines = [pairs(facts), ""]
    if elsewhere := about.vectors_elsewhere:
        lines.append(f"Not included: the vector files at {elsewhere}. Save that storage by its own means.")
    lines += [f"Missing or damaged: {problem}" for problem in about.problems.values()]
    shell.show({"file": str(file), **about.to_json()}, "\n".join([*lines, end]))


@click.command("mcp")
@click.option("--read-only", is_flag=True, help="Offer no tools that change something.")
@click.option("--person", default="", help="Name for changes of labels, where no token is given.")
@pass_shell
def mcp(shell: Shell, read_only: bool, person: str) -> None:
    """Serve a program, such as a language model, on standard input and output (Model Context Protocol).

    THEMESCOPE_TOKEN names the person: the server has the rights of that person. Without it, it acts for the owner of
    the data folder.
    """
    optional_module("mcp.server", "The command mcp", "mcp", "mcp")
    from themescope.jobs.mcp import serve, server_for

    store, name = shell.store, tidy(person)

    def actor() -> Actor:
        """Return the person with the current role; raises ``AccessError`` if there is none."""
        if store.settings.token:
            return people.actor_of(store, store.settings.token, "this machine")
        with store.reading() as r:
            return r.people.actor(name)

    serve(server_for(store, actor, read_only))


# `themescope people`: accounts and roles, and tokens of the HTTP API

_ROLE = click.Choice([role.value for role in Role])


@click.group("people")
def people_() -> None:
    """Manage accounts and roles (viewer, labeller, admin)."""


@command(people_, "list")
def list_people(
    shell: Shell,
    tokens: Annotated[bool, "List tokens of the HTTP API instead, without their secrets."] = False,
    log: Annotated[int | None, "--log NUMBER", "List the newest events instead.", click.IntRange(1)] = None,
) -> None:
    """List people with role, sign-in method and time of last use; or their tokens, or changes and sign-ins."""
    what, empty = "people", "There are no accounts yet. Add one: themescope people add NAME --role admin"
    rows: list[dict[str, Any]] = []
    if tokens:
        what, empty = "tokens", "There are no tokens."
        for one in people.tokens_of(shell.store):
            times = {"created": one.created, "last used": one.used, "expires": one.expires}
            rows += [{"id": str(one.id), **fields(one, "person", "name"), "state": one.state(now()), **times}]
    elif log is not None:
        what, empty = "events", "There are no events yet."
        with shell.store.reading() as r:
            events = r.audit_log.latest(log)
        for event in events:
            about = {"time": f"{event.created:%Y-%m-%d %H:%M:%S}", "by": event.author or "–"}
            rows += [about | {"action": event.action, "account": event.person or "–", "detail": event.detail}]
    else:
        for member in people.members(shell.store):
            about = {"name": member.person.name or "(no name)", "role": member.person.role}
            rows += [about | {"signs in by": member.login or "–", "last seen": member.person.seen}]
    shell.show({what: rows}, table(rows, empty=empty))


@command(people_)
def add(
    shell: Shell,
    name: str,
    role: Annotated[str, "Role of the person.", _ROLE] = Role.LABELLER.value,
    oidc: Annotated[bool, "Sign in through your organisation (OIDC); NAME is the e-mail address."] = False,
) -> None:
    """Add an account for NAME. The password is prompted for, or read from standard input (one line)."""
    stored = people.add(shell.store, name, Role(role), None if oidc else _password())
    shell.show({"name": stored, "role": role}, f"{stored} can sign in with the role {role}.")


@command(people_)
def change(
    shell: Shell,
    name: str,
    role: Annotated[str | None, "New role.", _ROLE] = None,
    password: Annotated[bool, "New password, prompted for or read from standard input."] = False,
) -> None:
    """Change the role or the password of NAME. With a new password, open sessions end."""
    if role is None and not password:
        raise click.UsageError("Give --role or --password.")
    told = []
    if role is not None:
        people.set_role(shell.store, name, Role(role))
        told.append(f"{name} now has the role {role}.")
    if password:
        people.set_password(shell.store, name, _password())
        told.append("The password was changed.")
    shell.show({"name": name, "role": role}, "\n".join(told))


def _password() -> str:
    """Prompt for a password twice, or read the first line of standard input if it is not a terminal."""
    if sys.stdin.isatty():
        text = f"Password (at least {SHORTEST} characters)"
        return str(click.prompt(text, hide_input=True, confirmation_prompt=True))
    try:
        given = sys.stdin.readline().rstrip("\r\n")
    except UnicodeDecodeError:
        raise DataError("The password on standard input is not text in UTF-8. Write it as one line.") from None
    if not given:
        raise DataError("Standard input has no password. Write it as one line.")
    return given


@command(people_)
def token(
    shell: Shell,
    person: str = "",
    name: str = "",
    days: Annotated[int, "Number of days until it expires.", click.IntRange(1, people.MOST_DAYS)] = people.DAYS,
    revoke: Annotated[int | None, "--revoke ID", "Revoke the token with this number instead."] = None,
) -> None:
    """Create a token of the HTTP API for the account of PERSON and print it; NAME says what it is for.

    It is not shown again. Programs that use a revoked one are refused at once; `people list --tokens` has the numbers.
    """
    if (revoke is None) is not bool(person and name):
        raise click.UsageError("Give either PERSON and NAME, or --revoke.")
    if revoke is not None:
        found = people.revoke(shell.store, revoke)
        shell.show({"id": revoke, "person": found.person}, f"The token “{found.name}” of {found.person} was revoked.")
        return
    made = people.create(shell.store, person, name, days)
    shell.show({"id": made.record.id, "token": made.secret, "expires": made.record.expires}, made.secret)


@command(people_)
def remove(
    shell: Shell,
    name: str,
    forget: Annotated[bool, "Replace the name by a pseudonym everywhere. This cannot be undone."] = False,
    yes: Annotated[bool, "Do not ask for confirmation."] = False,
) -> None:
    """Remove the account of NAME. Their labellings, history and reviews are kept.

    With --forget, they are kept under a pseudonym. The person should have closed all pages.
    """
    if not forget:
        people.remove(shell.store, name)
        shell.show({"name": name}, f"The account of {name} was removed. Their labellings are kept.")
        return
    if not (yes or shell.json):
        click.confirm(f"Replace {name} by a pseudonym in every row? This cannot be undone.", abort=True)
    pseudonym = people.forget(shell.store, name)
    shell.show({"name": name, "pseudonym": pseudonym}, f"{name} is now {pseudonym}.")
