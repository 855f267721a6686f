"""Commands that run and administer an installation: `worker`, `doctor`, `backup`, `restore` and `mcp`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import click

from themescope.core.errors import MissingExtraError
from themescope.db.access import Actor
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.backups.writing import About
from themescope.jobs.cli.shell import FAILED, Shell, common, pairs, pass_shell, table
from themescope.jobs.queue.runner import Bar
from themescope.jobs.services.accounts import api_tokens
from themescope.jobs.services.accounts.people import tidy


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
    with ExitStack() as stack:
        if shell.store.settings.status_address:
            from themescope.jobs.services.installation.health import Health, serving_status

            health = Health(shell.store, lambda: process.heartbeat_age)
            stack.enter_context(serving_status(shell.store.settings, health))
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
    from themescope.jobs.services.installation.doctor import examine

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
    from themescope.jobs.backups.writing import write_backup

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
    from themescope.jobs.backups.restoring import restore_backup
    from themescope.jobs.backups.writing import check_backup

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
        lines.append(
            f"Not included: the vector files at {about.vectors_elsewhere}. Save that storage by its own means."
        )
    lines += [f"Missing or damaged: {problem}" for problem in about.problems.values()]
    shell.show({"file": str(file), **about.to_json()}, "\n".join([*lines, end]))


_HERE = "this machine"


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
        return partial(api_tokens.actor_of, store, token, _HERE)

    def owner() -> Actor:
        with store.reading() as r:
            return r.people.actor(person)

    return owner
