"""``ret-dis`` and ``ret-sim``: Sen2Vec vectors drawn towards their neighbours afterwards (Faruqui et al. 2015; F.6).

q_i ← ½ q̂_i + ½ mean of the neighbours' q, in place, 20 rounds; q̂ are unit-length Sen2Vec vectors: those of the model
that ``fit`` is given, else its own. A sentence that was not learned from gets its inferred unit-length vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.config import option
from core.models.con_s2v.config import GRAPHS, TrainingConfig
from core.models.con_s2v.sen2vec import Sen2VecConfig, content_of
from core.models.con_s2v.sentence_vectors import Fitted, Float32, SentenceVectors
from core.models.con_s2v.text import EncodedText
from core.models.distances import unit_length
from core.protocols import Report, SubReport
from core.types import Corpus

_CONTENT, _COMPARED = 0.8, 0.95  # shares of the work


@dataclass(frozen=True)
class RetDisConfig(Sen2VecConfig):
    """Settings of ``ret-dis``: those of the Sen2Vec it builds on, and of retrofitting."""

    graph: str = option(
        "discourse", "Neighbours of a sentence: the previous and the next one, or the most similar ones.",
        choices=GRAPHS,
    )  # fmt: skip
    rounds: int = option(20, "Times that every sentence is drawn towards its neighbours.", low=0, high=1_000)


@dataclass(frozen=True)
class RetSimConfig(RetDisConfig):
    """Settings of ``ret-sim``."""

    graph: str = option(
        "similarity", "Neighbours of a sentence: the previous and the next one, or the most similar ones.",
        choices=GRAPHS,
    )  # fmt: skip


class _Retrofitted(SentenceVectors):
    def _learn(self, text: EncodedText, corpus: Corpus, report: Report) -> Fitted:
        from core.models.con_s2v.arrays import Context
        from core.models.con_s2v.graphs import discourse_graph, similarity_graph
        from core.models.con_s2v.kernels import retrofit

        config: RetDisConfig = self.config
        content = content_of(config, text, corpus, self.seed, SubReport(report, 0, _CONTENT))
        start = unit_length(content.vectors)
        if config.graph == "discourse":
            graph = discourse_graph(text.articles, text.positions)
        else:
            graph = similarity_graph(start, text.articles, SubReport(report, _CONTENT, _COMPARED))
        vectors = start.copy()
        for done in range(config.rounds):
            report.progress(_COMPARED + (1 - _COMPARED) * done / config.rounds, 1, "retrofitting")
            retrofit(vectors, start, Context(graph.targets, graph.starts), 1)
        edges = {"neighbours a sentence": len(graph.targets) / max(len(graph), 1)}
        return Fitted(vectors, content.parts, content.vocabulary, content.metrics | edges)

    def _inferred(self, texts: list[str]) -> Float32:
        return unit_length(super()._inferred(texts))


class RetDis(_Retrofitted):
    """Over the previous and the next sentence."""

    config_class: ClassVar[type[TrainingConfig]] = RetDisConfig


class RetSim(_Retrofitted):
    """Over the most similar sentences."""

    config_class: ClassVar[type[TrainingConfig]] = RetSimConfig
