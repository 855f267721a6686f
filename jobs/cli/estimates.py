"""Commands `estimate` and `report`: shares of codes in a project, and everything about a project as a document."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np

from themescope.core.errors import UnknownNameError
from themescope.core.estimates.report import REFERENCES, count_text, estimates, paragraphs, replication_files
from themescope.core.estimates.shares import COUNTED, ShareEstimate, composition, difference, share
from themescope.core.labelling.markup import markdown
from themescope.core.metrics.crosstabs import PERIODS
from themescope.core.types import Estimate
from themescope.jobs.cli.shell import Shell, common, pass_shell, table
from themescope.jobs.services.estimates.study import Study, groups_by, open_study
from themescope.jobs.services.report.project import report_file


@click.command("estimate")
@click.argument("labellings", nargs=-1, required=True)
@click.option("--code", "codes", multiple=True, help="Code to estimate (repeatable); default: all.")
@click.option("--by", default="", metavar="COLUMN", help="Column of groups: categories, or dates by period.")
@click.option("--period", type=click.Choice(PERIODS), default=None, help="Period of dates; default: one that suits.")
@click.option("--difference", nargs=2, default=None, metavar="GROUP GROUP", help="Share in the first minus the second.")
@click.option("--composition", "parts", is_flag=True, help="Part of each group among the sentences with the code.")
@click.option("--machine", default="", metavar="LABELLING", help="Labelling of a machine in place of the predictions.")
@click.option("--methods", is_flag=True, help="Print the methods paragraph as well.")
@click.option(
    "--replication", type=click.Path(path_type=Path, file_okay=False), default=None,
    help="Folder for a table and a script that print the same numbers; of one code.",
)  # fmt: skip
@common
@pass_shell
def estimate(
    shell: Shell, labellings: tuple[str, ...], codes: tuple[str, ...], by: str, period: str | None,
    difference: tuple[str, str] | None, parts: bool, machine: str, methods: bool, replication: Path | None,
) -> None:  # fmt: skip
    """Estimate the share of codes from the labels in LABELLINGS and the machine's predictions.

    Three estimates with 95 % intervals: from people's sample alone, from the machine alone, and corrected for the
    machine's mistakes. Sampling probabilities are those of the samples that tasks gave to people.
    """
    with shell.store.reading() as r:
        records = [r.labellings.by_name(name) for name in labellings]
        study = open_study(r, records, r.labellings.by_name(machine) if machine else None)
        groups = groups_by(r, study, by, period or "") if by else [""] * len(study.ids)
    if unknown := [code for code in codes if code not in study.codes]:
        raise UnknownNameError("code", unknown[0], study.codes)
    chosen = codes or study.codes
    if replication is not None and len(chosen) != 1:
        raise click.UsageError("--replication is for one code; name it with --code.")
    found = {code: _found(study, code, groups, difference, parts) for code in chosen}
    text = table([_row(code, one) for code, rows in found.items() for one in rows])
    notes = [*study.holds, *study.notes]
    told = [*notes, *dict.fromkeys(note for rows in found.values() for one in rows for note in one.warnings)]
    if methods:
        for code, rows in found.items():
            told += ["", markdown(paragraphs(code, study.units(code), rows, study.coder, study.holds), REFERENCES)]
    if replication is not None:
        replication.mkdir(parents=True, exist_ok=True)
        files = replication_files(study.units(chosen[0]), groups, [str(id) for id in study.ids.tolist()], study.holds)
        for name, content in files.items():
            (replication / name).write_text(content, encoding="utf-8")
        told.append(f"Written: {', '.join(str(replication / name) for name in files)}")
    shell.show(
        {"codes": {code: [asdict(one) for one in rows] for code, rows in found.items()}, "notes": notes},
        "\n".join([text, *told]),
    )


def _found(
    study: Study, code: str, groups: list[str], pair: tuple[str, str] | None, parts: bool
) -> list[ShareEstimate]:
    units, of = study.units(code), np.array(groups)
    if pair is not None:
        for name in pair:
            if name not in groups:
                raise UnknownNameError("group", name, sorted({*groups} - {""}))
        return [difference(units, of == pair[0], of == pair[1], f"{pair[0]} – {pair[1]}")]
    if parts:
        return [composition(units, of == name, name) for name in sorted({*groups} - {""})]
    return estimates(units, groups) if any(groups) else [share(units)]


def _row(code: str, one: ShareEstimate) -> dict[str, Any]:
    ways = {"people": one.people, "machine": one.machine, "corrected": one.corrected}
    ways |= {"least": one.least, "most": one.most} if one.open else {}
    cells = {name: _cell(value) for name, value in ways.items()}
    if one.warnings == (COUNTED,):
        cells = {"units with the code": count_text(one), "checked": f"{one.checked:,}"}
        cells |= {"machine": _cell(one.machine)} if one.machine else {}
        return {"code": code, "group": one.name or "all", **cells}
    counts = {"sentences": one.units, "labels": one.labels} | ({"open": one.open} if one.open else {})
    return {"code": code, "group": one.name or "all", **cells, **counts}


def _cell(found: Estimate | None) -> str:
    if found is None:
        return "–"
    return f"{100 * found.value:.1f} % [{100 * found.low:.1f}, {100 * found.high:.1f}]"


@click.command("report")
@click.argument("corpus")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), default=None,
    help="File to write: .html, .docx (Word) or .md (Markdown).",
)  # fmt: skip
@click.option("--labelling", "names", multiple=True, help="Labelling to report (repeatable); default: all.")
@click.option("--long", is_flag=True, help="With shares by column, the map, and how the labellings were made.")
@click.option(
    "--methods", type=click.Choice(("markdown", "latex", "bibtex")), default=None,
    help="Print how the labellings were made, for the methods section of a paper, or its references.",
)  # fmt: skip
@common
@pass_shell
def report(
    shell: Shell, corpus: str, out: Path | None, names: tuple[str, ...], long: bool, methods: str | None
) -> None:
    """Write the report of CORPUS: question, data, codes or themes with intervals, agreement, method, limits."""
    from themescope.jobs.services.labelling.methods import methods_section

    if (out is None) is (methods is None):
        raise click.UsageError("Give either --out or --methods.")
    with shell.store.reading() as r:
        record = r.corpora.by_name(corpus)
        labellings = [r.labellings.by_name(name) for name in names] or r.labellings.list(record.id)
    if methods is not None:
        text = str(getattr(methods_section(shell.store, [one.id for one in labellings]), methods))
        shell.show({methods: text}, text.rstrip("\n"))
    elif out is not None:
        content = report_file(shell.store, record, labellings, out.suffix, long)
        out.write_bytes(content)
        shell.show({"written": str(out), "bytes": len(content)}, f"Written: {out}")
