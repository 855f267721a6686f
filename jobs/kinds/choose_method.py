"""Job kind: rank ways to cluster the sentences of a labelling by what people said about some of them.

Stored runs that have all judged sentences are candidates as well. Articles are not divided by split here: no model is
trained, and the choice is used for this labelling only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from themescope.core.config import option
from themescope.core.errors import ConfigError, DataError
from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.records.stored import LabellingRecord, ModelRecord
from themescope.core.types import Labels
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.labelled.clusterings import LabelledText, models_to_compare, stored_clusterings
from themescope.jobs.common.labelled.placed import Judged, judged_pairs

if TYPE_CHECKING:
    from themescope.core.clustering.pairs import PairCalibration
    from themescope.core.labelling.method_choice import Choice, Configuration

MOST_SENTENCES = 30_000
"""Maximum number of sentences of a labelling whose clusterings are compared."""
_LISTED = 30
_MOST_CLUSTERS = 200


@dataclass(frozen=True)
class ChooseMethodConfig(JobConfig):
    """Arguments of a choice of the method."""

    TITLE = "Choose the method by the labels of “{labelling}”"

    labelling: str = option("", "Name of the labelling.", required=True)
    models: tuple[str, ...] = option(
        (), "Names of the models to compare; empty: the best three with vectors of all its articles."
    )
    clusterers: tuple[str, ...] = option(
        (), "Ids of the clusterers to compare; empty: all with the tag compared, such as Iclust, Ward and spectral."
    )
    shared: tuple[float, ...] = option(
        (),
        "Weights of shared words to compare, against 1 for the model; 0 uses the model alone. Empty: the weight "
        "that was chosen for the model, and 0.",
    )
    seed: int = option(0, "Seed of samples and initialisation.", low=0)

    def validate(self) -> None:
        """Check that the clusterers need vectors and a number of clusters."""
        from themescope.core.clustering import REGISTRY as CLUSTERERS

        for clusterer in self.clusterers:
            tags = CLUSTERERS.get(clusterer).tags
            if "needs-k" not in tags or tags & {"no-vectors", "counts"}:
                raise ConfigError(f"{clusterer!r} does not cluster vectors into a given number of clusters.")
        if any(not 0 <= weight <= 1_000 for weight in self.shared):
            raise ConfigError("The weight of shared words must be between 0 and 1,000.")


def choose_method(args: ChooseMethodConfig, context: JobContext) -> dict[str, Any]:
    """Cluster with every configuration, and rank them by their agreement with the judged pairs."""
    from themescope.core.labelling.method_choice import check, choose

    work = _Work(context, args)
    check(work.judged.pairs)
    candidates, table = [], []
    for candidate, labels in work.candidates():
        candidates.append(candidate)
        table.append(work.together(labels))
    context.progress(0.97, 1, "Comparing with the labels")
    articles = work.judged.articles[work.partition.rows(work.judged.pairs.sentences)]
    choice = choose(work.judged.pairs, np.stack(table), articles, seed=args.seed)
    return {
        "labelling": work.record.name,
        "labelling_id": work.record.id,
        "step": work.step,
        "placed": len(work.judged.placed),
        "sentences": len(work.judged.pairs.sentences),
        "pairs": len(work.judged.pairs),
        "candidates": len(candidates),
        "seed": args.seed,
        **_described(candidates, choice),
    }


def _described(candidates: Sequence[Mapping[str, Any]], choice: Choice) -> dict[str, Any]:
    """Return the best configurations, the default and the chosen one, by falling agreement."""
    listed = [
        {
            **candidates[rank.place],
            "place": number,
            "agreement": asdict(rank.agreement),
            "gain": asdict(rank.gain),
            "bound": rank.bound,
            "default": rank.place == 0,
            "chosen": rank.place == choice.chosen,
        }
        for number, rank in enumerate(choice.ranks, 1)
    ]
    kept = [row for row in listed if row["place"] <= _LISTED or row["default"] or row["chosen"]]
    return {"ranking": kept, "held_out": choice.held_out}


class _Work:
    """The labelling, what people said about it, and the clusterings that are compared."""

    def __init__(self, context: JobContext, args: ChooseMethodConfig) -> None:
        self.context, self.args, store = context, args, context.store
        with store.reading() as r:
            self.record: LabellingRecord = r.labellings.by_name(args.labelling)
            snapshot = r.labellings.snapshot(self.record.id)
        self.partition: Partition = snapshot.partition
        self.step: int = snapshot.step
        if len(self.partition.ids) > MOST_SENTENCES:
            raise DataError(
                f"“{self.record.name}” has {len(self.partition.ids):,} sentences; methods are compared on at most "
                f"{MOST_SENTENCES:,}. Make a labelling of an article."
            )
        self.judged: Judged = judged_pairs(store, self.record, self.partition)
        self.text = LabelledText(store, self.partition.ids)

    def together(self, labels: Labels) -> npt.NDArray[np.bool_]:
        """Return (p,) whether (n,) labels put both sentences of a judged pair into one cluster."""
        first, second = self.judged.pairs.rows(self.partition.ids)
        return np.asarray((labels[first] == labels[second]) & (labels[first] >= 0))

    def candidates(self) -> Iterator[tuple[dict[str, Any], Labels]]:
        """Yield every configuration as JSON values, the default first, with the labels of the sentences."""
        from themescope.core.clustering import REGISTRY as CLUSTERERS

        models = models_to_compare(self.context.store, self.record, self.args.models)
        configurations = self._configurations(models)
        for number, one in enumerate(configurations):
            what = f"{one.model}, {CLUSTERERS.get(one.clusterer).title}, {one.k} clusters"
            self.context.progress(0.05 + 0.9 * number / len(configurations), 1, what)
            yield asdict(one), self.text.clustered(one, self.args.seed)
        yield from stored_clusterings(self.context.store, self.record, self.text)

    def _configurations(self, models: Sequence[ModelRecord]) -> list[Configuration]:
        from themescope.core.clustering import REGISTRY as CLUSTERERS
        from themescope.core.labelling.method_choice import Configuration, numbers_of_clusters
        from themescope.core.tasks.theme_counts import suggest

        n = len(self.partition.ids)
        present = len(np.unique(self.partition.numbers[self.partition.numbers != UNASSIGNED]))
        calibration = self._calibration(models[0])
        suggested = suggest(self.text.vectors(models[0].name), calibration, _MOST_CLUSTERS, self.args.seed).k
        clusterers = self.args.clusterers or [card.id for card in CLUSTERERS.tagged("compared")]
        best = Configuration(models[0].name, clusterers[0], suggested, (self.args.shared or (calibration.shared,))[0])
        found = [
            Configuration(model.name, clusterer, k, shared)
            for model in models
            for shared in self.args.shared or (self._calibration(model).shared, 0.0)
            for clusterer in clusterers
            for k in numbers_of_clusters(suggested, present, n)
        ]
        return list(dict.fromkeys([best, *found]))

    def _calibration(self, model: ModelRecord) -> PairCalibration:
        from themescope.core.tasks.pair_calibration import load_calibration

        return load_calibration(self.context.store.artifacts.path(model.artifact))
