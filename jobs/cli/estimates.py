"""Commands `sample`, `estimate` and `report`: a sample as a task, shares of codes, a project as a document."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np

from themescope.core.errors import ConfigError, UnknownNameError
from themescope.core.estimates.report import REFERENCES, count_text, estimates, paragraphs, replication_files
from themescope.core.estimates.shares import COUNTED, ShareEstimate, composition, difference, share
from themescope.core.labelling.markup import markdown
from themescope.core.labelling.provenance import Allocation
from themescope.core.labelling.task_items import DistributionPlan, Order
from themescope.core.metrics.statistics import PERIODS
from themescope.core.types import Estimate
from themescope.db.store import Unit
from themescope.jobs.cli.shell import Shell, common, pass_shell, seed_option, table
from themescope.jobs.services.accounts.people import tidy
from themescope.jobs.services.estimates.study import Study, groups_by, open_study
from themescope.jobs.services.report.project import report_file
from themescope.jobs.services.tasks import work
from themescope.jobs.services.tasks.samples import SAMPLE, ColumnKey, DrawnSample, SampleForm
from themescope.jobs.services.tasks.work import TaskForm


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


# `themescope sample`: a random or stratified sample of a corpus, as a task for people


@click.command("sample")
@click.argument("corpus")
@click.argument("task")
@click.option("--number", type=click.IntRange(min=1), default=None, help="Number of units to draw.")
@click.option("--person", "people", multiple=True, required=True, help="Who labels them (repeatable).")
@click.option("--maker", default="", help="Who makes the task; default: the first person.")
@click.option(
    "--overlap", type=click.FloatRange(0, 100), default=100, show_default=True,
    help="Percentage that everybody labels; each of the other units is labelled by one person.",
)  # fmt: skip
@click.option("--by", default="", metavar="COLUMN", help="Column whose values are the strata.")
@click.option("--equal", is_flag=True, help="The same number of each value; default: in proportion.")
@click.option(
    "--of",
    "given",
    multiple=True,
    metavar="VALUE=NUMBER",
    help="Units of a value of --by, instead of --number (repeatable).",
)
@click.option(
    "--where", multiple=True, metavar="COLUMN=VALUE", help="Draw only these (repeatable, values of one column)."
)
@click.option("--new-only", is_flag=True, help="Leave out sentences of earlier samples.")
@click.option("--outside", is_flag=True, help="Draw only sentences that earlier samples could not have drawn.")
@click.option("--codes", default="", metavar="LABELLING", help="Labelling whose codes and codebook people begin with.")
@click.option("--not-blind", is_flag=True, help="Show sections, suggestions and other people's labels.")
@seed_option("Seed of the draw and of the order.")
@common
@pass_shell
def sample(
    shell: Shell,
    corpus: str,
    task: str,
    number: int | None,
    people: tuple[str, ...],
    maker: str,
    overlap: float,
    by: str,
    equal: bool,
    given: tuple[str, ...],
    where: tuple[str, ...],
    new_only: bool,
    outside: bool,
    codes: str,
    not_blind: bool,
    seed: int,
) -> None:
    """Draw units of CORPUS at random and give them to people as TASK.

    A unit is what the corpus was imported by: sentence, paragraph or document. Everybody gets the units in a random
    order. The sampling probabilities are recorded with the task, and estimates are weighted by them.
    """
    names = tuple(dict.fromkeys(tidy(name) for name in people))
    chosen = [value.partition("=") for value in where]
    if len({column for column, _, _ in chosen}) > 1 or not all(sign for _, sign, _ in chosen):
        raise ConfigError("--where is COLUMN=VALUE, with the same column each time.")
    each = [value.rpartition("=") for value in given]
    if not all(sign and count.isdecimal() for _, sign, count in each) or (each and not by):
        raise ConfigError("--of is VALUE=NUMBER, of a value of the column that --by names.")
    if (number is None) != bool(each) or (equal and each):
        raise ConfigError("Give either --number or, for each value, --of.")
    allocation = Allocation.GIVEN if each else Allocation.EQUAL if equal else Allocation.PROPORTIONAL
    with shell.store.reading() as r:
        record = r.corpora.by_name(corpus)
        start = r.labellings.by_name(codes).id if codes else None
        form = SampleForm(
            number or 0,
            by=_column(r, record.id, by) if by else None,
            allocation=allocation,
            given=tuple((value, int(count)) for value, _, count in each),
            where=(_column(r, record.id, chosen[0][0]), tuple(value for _, _, value in chosen)) if chosen else None,
            new_only=new_only,
            outside=outside,
        )
    plan = DistributionPlan(names, overlap / 100 if len(names) > 1 else 0, len(names), Order.RANDOM, seed)
    made = work.make(
        shell.store,
        TaskForm(
            record.id, task, tidy(maker) or names[0], (), plan, blind=not not_blind, sample=form,
            start=work.START_CLUSTERS if codes else work.START_NOTHING, start_id=start,
        ),
    )  # fmt: skip
    drawn = DrawnSample.from_json(made.settings[SAMPLE])
    rows = [
        {"stratum": value or "–", f"{record.unit.value}s": units, "drawn": part, "probability": round(part / units, 6)}
        for value, units, part in drawn.strata
    ]
    text = f"{made.name}: {drawn.text()}\n\n{table(rows)}"
    shell.show({"task": made.name, "unit": record.unit.value, "sample": drawn.to_json(), "strata": rows}, text)


def _column(r: Unit, corpus_id: int, name: str) -> ColumnKey:
    """Return the column of a name, that of sentences where articles have one of the same name."""
    known = {column.name: (column.level.value, column.name) for column in r.columns.list(corpus_id)}
    if name not in known:
        raise UnknownNameError("column", name, [*known])
    return known[name]
