"""Commands that run and administer an installation: `worker`, `demo`, `doctor` and `people`."""

from __future__ import annotations

import sys

import click

from themescope.core.errors import DataError
from themescope.db.label_records import Role
from themescope.db.passwords import SHORTEST
from themescope.db.settings import Settings
from themescope.jobs.cli.shell import FAILED, Shell, common, pass_shell, table
from themescope.jobs.services.accounts import people


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
    from themescope.jobs.common.monitoring import logs
    from themescope.jobs.queue.worker import Worker

    logs.set_up("worker", Settings.from_environment().log_format)
    process = Worker(shell.store, queue_name, warm_up)
    if not shell.store.settings.status_address:
        process.run(workers)
        return
    from themescope.jobs.services.installation.health import Health
    from themescope.jobs.services.installation.status_server import serving_status

    health = Health(shell.store, lambda: process.heartbeat_age)
    with serving_status(shell.store.settings, health):
        process.run(workers)


@click.command()
@common
@pass_shell
def demo(shell: Shell) -> None:
    """Queue the demo: Wikipedia articles, triplets, models, comparison, maps. Requires an empty store."""
    from themescope.jobs.services.installation.demo import seed_demo

    jobs = seed_demo(shell.store)
    text = (
        f"{len(jobs)} jobs are queued. A worker runs them in a few minutes: themescope worker"
        if jobs
        else "The store is not empty, so no job was queued."
    )
    shell.show({"jobs": [{"id": job.id, "kind": job.kind, "title": job.title} for job in jobs]}, text)


@click.command()
@click.option("--vectors", is_flag=True, help="Also read every vector file and compare its content with its name.")
@common
@pass_shell
def doctor(shell: Shell, vectors: bool) -> int:
    """Check the installation: Python, packages, store, queue, worker, disk, word vectors. Exits with 1 on a problem."""
    from themescope.jobs.services.installation.doctor import examine

    checks = examine(vectors)
    rows = [{"": check.mark, "what": check.name, "found": check.found} for check in checks]
    problems = [check.name for check in checks if check.problem]
    values = [{"name": c.name, "ok": not c.problem, "warning": c.warning, "found": c.found} for c in checks]
    end = f"{len(problems)} problem(s)." if problems else "No problems found."
    shell.show({"ok": not problems, "checks": values}, f"{table(rows)}\n\n{end}")
    return FAILED if problems else 0


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
