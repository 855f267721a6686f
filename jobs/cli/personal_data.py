"""Commands `people export` and `people forget`."""

from __future__ import annotations

from pathlib import Path

import click

from themescope.jobs.cli.shell import Shell, common, pass_shell, table


@click.command("export")
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


@click.command()
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
