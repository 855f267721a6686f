"""Descriptions of the data of a table row: what it was evaluated on, and what its model was trained on."""

from __future__ import annotations

from themescope.core.errors import Cancelled, StoreError, ThemescopeError
from themescope.core.papers.measures import (
    Accuracy,
    ChosenSetting,
    ClusteringMeasures,
    Combined,
    Cost,
    CountBenchmark,
    CountSummaries,
    CountTopics,
    CountTriplets,
    Measure,
    RelatednessMeasures,
    SummaryMeasures,
    Topics,
)
from themescope.core.papers.spec import ModelSpec
from themescope.core.text.word_tables import DISTILLED
from themescope.db.records import ModelRecord
from themescope.jobs.papers.work import Work


def data_of(wanted: Measure, work: Work) -> str:
    """Describe the evaluation data and the training data."""
    match wanted:
        case CountTriplets(triplets):
            return f"{work.sources.corpus.name}: {work.sources.corpus.articles:,} articles"
        case CountBenchmark(benchmark):
            return _benchmark_words(work, benchmark)
        case Accuracy(model, triplets):
            return f"{_test_words(work, triplets)}; {_model_words(work, model)}"
        case ClusteringMeasures(model, _, benchmark):
            return _benchmark_words(work, benchmark) + (f"; {_model_words(work, model)}" if model else "")
        case RelatednessMeasures(model):
            return f"SICK; {_model_words(work, model)}"
        case Cost(model):
            return _model_words(work, model)
        case Combined(parts):
            return "; ".join(dict.fromkeys(filter(None, (_known_data(part, work) for part, _ in parts.values()))))
        case _:
            return _data_of_topics(wanted, work)


def _data_of_topics(wanted: CountTopics | ChosenSetting | Topics | CountSummaries | SummaryMeasures, work: Work) -> str:
    match wanted:
        case CountTopics(labels) | ChosenSetting(_, labels):
            return work.corpus_of_model(labels).name
        case Topics(model, labels):
            return f"{work.corpus_of_model(labels).name}; {_model_words(work, model)}"
        case CountSummaries(documents):
            return documents.rsplit("/", 1)[-1]
        case SummaryMeasures(documents, _, model):
            return documents.rsplit("/", 1)[-1] + (f"; {_model_words(work, model)}" if model else "")


def _known_data(wanted: Measure, work: Work) -> str:
    """Return the data of a part of a row, "" if they are missing."""
    try:
        return data_of(wanted, work)
    except (Cancelled, StoreError):
        raise
    except ThemescopeError:
        return ""


def _test_words(work: Work, triplets: str) -> str:
    file = work.test_file(triplets)
    if file:
        return f"triplets of {file.name}"
    counts = work.triplet_set(triplets).counts
    split, limit = work.profile.split.value, work.profile.articles
    articles = counts["articles"]["with_triplets"][split]
    found = f"{counts['triplets'][split]:,} {split} triplets of {articles:,} articles"
    found = f"{split} triplets of {limit:,} articles" if 0 < limit < articles else found
    return f"{found} ({work.sources.corpus.name})"


def _benchmark_words(work: Work, id: str) -> str:
    counts = work.benchmark(id).counts
    table = counts["table"]["ours"]
    source = work.corpus_of_benchmark(id)
    return f"{table['articles']:,} articles, {table['sentences']:,} sentences ({source})"


def _model_words(work: Work, id: str) -> str:
    """Describe the training data: triplets, text, word vectors alone, or other models."""
    declared = work.paper.model(id)
    if work.is_given(id):
        return f"model {work.model(id, work.profile.seeds[0]).name}"
    if declared.parts and not declared.ensemble:
        return "made of: " + "; ".join(_model_words(work, part) for part in declared.parts)
    if declared.ensemble:
        return "the models of all seeds of " + " and ".join(declared.parts)
    found = work.model(id, work.profile.seeds[0])
    if declared.pretrained:
        return f"model {found.name}"
    parts = [*_training_words(work, declared, found)]
    tables = [work.sources.words_for(slot) for slot in (declared.words, *declared.tables) if slot]
    if tables:
        parts.append("words of " + " and ".join(map(_table_words, tables)))
    return ", ".join(parts) or "nothing to learn"


def _table_words(table: str) -> str:
    """Describe a table of word vectors without the folders of its path."""
    if table.startswith(DISTILLED):
        return "the sentence encoder"
    return table.replace("\\", "/").rsplit("/", 1)[-1]


def _training_words(work: Work, declared: ModelSpec, found: ModelRecord) -> list[str]:
    if not declared.triplets:
        return [f"text of {work.corpus(declared.corpus).name}"] if found.corpus_id else []
    files = work.sources.training_files() if work.paper.triplet_data(declared.triplets).replaceable else None
    if files:
        return [f"learned from {files[0].name}"]
    known = work.triplet_set(declared.triplets).counts["triplets"]["train"]
    drawn = int(found.config.get("triplets_per_epoch", 0)) * int(found.config.get("epochs", 1))
    return [
        f"learned from {drawn:,} draws of {known:,} triplets"
        if 0 < drawn < known
        else f"learned from {known:,} triplets"
    ]
