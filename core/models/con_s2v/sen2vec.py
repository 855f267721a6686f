"""``sen2vec``: distributed memory and distributed bag of words side by side (Le and Mikolov 2014; algorithms F.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from core.config import config_from_dict, option
from core.errors import DataError
from core.models.con_s2v.config import MemoryConfig, SentVecConfig, TrainingConfig
from core.models.con_s2v.sentence_vectors import Fitted, SentenceVectors
from core.models.con_s2v.text import EncodedText
from core.protocols import Report, SubReport
from core.types import Corpus

PARTS = ("dm+dbow", "dbow", "dm")


@dataclass(frozen=True)
class Sen2VecConfig(TrainingConfig):
    """Settings of ``sen2vec``."""

    dim: int = option(300, "Coordinates of each half.", low=2, high=2_000)
    parts: str = option("dm+dbow", "Distributed memory, distributed bag of words, or both side by side.", choices=PARTS)
    window: int = option(10, "Most words before a word that help to predict it, k (published: 8, 10 or 12).",
                         low=1, high=100)  # fmt: skip
    learning_rate: float = option(0.025, "First rate of the bag of words.", low=1e-6, high=1)
    memory_rate: float = option(0.05, "First rate of distributed memory.", low=1e-6, high=1)
    mode: str = option(
        "paper", "paper: a sentence's vector alone predicts each word. reference: so do the words in a window around "
        "it (bag of words only).",
        choices=("paper", "reference"),
    )  # fmt: skip


class Sen2Vec(SentenceVectors):
    """Vectors learned from the words of each sentence alone."""

    config_class: ClassVar[type[TrainingConfig]] = Sen2VecConfig

    def _learn(self, text: EncodedText, corpus: Corpus, report: Report) -> Fitted:
        return learn_content(self.config, text, self.seed, report)


def content_of(config: Sen2VecConfig, text: EncodedText, corpus: Corpus, seed: int, report: Report) -> Fitted:
    """Content vectors of the sentences of ``text``: of the model in ``corpus.models``, else learned here and now."""
    if not corpus.models:
        return learn_content(config, text, seed, report)
    model = corpus.models[0]
    if len(corpus.models) > 1 or not isinstance(model, SentenceVectors):
        raise DataError("This method builds on one trained sen2vec. Name that model, or none to train one on the way.")
    report.progress(0, 1, "Looking up content vectors")
    return model.content([corpus.sentences[row] for row in text.rows.tolist()])


def learn_content(config: Sen2VecConfig, text: EncodedText, seed: int, report: Report) -> Fitted:
    """(n, dim or 2·dim) vectors of the sentences of ``text``."""
    from core.models.con_s2v.graphs import no_graph
    from core.models.con_s2v.inference import ContentModel
    from core.models.con_s2v.learn import learn_memory, learn_sentences

    shared = {name: getattr(config, name) for name in TrainingConfig.__dataclass_fields__}
    shared |= {"dim": config.dim, "window": config.window}
    halves, models, metrics = [], [], dict[str, float]()
    names = config.parts.split("+")
    for place, name in enumerate(names):
        part = SubReport(report, place / len(names), (place + 1) / len(names))
        if name == "dm":
            memory = config_from_dict(MemoryConfig, shared | {"learning_rate": config.memory_rate})
            learned = learn_memory(memory, text, seed, part)
            models.append(ContentModel(learned.words, learned.inputs, config.memory_rate, config.window))
        else:
            bags = config_from_dict(
                SentVecConfig,
                shared
                | {"learning_rate": config.learning_rate, "neighbours": False, "proximity": False, "mode": config.mode},
            )
            learned = learn_sentences(bags, text, no_graph(len(text)), seed, part, "content")
            models.append(ContentModel(learned.words, learned.inputs[:0], config.learning_rate))
        halves.append(learned.sentences)
        metrics |= {f"{name}: {key}" if len(names) > 1 else key: value for key, value in learned.metrics.items()}
    return Fitted(np.concatenate(halves, axis=1), tuple(models), text.vocabulary, metrics)
