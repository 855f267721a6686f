"""`themescope sample`: a random or stratified sample of a corpus, as a task for people."""

from __future__ import annotations

import click

from themescope.core.errors import ConfigError, UnknownNameError
from themescope.core.labelling.provenance import Allocation
from themescope.core.labelling.task_items import DistributionPlan, Order
from themescope.db.store import Unit
from themescope.jobs.cli.shell import Shell, common, pass_shell, seed_option, table
from themescope.jobs.services.accounts.people import tidy
from themescope.jobs.services.tasks import making
from themescope.jobs.services.tasks.making import TaskForm
from themescope.jobs.services.tasks.samples import SAMPLE, ColumnKey, DrawnSample, SampleForm


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
    made = making.make(
        shell.store,
        TaskForm(
            record.id, task, tidy(maker) or names[0], (), plan, blind=not not_blind, sample=form,
            start=making.START_CLUSTERS if codes else making.START_NOTHING, start_id=start,
        ),
    )  # fmt: skip
    drawn = DrawnSample.from_json(made.settings[SAMPLE])
    rows = [
        {"stratum": value or "–", f"{record.unit.value}s": units, "drawn": part, "probability": round(part / units, 6)}
        for value, units, part in drawn.strata
    ]
    text = f"{made.name}: {drawn.text(record.unit.value)}\n\n{table(rows)}"
    shell.show({"task": made.name, "unit": record.unit.value, "sample": drawn.to_json(), "strata": rows}, text)


def _column(r: Unit, corpus_id: int, name: str) -> ColumnKey:
    """Return the column of a name, that of sentences where articles have one of the same name."""
    known = {column.name: (column.level.value, column.name) for column in r.columns.list(corpus_id)}
    if name not in known:
        raise UnknownNameError("column", name, [*known])
    return known[name]
