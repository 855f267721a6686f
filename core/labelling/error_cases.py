"""Cases of an error notebook: what people collect to find out where and why models fail.

A case is a triplet, a sentence, a group of sentences, or a disagreement of two partitions, with the facts of the moment
at which it was added: texts, sections, models and margins. They stay true when models change or are deleted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from themescope.core.errors import DataError

MOST_PASSAGES = 50
"""Maximum number of sentences whose texts a case keeps; a group may have more."""
MOST_SENTENCES = 2_000
"""Maximum number of sentences of a case."""
_LONGEST = 20_000
PIVOT, POSITIVE, NEGATIVE = "pivot", "positive", "negative"
"""Roles of the sentences of a triplet."""


class CaseKind(StrEnum):
    """What a case is about."""

    TRIPLET = "triplet"
    SENTENCE = "sentence"
    GROUP = "group"
    """Sentences that were selected or moved together."""
    DISAGREEMENT = "disagreement"
    """Sentences of an article that two partitions place differently."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence of a case as it was."""

    text: str
    article: str
    section: str
    """Title of its section; empty before the first heading."""
    role: str = ""
    """Role in a triplet, see :data:`PIVOT`; empty elsewhere."""
    placed: str = ""
    """Where models or people placed it, such as "Cluster 3 → History"."""


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """The facts of a case at the time at which it was added."""

    source: str
    """Where it was found, such as "triplet set Rivers, test split"."""
    passages: tuple[Passage, ...]
    models: tuple[str, ...] = ()
    """Names of the models that the case is counted for: those that were wrong, or that placed the sentences."""
    margins: Mapping[str, float] = field(default_factory=dict)
    """Model → distance of pivot and negative minus distance of pivot and positive."""
    predicted: str = ""
    """Section or cluster that was predicted; empty if unknown."""
    sentences: int = 0
    """Number of sentences of the case; its passages may be fewer."""

    @property
    def section(self) -> str:
        """Title of the true section: that of the pivot, or the most frequent one of the sentences."""
        titles = [passage.section for passage in self.passages]
        return max(titles, key=titles.count) if titles and self.passages[0].role != PIVOT else (titles or [""])[0]

    @property
    def article(self) -> str:
        """Title of the article of the first sentence."""
        return self.passages[0].article if self.passages else ""

    def statements(self) -> list[str]:
        """Return what models said about the case, in words, one sentence each."""
        said = margins_in_words(self.margins)
        if self.predicted and not self.margins:
            by = " and ".join(self.models)
            said.append(f"{by + ': ' if by else ''}{self.predicted}.")
        return said

    def to_json(self) -> dict[str, Any]:
        """Return a JSON value."""
        passages = [{name: getattr(passage, name) for name in Passage.__slots__} for passage in self.passages]
        rest = {"source": self.source, "predicted": self.predicted, "sentences": self.sentences}
        return {**rest, "passages": passages, "models": list(self.models), "margins": dict(self.margins)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CaseFacts:
        """Return the facts that :meth:`to_json` described; raise :class:`DataError` for another value."""
        try:
            passages = tuple(Passage(**{k: _text(v) for k, v in dict(one).items()}) for one in value["passages"])
            margins = {_text(name): _finite(margin) for name, margin in dict(value["margins"]).items()}
            texts = (_text(value["source"]), passages, tuple(_text(name) for name in value["models"]))
            return cls(*texts, margins, _text(value["predicted"]), _count(value["sentences"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise DataError("These are not the facts of a case of an error notebook.") from None


def facts_of(
    source: str,
    passages: Sequence[Passage],
    models: Sequence[str] = (),
    margins: Mapping[str, float] | None = None,
    predicted: str = "",
) -> CaseFacts:
    """Return the facts of a case with all its texts; models without a finite margin have none."""
    known = {name: round(float(m), 6) for name, m in (margins or {}).items() if math.isfinite(m)}
    return CaseFacts(source, tuple(passages), tuple(models), known, predicted, len(passages))


def margin_in_words(model: str, margin: float) -> str:
    """Return what a margin means, such as "default puts the pivot nearer to the negative by .12 (wrong)."."""
    if margin == 0:
        return f"{model} puts the pivot as near to the negative as to the positive (tied)."
    nearer, verdict = ("positive", "correct") if margin > 0 else ("negative", "wrong")
    return f"{model} puts the pivot nearer to the {nearer} by {_distance(abs(margin))} ({verdict})."


def margins_in_words(margins: Mapping[str, float]) -> list[str]:
    """Return what the margins of several models mean: a sentence for the wrong ones, and one for the correct ones."""
    said = []
    for nearer, verdict, sign in (("negative", "wrong", -1), ("positive", "correct", 1)):
        some = {model: margin for model, margin in margins.items() if margin * sign > 0}
        if len(some) > 1:
            each = ", ".join(f"{model} by {_distance(abs(margin))}" for model, margin in some.items())
            said.append(f"Pivot nearer to the {nearer} ({verdict}): {each}.")
        else:
            said += [margin_in_words(model, margin) for model, margin in some.items()]
    return said + [margin_in_words(model, margin) for model, margin in margins.items() if margin == 0]


def _distance(value: float) -> str:
    """Return a distance with two significant digits, from 1 on with three: .12, .0016, 3.41."""
    text = f"{value:.2g}" if value < 1 else f"{value:.3g}"
    return text[1:] if text.startswith("0.") else text


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise TypeError(value)
    return value


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(value)
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_SENTENCES:
        raise ValueError(value)
    return value
