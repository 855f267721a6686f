"""Order of models for a choice: the best validated one first, never merely the newest.

1. For text that is not English, models that a person marked as multilingual;
2. models that were evaluated on a benchmark of at least six articles, by their best score;
3. the pretrained models, the default one first;
4. all others, the newest first.

Models that cannot read the language come after all others, and so do those whose vectors depend on the article where
sentences of several articles are compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from themescope.core.paths import default_models, lacks_packages
from themescope.core.text.languages import Shares
from themescope.db.records import BenchmarkRecord, ModelRecord, RunRecord
from themescope.db.store import Store
from themescope.jobs.common.model_notes import is_english, language_note, within_article
from themescope.jobs.common.models import selectable_models

LEAST_ARTICLES = 6
"""Articles from which a benchmark tells models apart: the paired tests need six pairs to reach p < 0.05."""
SCORE = "ami"


def best_first(
    store: Store,
    shares: Shares,
    corpus_id: int | None = None,
    *,
    models: Sequence[ModelRecord] = (),
    across: bool = True,
) -> list[ModelRecord]:
    """Return ``models``, by default all that a job can use, the best one for a text first.

    The text has these ``shares`` of languages; benchmarks of the corpus ``corpus_id`` count more than others. With
    ``across``, sentences of several articles will be compared.
    """
    found = list(models) or selectable_models(store)
    scores = validated(store, corpus_id)
    english = is_english(shares)
    preferred = {name: place for place, name in enumerate(default_models())}

    def key(model: ModelRecord) -> tuple[object, ...]:
        poor = bool(language_note(store, model, shares)), across and within_article(model), lacks_packages(model.name)
        score = scores.get(model.id)
        pretrained = preferred.get(model.name, len(preferred))
        return (
            *poor,
            english or not model.multilingual,
            score is None,
            -(score or 0.0),
            pretrained,
            -model.created.timestamp(),
            -model.id,
        )

    return sorted(found, key=key)


def validated(store: Store, corpus_id: int | None = None) -> dict[int, float]:
    """Return model id → best mean AMI on one benchmark of at least :data:`LEAST_ARTICLES` articles.

    Of several benchmarks, one of the corpus is taken, then that with the most models, then that with the most articles.
    """
    with store.reading() as r:
        large = {b.id: b for b in r.benchmarks.list() if articles_of(b) >= LEAST_ARTICLES}
        runs = [run for run in r.runs.list(kind="clustering") if run.benchmark_id in large and run.model_id]
        if not runs:
            return {}
        chosen = max({run.benchmark_id for run in runs}, key=lambda id: _weight(large[id or 0], runs, corpus_id))
        of = {run.id: run.model_id for run in runs if run.benchmark_id == chosen}
        scores = [score for score in r.runs.scores(list(of)) if score.metric == SCORE]
    best: dict[int, float] = {}
    for score in scores:
        model = of[score.run_id] or 0
        best[model] = max(score.value, best.get(model, score.value))
    return best


def articles_of(benchmark: BenchmarkRecord) -> int:
    """Return the number of articles of a benchmark."""
    return int(benchmark.counts.get("articles", {}).get("taken", 0))


def _weight(benchmark: BenchmarkRecord, runs: Sequence[RunRecord], corpus_id: int | None) -> tuple[bool, int, int, int]:
    models = len({run.model_id for run in runs if run.benchmark_id == benchmark.id})
    return benchmark.corpus_id == corpus_id, models, articles_of(benchmark), benchmark.id
