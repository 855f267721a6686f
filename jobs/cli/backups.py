"""Commands `backup` and `restore`."""

from __future__ import annotations

from pathlib import Path

import click

from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.backups.format import About
from themescope.jobs.cli.shell import FAILED, Shell, common, pairs, pass_shell
from themescope.jobs.queue.foreground import Bar


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
