"""Metrics learned in seconds from the labels of a labelling: learning, measured effect, and keeping one as a model."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from themescope.core.config import digest_of
from themescope.core.errors import DataError
from themescope.core.labelling.partition import Partition
from themescope.core.records.stored import LabellingRecord, ModelRecord
from themescope.core.types import Ids
from themescope.db.access import check_write
from themescope.db.records import VectorBlock
from themescope.db.store import Store
from themescope.jobs.common.labelled import judged_pairs
from themescope.jobs.common.vectors import method_of
from themescope.jobs.services.search import vectors_of

if TYPE_CHECKING:
    from themescope.core.labelling.learning import MetricEffect
    from themescope.core.labelling.operations import Operation
    from themescope.core.models.linear_metric import Directions, LinearMetricConfig

_LEARNS_METRIC = "learns-metric"
FEWEST = 10
"""Least number of judged sentences: with fewer a metric had no effect on other sentences (docs/experiments.md)."""
_OTHER_INPUT = frozenset({"sparse", "per-article", _LEARNS_METRIC})
_ARTICLES = 200


@dataclass(frozen=True, slots=True)
class LearnedMetric:
    """Metric of a labelling that is not kept yet, with its effect on what it was not learned from."""

    base: ModelRecord
    config: LinearMetricConfig
    directions: Directions
    sentences: int
    """Number of judged sentences that it was learned from."""
    titles: tuple[str, ...]
    """Titles of their articles."""
    on_sentences: MetricEffect | None
    on_articles: MetricEffect | None
    """None if people placed sentences of too few articles."""
    seconds: float

    @property
    def helps(self) -> bool:
        """Whether every measured effect is above 0."""
        from themescope.core.labelling.learning import helps

        return helps(self.on_sentences, self.on_articles)


def usable_bases(models: list[ModelRecord]) -> list[ModelRecord]:
    """Return the models that a metric can be learned on: those with dense vectors of single sentences."""
    return [m for m in models if not method_of(m).tags & _OTHER_INPUT]


def learn_from_labels(store: Store, record: LabellingRecord, partition: Partition, base: ModelRecord) -> LearnedMetric:
    """Learn a metric from what people judged, without articles of the test split.

    Raises :class:`DataError` if too few sentences were judged.
    """
    from threadpoolctl import threadpool_limits

    from themescope.core.labelling.learning import effect_on_articles, effect_on_sentences, learn_metric
    from themescope.core.models.linear_metric import LinearMetricConfig

    begun = time.monotonic()
    judged, ids = judged_pairs(store, record, partition), partition.ids
    pairs = judged.for_training(ids)
    _check(len(pairs.sentences), pairs.both_kinds, len(judged.pairs.sentences))
    used, config = pairs.sentences, LinearMetricConfig()
    x = np.asarray(vectors_of(store, base.id, used), np.float32)
    articles = judged.articles[partition.rows(used)]
    # The matrices are so small that threads wait for each other on a busy machine.
    with threadpool_limits(limits=1, user_api="blas"):
        return LearnedMetric(
            base,
            config,
            learn_metric(pairs, used, x, config),
            len(used),
            tuple(sorted(judged.titles[int(i)] for i in np.unique(articles))),
            effect_on_sentences(pairs, used, x, config),
            effect_on_articles(pairs, used, x, config, articles),
            time.monotonic() - begun,
        )


def _check(count: int, both_kinds: bool, all_judged: int) -> None:
    left_out = " Sentences of articles of the test split are not used." if count < all_judged else ""
    if count < FEWEST:
        raise DataError(
            f"{count} of the sentences that people judged can be learned from; a metric needs at least {FEWEST}. "
            f"Assign some more, or answer questions.{left_out}"
        )
    if not both_kinds:
        raise DataError(f"All of these units have one code, or each has another one.{left_out}")


def moved(learned: LearnedMetric, x: Any) -> Any:
    """Return (n, dim) vectors of the base model under the metric."""
    from themescope.core.models.base import unit_length

    return learned.directions.apply(unit_length(np.asarray(x, np.float32)))


def preview(partition: Partition, x: Any, learned: LearnedMetric, placed: Ids) -> Partition:
    """Return the partition re-clustered under the metric around the ``placed`` sentences; ``x`` are base vectors."""
    from themescope.core.labelling.suggestions import recluster

    return recluster(partition, moved(learned, x), np.union1d(placed, partition.ids[partition.uncertain]))


def keep(store: Store, record: LabellingRecord, learned: LearnedMetric) -> ModelRecord:
    """Store the metric as a model, with vectors of the articles of the labelling; an equal one is not stored twice.

    Requires the admin role.
    """
    with store.writing() as w:  # only there is the person known
        check_write(w.models.connection, w.models.table.name)  # before files are written
    model = _stored(store, record, learned)
    with store.reading() as r:
        ids = r.labellings.snapshot(record.id).partition.ids
        articles = sorted({s.article_id for s in r.corpora.sentences_by_id(ids).values()})
        missing = sorted(set(articles) - r.embeddings.have(model.id, record.corpus_id))
    for first in range(0, len(missing), _ARTICLES):
        with store.reading() as r:
            found = r.embeddings.get(learned.base.id, missing[first : first + _ARTICLES])
        blocks = [VectorBlock(article, moved(learned, x)) for article, x in found.items()]
        with store.writing() as w:
            w.embeddings.add(model.id, blocks)
    return model


def _stored(store: Store, record: LabellingRecord, learned: LearnedMetric) -> ModelRecord:
    from themescope.core.models import REGISTRY as METHODS
    from themescope.core.models.artifact import save_model
    from themescope.core.models.linear_metric import LinearMetric

    method = METHODS.tagged(_LEARNS_METRIC)[0].id
    base, info = _loaded(store, learned.base)
    fitted = LinearMetric(learned.config, 0).use(base, learned.directions)
    metrics = _metrics(record, learned)
    from themescope.core.models.artifact import title_digests

    seen = {*info["record"].get("train_titles", ()), *title_digests(learned.titles)}
    about = {"models": [learned.base.digest], "train_titles": sorted(seen)} | {"metrics": metrics}

    def write(folder: Any) -> None:
        save_model(fitted, method, folder, about)

    artifact = store.artifacts.put(write)
    digest = digest_of({"what": "metric of labels", "artifact": artifact})
    with store.writing() as w:
        existing = w.models.by_digest(digest)
        if existing is not None:
            return existing
        return w.models.add(
            name=w.models.usable_name(f"Metric of {record.name} on {learned.base.name}"[:180]),
            method=method,
            config=learned.config.to_dict(),
            seed=0,
            digest=digest,
            artifact=artifact,
            corpus_id=record.corpus_id,
            metrics=metrics,
        )


def _loaded(store: Store, base: ModelRecord) -> tuple[Any, dict[str, Any]]:
    from themescope.core.models.artifact import load_model

    return load_model(store.artifacts.path(base.artifact))


def _metrics(record: LabellingRecord, learned: LearnedMetric) -> dict[str, Any]:
    found: dict[str, Any] = {"labelling": record.name, "judged sentences": learned.sentences}
    for name, effect in (("other sentences", learned.on_sentences), ("other articles", learned.on_articles)):
        if effect is not None:
            gain = effect.difference
            found[name] = {
                "before": round(effect.before, 4),
                "after": round(effect.after, 4),
                "difference": [round(value, 4) for value in (gain.value, gain.low, gain.high)],
            }
    return found


def use(partition: Partition, model: ModelRecord, learned: LearnedMetric, after: Partition | None) -> Operation:
    """Return the step that uses a stored metric in the labelling, with sentences moved as in ``after``."""
    from themescope.core.labelling.learning import use_metric

    data = {"model": model.digest, "name": model.name, "sentences": learned.sentences}
    return use_metric(partition, data, after)


def name_in_use(partition: Partition) -> str:
    """Return the name of the metric that a labelling uses, also if its model was deleted; "" without one."""
    from themescope.core.labelling.learning import metric_of

    data = metric_of(partition)
    return "" if data is None else str(data.get("name", ""))


def model_in_use(store: Store, partition: Partition) -> ModelRecord | None:
    """Return the stored model of the metric that a labelling uses; None if it uses none or the model was deleted."""
    from themescope.core.labelling.learning import metric_of

    data = metric_of(partition)
    if data is None:
        return None
    with store.reading() as r:
        return r.models.by_digest(str(data.get("model", "")))


def stop(partition: Partition) -> Operation:
    """Return the step after which the labelling uses no metric."""
    from themescope.core.labelling.learning import stop_metric

    return stop_metric(partition)
