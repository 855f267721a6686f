"""Steps of a corpus of any size: time on 1 or more workers, memory and disk."""

from __future__ import annotations

import math
from dataclasses import dataclass

from themescope.jobs.planning.rates import Rate, Rates
from themescope.jobs.planning.simulation import Faults, Machine, Stage, simulate

MAP_SAMPLE = 50_000
"""Sentences to which a map is fitted."""
HOUR_S = 3600.0


@dataclass(frozen=True)
class Load:
    """What is to be computed."""

    articles: int
    sentences_per_article: float = 16.0
    """16 in the English Wikipedia: 6.9 million articles, about 110 million sentences."""
    triplets: int = 0
    """Triplets in the training of a triplet network."""

    @property
    def sentences(self) -> int:
        """Number of sentences."""
        return round(self.articles * self.sentences_per_article)


@dataclass(frozen=True)
class Conditions:
    """Machines like the measured one, and how often their workers die."""

    workers: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    deaths_per_hour: float = 0.0
    """Mean number of deaths of a worker in an hour."""
    price_per_hour: float = 0.0
    """Price of one machine for an hour, in any currency."""


@dataclass(frozen=True)
class StepTime:
    """Prediction for one step."""

    name: str
    amount: str
    hours: tuple[float, ...]
    """Hours for each number of workers."""
    busy: tuple[float, ...]
    """Share of the workers' time in which they compute; low: the process of the job is the bottleneck. 1 for a step
    that is not cut into shards."""
    repeated: tuple[int, ...]
    """Shards that are computed again because their worker died."""


@dataclass(frozen=True)
class Plan:
    """Prediction for a whole corpus."""

    steps: tuple[StepTime, ...]
    hours: tuple[float, ...]
    machines: tuple[int, ...]
    price: tuple[float, ...]
    disk_bytes: dict[str, float]
    memory_bytes: float
    """Peak memory of the process that ran every step once: a model, a few shards, and a map of 2,000 sentences."""
    assumptions: tuple[str, ...]


def predict(load: Load, rates: Rates, conditions: Conditions) -> Plan:
    """Return the plan. Steps run one after the other."""
    steps = tuple(_step(*entry, rates, conditions) for entry in _amounts(load, rates))
    columns = range(len(conditions.workers))
    hours = tuple(sum(step.hours[i] for step in steps) for i in columns)
    machines = tuple(math.ceil(workers / rates.cores) for workers in conditions.workers)
    price = tuple(h * m * conditions.price_per_hour for h, m in zip(hours, machines, strict=True))
    return Plan(steps, hours, machines, price, _disk(load, rates), rates.memory_mb * 1e6, _assumptions(load, rates))


def machines_for(workers: int, rates: Rates) -> list[Machine]:
    """Return machines like the measured one for some workers; a single one is the process of the job itself."""
    if workers == 1:
        return [Machine(0, rates.cores, rates.together)]
    full, rest = divmod(workers, rates.cores)
    counts = [rates.cores] * full + [rest] * (rest > 0)
    return [Machine(count, rates.cores, rates.together) for count in counts]


def stage_of(rate: Rate, units: float, rates: Rates) -> Stage:
    """Return the shards of a step."""
    shard = min(rate.shard, units)
    return Stage(
        shards=math.ceil(units / shard),
        work_s=rate.work_s * shard,
        read_s=rate.read_s * shard,
        write_s=rate.write_s * shard,
        spread=rate.spread,
        start_s=rates.process_start_s + rate.start_s,
    )


_TITLES = {
    "import": "Import: read, clean, split, store",
    "triplets": "Triplets: sample and store",
    "training": "Training of a triplet network, one epoch",
    "embedding": "Embedding",
    "clustering": "Clustering and scores of articles",
    "map": "Map: layout of the sample",
}


def _amounts(load: Load, rates: Rates) -> list[tuple[str, float]]:
    """Return the number of units of each step."""
    # Articles with fewer sentences than those of the demo take less time; sentences that fill a demo article are one.
    articles = load.articles * min(load.sentences_per_article / rates.sentences_per_article, 1.0)
    amounts: dict[str, float] = {
        "import": load.sentences,
        "triplets": articles if load.triplets else 0,
        "training": load.triplets,
        "embedding": load.sentences,
        "clustering": articles,
        "map": min(load.sentences, MAP_SAMPLE),
    }
    return [(name, units) for name, units in amounts.items() if units and name in rates.steps]


def _step(name: str, units: float, rates: Rates, conditions: Conditions) -> StepTime:
    rate = rates.steps[name]
    faults = Faults(conditions.deaths_per_hour)
    seconds, busy, repeated = [], [], []
    for workers in conditions.workers:
        if rate.shard:
            outcome = simulate(stage_of(rate, units, rates), machines_for(workers, rates), faults)
            seconds.append(outcome.seconds)
            busy.append(outcome.busy)
            repeated.append(outcome.repeated)
        else:
            machines = math.ceil(workers / rates.cores) if name == "training" else 1
            seconds.append(units * rate.work_s / machines)
            busy.append(1.0)
            repeated.append(0)
    amount = f"{units:,.0f} {rate.unit}s"
    return StepTime(_TITLES[name], amount, tuple(s / HOUR_S for s in seconds), tuple(busy), tuple(repeated))


def _disk(load: Load, rates: Rates) -> dict[str, float]:
    sizes = {
        "text": load.sentences * rates.bytes_per_sentence,
        "vectors": load.sentences * rates.bytes_per_vector,
        "triplets": load.triplets * rates.bytes_per_triplet,
    }
    return {name: size for name, size in sizes.items() if size}


def _assumptions(load: Load, rates: Rates) -> tuple[str, ...]:
    return (
        f"Rates of this machine ({rates.machine}), measured {rates.measured[:16].replace('T', ' ')} UTC on the text of "
        f"the demo with the model {rates.model}. Other machines are like it: {rates.cores} cores, of which all in use "
        f"compute {rates.together:.2f} times as much as one.",
        f"{load.sentences_per_article:g} sentences per article (demo: {rates.sentences_per_article:.0f}).",
        "Steps run one after the other. One process reads and stores for all workers; the network is not a limit.",
        "Import, embedding and clustering are cut into shards and simulated with the measured differences between "
        "shards. Training scales with the number of machines; triplets and the layout of a map use one machine.",
    )


def bottleneck(step: StepTime) -> int | None:
    """Return the position of the first number of workers at which the workers wait more than half of the time."""
    return next((i for i, share in enumerate(step.busy) if share < 0.5), None)


def hours_as_text(hours: float) -> str:
    """Return hours with a unit: minutes below two hours, days above two days."""
    if hours < 2:
        return f"{hours * 60:.1f} min" if hours * 60 < 10 else f"{hours * 60:.0f} min"
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.1f} days"
