"""CON-S2V and REG: sentence vectors that also answer for their neighbours (SJH17; algorithms F.2, F.3).

One method in four settings: neighbours by discourse or by similarity; REG pulls neighbours together, CON-S2V predicts
them as well. Similarity is measured on Sen2Vec vectors: those of the model that ``fit`` is given, else its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.config import option
from core.models.con_s2v.config import GRAPHS, SentVecConfig, TrainingConfig
from core.models.con_s2v.context import Neighbours, content_config
from core.models.con_s2v.sentence_vectors import Fitted, SentenceVectors
from core.models.con_s2v.text import EncodedText
from core.protocols import Report
from core.types import Corpus

_NEIGHBOURS = "Predict a neighbouring sentence from its vector."
_GRAPH = "Neighbours of a sentence: the previous and the next one, or the most similar ones."


@dataclass(frozen=True)
class ConS2VDisConfig(SentVecConfig):
    """Settings of ``con-s2v-dis``."""


@dataclass(frozen=True)
class ConS2VSimConfig(SentVecConfig):
    """Settings of ``con-s2v-sim``."""

    graph: str = option("similarity", _GRAPH, choices=GRAPHS)


@dataclass(frozen=True)
class RegDisConfig(SentVecConfig):
    """Settings of ``reg-dis``."""

    neighbours: bool = option(False, _NEIGHBOURS)


@dataclass(frozen=True)
class RegSimConfig(SentVecConfig):
    """Settings of ``reg-sim``."""

    neighbours: bool = option(False, _NEIGHBOURS)
    graph: str = option("similarity", _GRAPH, choices=GRAPHS)


class _ContextVectors(SentenceVectors):
    """Content, neighbour prediction and proximity, as the settings switch them."""

    def _learn(self, text: EncodedText, corpus: Corpus, report: Report) -> Fitted:
        from core.models.con_s2v.graphs import no_graph
        from core.models.con_s2v.inference import ContentModel
        from core.models.con_s2v.learn import learn_sentences

        config: SentVecConfig = self.config
        graph, rest = no_graph(len(text)), report
        if config.needs_graph:
            neighbours = Neighbours(config.graph, content_config(config))
            graph, rest = neighbours.graph(text, corpus, self.seed, report)
        learned = learn_sentences(config, text, graph, self.seed, rest)
        content = ContentModel(learned.words, learned.inputs[:0], config.learning_rate)
        edges = {"neighbours a sentence": len(graph.targets) / max(len(graph), 1)}
        return Fitted(learned.sentences, (content,), text.vocabulary, learned.metrics | edges)


class ConS2VDis(_ContextVectors):
    """All three over the previous and the next sentence."""

    config_class: ClassVar[type[TrainingConfig]] = ConS2VDisConfig


class ConS2VSim(_ContextVectors):
    """All three over the most similar sentences."""

    config_class: ClassVar[type[TrainingConfig]] = ConS2VSimConfig


class RegDis(_ContextVectors):
    """Content and proximity over the previous and the next sentence."""

    config_class: ClassVar[type[TrainingConfig]] = RegDisConfig


class RegSim(_ContextVectors):
    """Content and proximity over the most similar sentences."""

    config_class: ClassVar[type[TrainingConfig]] = RegSimConfig
