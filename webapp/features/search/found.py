"""Results of a search, with the links that open them, as the component of the page draws them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from themescope.core.paths import default_models
from themescope.core.records.stored import CorpusRecord, ModelRecord
from themescope.core.types import Ids
from themescope.jobs.services.everything import COUNTED, HitGroup, Result, find_everything, group_of, words_of
from themescope.jobs.services.search import find_similar
from themescope.webapp.features.search import links
from themescope.webapp.features.search.links import Link
from themescope.webapp.shared import queries
from themescope.webapp.shared.text import shorten

_NEAREST = 20
_TEXT_CHARS, _DETAIL_CHARS = 300, 140


@dataclass(frozen=True, slots=True)
class Listed:
    """A group of results and where each of them leads."""

    group: HitGroup
    links: list[Link]

    def data(self) -> dict[str, Any]:
        """Return the group as the component draws it."""
        more = f"{COUNTED:,}+" if self.group.count > COUNTED else f"{self.group.count:,}"
        items = [
            {
                "title": shorten(result.title, _TEXT_CHARS),
                "detail": shorten(result.detail, _DETAIL_CHARS),
                "address": link.address,
            }
            for result, link in zip(self.group.results, self.links, strict=True)
        ]
        return {"title": self.group.kind, "count": more, "icon": links.icon_of(self.group.kind), "items": items}


def by_words(text: str, corpus: CorpusRecord | None) -> list[Listed]:
    """Return everything that contains the words of a text; texts of ``corpus`` come first."""
    words = words_of(text)
    if not words:
        return []
    stored = find_everything(queries.store(), text, corpus.id if corpus else 0)
    found = [Listed(group, [links.link_of(group.kind, result) for result in group.results]) for group in stored]
    others = [Listed(*links.pages(words)), Listed(*links.documentation(words))]
    return [*found, *(listed for listed in others if listed.links)]


def sentence_ids(text: str, corpus: CorpusRecord) -> Ids:
    """Return the ascending ids of the sentences of a corpus that contain all words of a text."""
    parts = [queries.sentence_ids_with(corpus.id, word) for word in words_of(text)]
    return reduce(np.intersect1d, parts) if parts else np.empty(0, np.int64)


def by_meaning(text: str, corpus: CorpusRecord, model: ModelRecord) -> list[Listed]:
    """Return the sentences of a corpus nearest to a text.

    Raises ``ThemescopeError`` if the model cannot embed the text, for example because it knows none of its words.
    """
    if not words_of(text):
        return []
    matches = find_similar(queries.store(), corpus.id, text, model.id, _NEAREST).items
    results = [
        Result(
            m.sentence.text,
            f"{m.cosine or 0:.2f} · {m.sentence.article}",
            corpus.name,
            m.sentence.article,
            m.sentence.id,
        )
        for m in matches
    ]
    group = group_of("Sentences", results, _NEAREST)
    return [Listed(group, [links.link_of("Sentences", result) for result in group.results])] if results else []


def embedded_by(corpus: CorpusRecord | None) -> ModelRecord | None:
    """Return the model to search a corpus by: a default model, else the newest one, with vectors of it; or None."""
    if corpus is None:
        return None
    places = {name: place for place, name in enumerate(default_models())}
    with queries.store().reading() as r:
        models = sorted(reversed(r.models.list()), key=lambda model: places.get(model.name, len(places)))
        return next((model for model in models if r.embeddings.have(model.id, corpus.id)), None)
