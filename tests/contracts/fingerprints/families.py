import dataclasses
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.contracts.fingerprints.inputs import articles, corpus, fixed, numbers, partition, sentences, upper
from tests.core.reports import Watched
from tests.tiny_encoder import write_encoder
from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.config import digest_of
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.models import REGISTRY as MODELS
from themescope.core.models.artifact import load_model
from themescope.core.models.con_s2v.config import EpochsConfig
from themescope.core.paths import model_folder
from themescope.core.readers import REGISTRY as READERS
from themescope.core.readers.formats import sample
from themescope.core.registry import Card
from themescope.core.tasks.summaries import REGISTRY as SUMMARIZERS
from themescope.core.types import SILENT, Corpus, Model, Report

Value = float | str
Fingerprint = list[Value]


SMALL = {
    "vocabulary_limit": 3_000, "hidden": 8, "attention": 4, "epochs": 2, "batch_size": 8, "threads": 1,
    "device": "cpu", "word_dim": 12, "decoder": 8, "learning_rate": 0.02, "width": 8, "layers": 1, "heads": 2,
    "least_count": 1, "precision": "fp32", "loss": "paper",
}  # fmt: skip
LEARNED = {"dim": 12, "epochs": 5, "learning_rate": 0.1, "memory_rate": 0.2, "subsampling": 0}


def settings_of(card: Card) -> dict[str, Any]:
    """Return settings that make a method small; it ignores those that it does not have."""
    wanted = SMALL | (LEARNED if issubclass(card.config_class(), EpochsConfig) else {})
    # With a larger rate the sentences of the tiny corpus have nearly the same vector, and rounding decides their ranks.
    return wanted | ({"folder": str(_encoder()), "learning_rate": 0.002} if "encoder" in card.tags else {})


def build_model(
    card: Card,
    seed: int,
    report: Report,
    small: Callable[[Card], dict[str, Any]] = settings_of,
    data: Callable[[], Corpus] = corpus,
) -> Model:
    """A model with small settings, fitted to a tiny corpus."""
    fields = {field.name for field in dataclasses.fields(card.config_class())}
    model: Model = MODELS.build(card.id, {k: v for k, v in small(card).items() if k in fields}, seed=seed)
    parts: list[Model] = []
    if card.id == "context-encoder":
        parts = [_part("thematic-encoder", seed, small, data)]
    elif card.id == "list-encoder":
        thematic: Any = load_model(model_folder("thematic-wikipedia-2"))[0]
        thematic.config = dataclasses.replace(thematic.config, precision="fp32", device="cpu")
        parts = [thematic]
    elif "needs-models" in card.tags:
        parts = [_part("triplets-sen", one, small, data) for one in (seed, seed + 1)]
    fitted = model.fit(dataclasses.replace(data(), models=parts), report)
    assert fitted is model
    return model


@cache
def _part(id: str, seed: int, small: Callable[[Card], dict[str, Any]], data: Callable[[], Corpus]) -> Model:
    return build_model(MODELS.get(id), seed, SILENT, small, data)


@cache
def _encoder() -> Path:
    """A folder with a BERT over the words of the tiny corpus, whose matrices are :func:`fixed`."""
    import torch
    from transformers import BertModel

    words = sorted({word.strip(".").lower() for s in sentences() for word in s.text.split()})
    folder = write_encoder(Path(tempfile.mkdtemp()), words)
    network = BertModel.from_pretrained(folder)
    with torch.no_grad():
        for place, weights in enumerate(network.parameters()):
            if weights.dim() > 1:  # the others are scales and biases, which start as ones and zeros
                weights.copy_(torch.from_numpy(fixed(1, weights.numel(), place).reshape(weights.shape)))
    network.save_pretrained(folder)
    return folder


def of_model(card: Card) -> Fingerprint:
    report = Watched()
    vectors: Any = build_model(card, 3, report).embed(sentences())
    curves = [value for name, _, value in report.points if "/s" not in name and "seconds" not in name]
    return [*upper(vectors @ vectors.T), *curves]


def of_clusterer(card: Card) -> Fingerprint:
    clusterer = CLUSTERERS.build(card.id)
    return [partition(clusterer.fit_predict(fixed(40, 6, seed), 4, seed)) for seed in range(3)]


def of_metric(card: Card) -> Fingerprint:
    metric = METRICS.build(card.id)
    pairs = [np.floor(5 * (fixed(30, 2, seed) + 0.5)).astype(np.int32).T for seed in range(3)]
    return [metric.score(first, second // divisor) for divisor in (1, 2) for first, second in pairs]


def of_reader(card: Card) -> Fingerprint:
    with tempfile.TemporaryDirectory() as folder:
        table = "table" in card.tags  # tables of text are known by their suffix
        path = Path(folder) / ("sample.csv" if table else f"sample{getattr(card, 'suffixes', ('',))[0]}")
        path.write_bytes(sample(card.id))
        reader = READERS.build(card.id)
        read = [dataclasses.asdict(found, dict_factory=_as_before) for found in reader.read(path, SILENT)]
    return [digest_of(json.loads(json.dumps([read, reader.skipped], default=str)))]


def _as_before(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a part of an article without empty fields that there were not when its fingerprint was written."""
    return {name: value for name, value in fields if value or name not in ("values", "sentence_values", "starts")}


def of_summarizer(card: Card) -> Fingerprint:
    texts = [s.text for s in articles()[0].sentences[:8]]
    return numbers(SUMMARIZERS.build(card.id).scores(texts, fixed(8, 5), 1))


def of_word_table(card: Card) -> Fingerprint:
    table = card.resolve()(limit=50)
    return [*table.words[:10], *numbers(table.vectors(slice(0, 3))[:, :5].ravel())]
