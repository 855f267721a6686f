"""Commands that administer an installation: `worker`, `doctor`, `backup`, `restore`, `mcp`, and `people`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from themescope.core.errors import DataError, MissingExtraError
from themescope.core.records.stored import Role
from themescope.db.access import Actor
from themescope.db.passwords import SHORTEST
from themescope.db.settings import Settings
from themescope.db.sql import now
from themescope.db.store import Store
from themescope.jobs.backups import About
from themescope.jobs.cli.main import FAILED, Shell, common, pairs, pass_shell, table
from themescope.jobs.queue.runner import Bar
from themescope.jobs.services import people
from themescope.jobs.services.people import tidy


@click.command()
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of jobs to run in parallel."
)
@click.option("--queue", "queue_name", default="default", show_default=True, help="Name of the queue.")
@click.option("--warm-up/--no-warm-up", default=True, help="Precompile the code that maps need while idle.")
@common
@pass_shell
def worker(shell: Shell, workers: int, queue_name: str, warm_up: bool) -> None:
    """Run queued jobs until stopped. Interrupted jobs are queued again and resume."""
    from themescope.jobs.common import logs
    from themescope.jobs.queue.worker import Worker

    logs.set_up("worker", Settings.from_environment().log_format)
    process = Worker(shell.store, queue_name, warm_up)
    renewed = process.run(workers)
    if renewed:
        shell.store.close()
        # What maps need has been compiled by now, and importing it again would take back the memory.
        os.execv(sys.executable, [*sys.orig_argv, *([] if "--no-warm-up" in sys.orig_argv else ["--no-warm-up"])])


@click.command()
@click.option("--vectors", is_flag=True, help="Also read every vector file and compare its content with its name.")
@common
@pass_shell
def doctor(shell: Shell, vectors: bool) -> int:
    """Check the installation: Python, packages, store, queue, worker, disk, word vectors. Exits with 1 on a problem."""
    from themescope.jobs.services.installation import examine

    checks = examine(vectors)
    rows = [{"": check.mark, "what": check.name, "found": check.found} for check in checks]
    problems = [check.name for check in checks if check.problem]
    values = [{"name": c.name, "ok": not c.problem, "warning": c.warning, "found": c.found} for c in checks]
    end = f"{len(problems)} problem(s)." if problems else "No problems found."
    shell.show({"ok": not problems, "checks": values}, f"{table(rows)}\n\n{end}")
    return FAILED if problems else 0


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@common
@pass_shell
def backup(shell: Shell, file: Path) -> int:
    """Write a backup of the whole store to the new FILE, while people work, and compare it with its checksums.

    Exits with 1 if files of models or vectors were missing or damaged; the backup has all others.
    """
    from themescope.jobs.backups import write_backup

    # Not migrated: before an upgrade, the tables are saved as they are.
    store = Store(Settings.from_environment())
    bar = Bar("Backing up", shell.json)
    try:
        made = write_backup(store, file, lambda share: bar(share, ""))
    finally:
        store.close()
    bar.end(True)
    _show(shell, file, made.about, f"Written and checked: {file} ({made.bytes / 1e6:,.1f} MB).")
    return FAILED if made.about.problems else 0


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Only compare the file with its checksums and show what it contains.")
@common
@pass_shell
def restore(shell: Shell, file: Path, check: bool) -> None:
    """Restore the backup FILE into an empty data folder and an empty database, and compare it with its checksums."""
    from themescope.jobs.backups import check_backup, restore_backup

    bar = Bar("Checking" if check else "Restoring", shell.json)
    if check:
        about = check_backup(file, lambda share: bar(share, ""))
        end = f"{file} is complete and undamaged."
    else:
        settings = Settings.from_environment()
        about = restore_backup(settings, file, lambda share: bar(share, ""))
        end = f"Restored into {settings.home} and {settings.database_label}. People sign in again."
    bar.end(True)
    if about.is_older:
        end += f" Its tables are those of an older version (schema {about.schema}); the next start migrates them."
    _show(shell, file, about, end)


def _show(shell: Shell, file: Path, about: About, end: str) -> None:
    rows = {name: about.rows.get(name, 0) for name in ("corpus", "sentence", "model", "labelling", "person")}
    facts = {
        "made": f"{about.when:%Y-%m-%d %H:%M:%S} UTC by Themescope {about.themescope}",
        "database": f"{about.engine}, schema {about.schema}, {sum(about.rows.values()):,} rows",
        **{f"rows of {name}": count for name, count in rows.items()},
        "models": len(about.artifacts),
        "vector files": len(about.vectors),
    }
    lines = [pairs(facts), ""]
    if about.vectors_elsewhere:
        where = f"the vector files at {about.vectors_elsewhere}"
        lines.append(f"Not included: {where}. Save that storage by its own means.")
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
        return partial(people.actor_of, store, token, "this machine")

    def owner() -> Actor:
        with store.reading() as r:
            return r.people.actor(person)

    return owner


# `themescope people`: accounts and roles, and tokens of the HTTP API

_ROLE = click.Choice([role.value for role in Role])


@click.group("people")
def people_() -> None:
    """Manage accounts and roles (viewer, labeller, admin)."""


@people_.command("list")
@click.option("--tokens", is_flag=True, help="List tokens of the HTTP API instead, without their secrets.")
@click.option("--log", type=click.IntRange(1), default=None, metavar="NUMBER", help="List the newest events instead.")
@common
@pass_shell
def list_people(shell: Shell, tokens: bool, log: int | None) -> None:
    """List people with role, sign-in method and time of last use; or their tokens, or changes and sign-ins."""
    if tokens:
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
            for one in people.tokens_of(shell.store, None)
        ]
        shell.show({"tokens": rows}, table(rows, empty="There are no tokens."))
        return
    if log is not None:
        with shell.store.reading() as r:
            events = r.audit_log.latest(log)
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
        return
    rows = [
        {
            "name": member.person.name or "(no name)",
            "role": member.person.role.value,
            "signs in by": member.login or "–",
            "last seen": f"{member.person.seen:%Y-%m-%d %H:%M}" if member.person.seen else "–",
        }
        for member in people.members(shell.store)
    ]
    nobody = "There are no accounts yet. Add one: themescope people add NAME --role admin"
    shell.show({"people": rows}, table(rows, empty=nobody))


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
@click.option("--role", type=_ROLE, default=None, help="New role.")
@click.option("--password", "new", is_flag=True, help="New password, prompted for or read from standard input.")
@common
@pass_shell
def change(shell: Shell, name: str, role: str | None, new: bool) -> None:
    """Change the role or the password of NAME. With a new password, open sessions end."""
    if role is None and not new:
        raise click.UsageError("Give --role or --password.")
    if role is not None:
        people.set_role(shell.store, name, Role(role))
    if new:
        people.set_password(shell.store, name, _password())
    told = [f"{name} now has the role {role}."] if role else []
    shell.show({"name": name, "role": role}, "\n".join([*told, *(["The password was changed."] if new else [])]))


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


@people_.command()
@click.argument("person", default="")
@click.argument("name", default="")
@click.option(
    "--days",
    type=click.IntRange(1, people.MOST_DAYS),
    default=people.DAYS,
    show_default=True,
    help="Number of days until it expires.",
)
@click.option("--revoke", type=int, default=None, metavar="ID", help="Revoke the token with this number instead.")
@common
@pass_shell
def token(shell: Shell, person: str, name: str, days: int, revoke: int | None) -> None:
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


@people_.command()
@click.argument("name")
@click.option("--forget", is_flag=True, help="Replace the name by a pseudonym everywhere. This cannot be undone.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@common
@pass_shell
def remove(shell: Shell, name: str, forget: bool, yes: bool) -> None:
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
