"""`themescope plan`: predict time, memory, disk and price of a large corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from themescope.core.errors import ConfigError
from themescope.jobs.cli.resolve import MODEL_HELP
from themescope.jobs.cli.shell import Shell, common, pass_shell, table

if TYPE_CHECKING:
    from themescope.jobs.planning.plan import Plan


@click.command()
@click.option("--articles", type=click.IntRange(min=1), required=True, help="Number of articles.")
@click.option(
    "--sentences",
    type=click.FloatRange(min=1),
    default=16.0,
    show_default=True,
    help="Sentences per article; 16 in the English Wikipedia.",
)
@click.option("--triplets", type=click.IntRange(min=0), default=0, help="Triplets to train a network on.")
@click.option(
    "--workers", default="1,2,4,8,16,32,64", show_default=True, metavar="LIST", help="Numbers of workers to compare."
)
@click.option("--model", default="default", show_default=True, help=f"{MODEL_HELP} It embeds the sentences.")
@click.option(
    "--deaths", type=click.FloatRange(min=0), default=0.0, help="Mean number of deaths of a worker in an hour."
)
@click.option("--price", type=click.FloatRange(min=0), default=0.0, help="Price of one machine for an hour.")
@click.option("--measure", "again", is_flag=True, help="Measure this machine again (about two minutes).")
@common
@pass_shell
def plan(shell: Shell, articles: int, sentences: float, triplets: int, model: str, again: bool, **given: Any) -> None:
    """Predict time, memory and disk of a corpus for several numbers of workers, from the rates of this machine.

    The rates are measured once, by short runs of the real jobs, and kept in the data folder.
    """
    from themescope.jobs.planning.plan import Conditions, Load, predict
    from themescope.jobs.planning.rates import Rates, measure

    workers = _numbers(given["workers"])
    home = shell.store.settings.home
    rates = None if again else Rates.stored(home, model)
    if rates is None:
        rates = measure(model, lambda text: click.echo(f"{text}…", err=True))
        rates.save(home)
    load = Load(articles, sentences, triplets)
    found = predict(load, rates, Conditions(workers, given["deaths"], given["price"]))
    shell.show(
        {"load": asdict(load), "rates": asdict(rates), "workers": workers, **asdict(found)}, _text(found, workers)
    )


def _numbers(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        numbers = ()
    if not numbers or numbers[0] < 1 or numbers[-1] > 1_024:
        raise ConfigError(f"--workers must be numbers from 1 to 1024 separated by commas, such as 1,2,8, not {text!r}.")
    return numbers


def _text(found: Plan, workers: tuple[int, ...]) -> str:
    from themescope.jobs.planning.plan import hours_as_text

    names = [f"{count} worker{'s' * (count > 1)}" for count in workers]
    rows: list[Mapping[str, Any]] = [
        {"step": step.name, "amount": step.amount, **dict(zip(names, map(hours_as_text, step.hours), strict=True))}
        for step in found.steps
    ]
    rows.append({"step": "All steps", "amount": "", **dict(zip(names, map(hours_as_text, found.hours), strict=True))})
    rows.append({"step": "Machines", "amount": "", **dict(zip(names, map(str, found.machines), strict=True))})
    if any(found.price):
        prices = [f"{price:,.2f}" for price in found.price]
        rows.append({"step": "Price", "amount": "", **dict(zip(names, prices, strict=True))})
    if any(any(step.repeated) for step in found.steps):
        repeated = [f"{sum(step.repeated[i] for step in found.steps):,}" for i in range(len(workers))]
        rows.append({"step": "Shards repeated after deaths", "amount": "", **dict(zip(names, repeated, strict=True))})
    sizes = ", ".join(f"{name} {_size(size)}" for name, size in found.disk_bytes.items())
    lines = [
        table(rows),
        "",
        f"Disk: {_size(sum(found.disk_bytes.values()))} ({sizes})",
        f"Memory: {_size(found.memory_bytes)} per worker",
    ]
    lines += ["", *_waiting(found, workers), "Assumptions:", *(f"- {line}" for line in found.assumptions)]
    return "\n".join(lines)


def _waiting(found: Plan, workers: tuple[int, ...]) -> list[str]:
    """Return a line for each step whose workers wait for the process of the job."""
    from themescope.jobs.planning.plan import bottleneck

    lines = [
        f"- {step.name}: from {workers[at]} workers on, they wait more than half of the time for the one process that "
        "reads and stores."
        for step in found.steps
        if (at := bottleneck(step)) is not None
    ]
    return ["Limits:", *lines, ""] if lines else []


def _size(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"
