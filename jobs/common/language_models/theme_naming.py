"""What a language model is told about themes: one request per theme, shown to a person before anything is sent.

Page, command line and job build the same requests. The digest of the requests is part of the agreement to send them, so
that a job sends exactly what was shown, to the endpoint that was shown, or nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from themescope.core.config import digest_of
from themescope.core.errors import DataError
from themescope.core.labelling.partition import Partition
from themescope.core.records.stored import RunRecord
from themescope.core.types import Ids
from themescope.db.store import Store
from themescope.jobs.common.language_models.client import Message

SENTENCES, LONGEST_SENTENCE = 5, 300
"""Sentences of a theme that are sent, and the characters of each."""
_PROMPTS = Path(__file__).parents[2] / "prompts" / "name_themes"


@dataclass(frozen=True, slots=True)
class ThemeMaterial:
    """What is sent about one theme; ``number`` is its place among the themes, or the number of a cluster."""

    number: int
    name: str
    phrases: tuple[str, ...]
    sentences: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the phrases and sentences."""
        return self.phrases + self.sentences

    def messages(self, taken: Sequence[str] = ()) -> list[Message]:
        """Return the messages of the request; ``taken`` are names that the answer must not repeat."""
        parts = {
            "phrases": json.dumps(self.phrases, ensure_ascii=False),
            "sentences": "\n".join(json.dumps(sentence, ensure_ascii=False) for sentence in self.sentences),
        }
        user = _filled("user", parts)
        if taken:
            user += "\n" + _filled("again", {"taken": json.dumps(list(taken), ensure_ascii=False)})
        return [{"role": "system", "content": prompt("system")}, {"role": "user", "content": user}]


@cache
def prompt(name: str) -> str:
    """Return the text of a prompt of the folder ``jobs/prompts/name_themes``."""
    return (_PROMPTS / f"{name}.txt").read_text(encoding="utf-8").strip()


def _filled(name: str, parts: Mapping[str, str]) -> str:
    """Return a prompt with its placeholders replaced in one pass, so that braces in texts stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], prompt(name))


def materials_of_run(store: Store, run: RunRecord, numbers: Sequence[int] = ()) -> list[ThemeMaterial]:
    """Return what is sent about the themes ``numbers`` (places from 0; default: all) of a result."""
    themes = list(enumerate(run.config["themes"]))
    chosen = [themes[number] for number in numbers] if numbers else themes
    ids = [i for _, theme in chosen for i in theme["central"][:SENTENCES]]
    with store.reading() as r:
        texts = {i: s.text for i, s in r.corpora.sentences_by_id(np.array(ids, np.int64)).items()}
    return [
        ThemeMaterial(
            number,
            str(theme["name"]),
            tuple(map(str, theme["words"])),
            tuple(shortened(texts[i]) for i in theme["central"][:SENTENCES] if i in texts),
        )
        for number, theme in chosen
    ]


def materials_of_partition(
    partition: Partition, texts: Mapping[int, str], numbers: Sequence[int]
) -> list[ThemeMaterial]:
    """Return what is sent about the clusters ``numbers`` of a labelling, told apart from all its other clusters.

    The sentences are those with the most key words of the cluster.
    """
    from themescope.core.clustering.naming import theme_words

    known = sorted(partition.clusters)
    placed = np.flatnonzero(np.isin(partition.numbers, known))
    labels = np.searchsorted(known, partition.numbers[placed]).astype(np.int32)
    written = [texts[int(i)] for i in partition.ids[placed]]
    words = theme_words(written, labels, len(known))
    found = []
    for number in numbers:
        phrases = words[known.index(number)]
        sentences = _telling(partition.members(number), texts, phrases)
        found.append(ThemeMaterial(number, partition.clusters[number].name, phrases, sentences))
    return found


def _telling(ids: Ids, texts: Mapping[int, str], phrases: Sequence[str]) -> tuple[str, ...]:
    """Return the sentences with the most words of the phrases, each text once; the first of equals."""
    words = {word for phrase in phrases for word in phrase.casefold().split()}
    own = dict.fromkeys(texts[int(i)] for i in ids)
    ranked = sorted(own, key=lambda text: -sum(word in text.casefold() for word in words))
    return tuple(map(shortened, ranked[:SENTENCES]))


def shortened(text: str) -> str:
    """Return a sentence in one line, cut to :data:`LONGEST_SENTENCE` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST_SENTENCE else flat[: LONGEST_SENTENCE - 1] + "…"


def agreed_digest(materials: Sequence[ThemeMaterial]) -> str:
    """Return a digest of the requests, which a job compares with what a person agreed to; no themes are an error."""
    if not materials:
        raise DataError("There is no theme to name.")
    return digest_of({"requests": [list(map(dict, material.messages())) for material in materials]})


def amount(materials: Sequence[ThemeMaterial]) -> tuple[int, int]:
    """Return the numbers of sentences and of characters of all requests, prompts included."""
    characters = sum(len(message["content"]) for material in materials for message in material.messages())
    return sum(len(material.sentences) for material in materials), characters
