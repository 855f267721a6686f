"""The neighbours that methods of SJH17 learn from, over the sentences that take part (algorithms F.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.config import config_from_dict
from core.models.con_s2v.config import SentVecConfig, TrainingConfig
from core.models.con_s2v.sen2vec import Sen2VecConfig, content_of
from core.models.con_s2v.text import EncodedText
from core.protocols import Report, SubReport
from core.types import Corpus

if TYPE_CHECKING:
    from core.models.con_s2v.graphs import Graph

_CONTENT, _COMPARED = 0.4, 0.5  # shares of the work after content vectors, and after comparing them


def content_config(config: SentVecConfig) -> Sen2VecConfig:
    """Sen2Vec as wide as the vectors of ``config``, trained with the same settings."""
    shared = {name: getattr(config, name) for name in TrainingConfig.__dataclass_fields__}
    return config_from_dict(Sen2VecConfig, shared | {"dim": max(2, config.dim // 2), "window": config.window})


@dataclass(frozen=True)
class Neighbours:
    """How neighbours are found: by discourse, or by similarity of content vectors learned with these settings."""

    kind: str
    content: Sen2VecConfig

    def graph(self, text: EncodedText, corpus: Corpus, seed: int, report: Report) -> tuple[Graph, Report]:
        """The graph over the sentences of ``text``, and the report for what is left to do."""
        from core.models.con_s2v.graphs import discourse_graph, similarity_graph

        if self.kind == "discourse":
            return discourse_graph(text.articles, text.positions), report
        vectors = content_of(self.content, text, corpus, seed, SubReport(report, 0, _CONTENT)).vectors
        graph = similarity_graph(vectors, text.articles, SubReport(report, _CONTENT, _COMPARED))
        return graph, SubReport(report, _COMPARED, 1)
