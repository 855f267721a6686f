"""Categories suggested by clustering the notes of cases. Suggestions stay suggestions until a person accepts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from themescope.core.errors import DataError
from themescope.db.label_records import Notebook

if TYPE_CHECKING:
    from themescope.core.sentence_model import SentenceModel

FEWEST, MOST = 5, 2_000
"""Minimum and maximum number of cases with notes that are clustered."""
BY_MEANING, BY_WORDS = "meaning", "words"
_SETTINGS = {"most": 15, "sample": 10, "subsamples": 1, "central": 3, "words": 2}
"""At most 15 categories, which a person can keep apart; the curves over other numbers are not used here."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A category that the notes suggest."""

    name: str
    examples: tuple[str, ...]
    """Its most central notes."""
    case_ids: tuple[int, ...]


def suggest_categories(notebook: Notebook, by: str = BY_MEANING) -> list[Suggestion]:
    """Cluster the notes of cases, all notes of a case as one text; the largest category comes first.

    The number of categories follows from the similarities (``themescope.core.tasks.theme_counts``), names from the
    words that tell the clusters apart. ``by`` is :data:`BY_MEANING`, vectors of the default model and words, or
    :data:`BY_WORDS`, tf-idf. Raises :class:`DataError` with fewer than :data:`FEWEST` cases with notes.
    """
    from themescope.core.api import find_themes

    texts = texts_to_cluster(notebook)
    check_number(len(texts))
    cases, written = [*texts], [*texts.values()]
    model: Any = _default_model() if by == BY_MEANING else _Words()
    found = find_themes(written, model, settings=_SETTINGS)
    return [
        Suggestion(
            theme.name[:1].upper() + theme.name[1:],
            tuple(written[row] for row in theme.central),
            tuple(case for case, label in zip(cases, found.labels.tolist(), strict=True) if label == place),
        )
        for place, theme in enumerate(found.themes)
    ]


def texts_to_cluster(notebook: Notebook) -> Mapping[int, str]:
    """Return case id → the text of its notes."""
    return {id: " ".join(" ".join(note.text.split()) for note in of) for id, of in notebook.notes_of().items()}


def check_number(n: int) -> None:
    """Raise :class:`DataError` if so many cases with notes are too few or too many to be clustered."""
    if n < FEWEST:
        raise DataError(
            f"Suggestions need notes on at least {FEWEST} cases; so far {n} have one. Write more notes first."
        )
    if n > MOST:
        raise DataError(f"Suggestions use at most {MOST:,} cases with notes; this notebook has {n:,}.")


@lru_cache(maxsize=1)
def _default_model() -> SentenceModel:
    from themescope.core.sentence_model import load

    return load()


class _Words:
    def encode(self, sentences: Sequence[str]) -> Any:
        """Return (n, words) CSR vectors without empty columns."""
        import numpy as np

        from themescope.core.models.bag_of_words import Tfidf, TfidfConfig
        from themescope.core.types import Sentence

        placed = [Sentence(text, article_id=0, position=i) for i, text in enumerate(sentences)]
        vectors: Any = Tfidf(TfidfConfig(stop_words=False), 0).embed(placed)
        return vectors[:, np.flatnonzero(np.bincount(vectors.indices, minlength=vectors.shape[1]))]
