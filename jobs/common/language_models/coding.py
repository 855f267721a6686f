"""What is sent to a language model that codes by a codebook: shown to a person, with an estimate, before it is sent.

Page, command line and job build the same plan. Its digest is part of the agreement to send the texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.config import digest_of
from themescope.core.errors import DataError
from themescope.core.labelling.codebook.entries import codes
from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.labelling.prediction import CodingPrompt, batches, coding_prompt
from themescope.core.records.stored import JobStatus, LabellingRecord, RunRecord
from themescope.core.types import Ids
from themescope.db.store import Store, Unit
from themescope.jobs.common.labelled import judged_sentences, placed_sentences
from themescope.jobs.common.language_models.requests import Endpoint, Message

KIND = "code-with-model"
ALL, LABELLED = "all", "labelled"
"""All sentences of the labelling, or those that people placed in it or in another labelling of them."""
_ANSWER_TOKENS, _CODE_TOKENS = 10, 8
"""Tokens of an answer, and of each code in it."""
_TOKEN_BYTES = 4


@dataclass(frozen=True, slots=True)
class CodingRequest:
    """What a person asks for."""

    labelling: str
    sentences: str = ALL
    limit: int = 0
    """Maximum number of sentences, drawn at random; 0: all of them."""
    seed: int = 0
    batch: int = 10
    """Sentences of a request."""
    instructions: tuple[str, ...] = ("",)
    """Instructions before the codebook; several are compared on the sentences that people judged."""


@dataclass(frozen=True, eq=False)
class CodingPlan:
    """Texts that a language model codes, each once, and the prompts by which it does."""

    record: LabellingRecord
    partition: Partition
    prompts: tuple[CodingPrompt, ...]
    texts: tuple[str, ...]
    """(m,) different texts, without those that are examples in the prompt."""
    rows: tuple[Ids, ...]
    """Rows of the partition with each text."""
    truth: Ids
    """(m,) cluster that people gave to the first sentence of a text; :data:`UNASSIGNED` where nobody did, or where
    there is only one prompt."""
    documents: Ids
    """(m,) article of the first sentence of a text."""
    batch: int
    examples: int
    """Sentences that are not coded, because the prompt has their text as an example."""

    @property
    def compared(self) -> list[int]:
        """Return the places of the texts on which prompts are compared."""
        return np.flatnonzero(self.truth != UNASSIGNED).tolist()

    def batches(self, places: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the places of the texts of each request."""
        return [tuple(places[i] for i in batch) for batch in batches([self.texts[i] for i in places], self.batch)]

    @cached_property
    def requests(self) -> list[tuple[CodingPrompt, tuple[int, ...]]]:
        """Prompt and places of the texts of every request, without those that are repeated after a bad answer.

        Which of several prompts codes the sentences that nobody judged is not known yet; the first one stands for it.
        """
        first, *_ = self.prompts
        compared = self.compared if len(self.prompts) > 1 else []
        rest = sorted({*range(len(self.texts))} - {*compared})
        found = [(prompt, batch) for prompt in self.prompts for batch in self.batches(compared)]
        return found + [(first, batch) for batch in self.batches(rest)]

    @cached_property
    def digest(self) -> str:
        """Digest of everything that may be sent."""
        return digest_of({"prompts": [prompt.system for prompt in self.prompts], "texts": self.texts})

    @cached_property
    def text(self) -> str:
        """Messages of all requests, with each prompt once."""
        blocks = [f"[system, prompt {place}]\n{prompt.system}" for place, prompt in enumerate(self.prompts, 1)]
        for number, (prompt, batch) in enumerate(self.requests, 1):
            which = f"prompt {self.prompts.index(prompt) + 1}" if len(self.prompts) > 1 else "user"
            user = prompt.messages([self.texts[i] for i in batch])[-1]["content"]
            blocks.append(f"[{which}, request {number:,} of {len(self.requests):,}]\n{user}")
        return "\n\n".join(blocks)


def plan_of(store: Store, wanted: CodingRequest) -> CodingPlan:
    """Return the plan; raise :class:`DataError` if there is nothing to code, or the codebook has too few codes."""
    with store.reading() as r:
        record = r.labellings.by_name(wanted.labelling)
        partition = r.labellings.snapshot(record.id).partition
        ids = _labelled(r, record, partition) if wanted.sentences == LABELLED else partition.ids
        if wanted.limit and len(ids) > wanted.limit:
            ids = np.sort(np.random.default_rng(wanted.seed).permutation(ids)[: wanted.limit])
        known = codes(partition)
        quoted = {id for code in known for id in (*code.entry.examples, *code.entry.counter_examples)}
        sentences = r.corpora.sentences_by_id(np.union1d(ids, np.array(sorted(quoted), np.int64)))
        judged = judged_sentences(r, record, partition) if len(wanted.instructions) > 1 else ids[:0]
    examples = {id: sentences[id].text for id in quoted if id in sentences}
    shown = {*examples.values()}
    rows: dict[str, list[int]] = {}
    for id, row in zip(ids.tolist(), partition.rows(ids).tolist(), strict=True):
        if (text := sentences[id].text) not in shown:
            rows.setdefault(text, []).append(row)
    if not rows:
        reason = "Every sentence is an example of the codebook" if len(ids) else "People have not labelled a sentence"
        raise DataError(f"There is nothing to code. {reason}; choose other sentences.")
    first = np.array([own[0] for own in rows.values()])
    people = np.isin(partition.ids[first], judged)
    return CodingPlan(
        record, partition, tuple(coding_prompt(known, examples, text) for text in wanted.instructions),
        tuple(rows), tuple(np.array(own, np.int64) for own in rows.values()),
        np.where(people, partition.numbers[first], UNASSIGNED),
        np.array([sentences[int(id)].article_id for id in partition.ids[first]], np.int64),
        wanted.batch, len(ids) - sum(map(len, rows.values())),
    )  # fmt: skip


def _labelled(r: Unit, record: LabellingRecord, partition: Partition) -> Ids:
    """Return the sentences that people placed in a labelling, or in another one of the same corpus."""
    found = [partition.ids[:0]]
    for other in r.labellings.list(record.corpus_id):
        if not other.by_model:
            found.append(placed_sentences(r, other, r.labellings.snapshot(other.id).partition))
    return np.intersect1d(np.unique(np.concatenate(found)), partition.ids)


@dataclass(frozen=True, slots=True)
class CodingEstimate:
    """What a plan takes."""

    requests: int
    most: int
    """Number of requests if every answer is unusable, and each sentence is asked about once more alone."""
    read: int
    """Tokens of the requests: a quarter of their bytes, about right for English text."""
    written: int
    """Tokens of the answers."""
    seconds: float | None
    """By the speed of the newest job with this model; None before the first one."""

    def cost(self, per_million_read: float, per_million_written: float) -> float:
        """Return the cost in the currency of the prices, which are of a million tokens."""
        return (self.read * per_million_read + self.written * per_million_written) / 1e6


def estimate(plan: CodingPlan, endpoint: Endpoint, newest: dict[str, Any]) -> CodingEstimate:
    """Return the estimate of a plan; ``newest`` is the result of :func:`newest_result`."""
    asked = plan.requests
    systems = {prompt: len(prompt.system.encode()) for prompt in plan.prompts}
    size = sum(systems[prompt] + sum(len(plan.texts[i].encode()) + 6 for i in batch) for prompt, batch in asked)
    sentences = sum(len(batch) for _, batch in asked)
    same = (newest.get("endpoint"), newest.get("model")) == (endpoint.url, endpoint.model) and newest.get("requests")
    return CodingEstimate(
        len(asked), len(asked) + sum(len(batch) for _, batch in asked if len(batch) > 1), size // _TOKEN_BYTES,
        len(asked) * _ANSWER_TOKENS + sentences * _CODE_TOKENS,
        len(asked) * newest["seconds"] / newest["requests"] if same else None,
    )  # fmt: skip


def newest_result(store: Store) -> dict[str, Any]:
    """Return the result of the newest finished job that coded with a model; empty before the first one."""
    with store.reading() as r:
        job = r.jobs.newest(KIND, JobStatus.DONE)
    return {} if job is None else dict(job.result)


# What a language model is told about themes: one request per theme, shown to a person before anything is sent

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
    themes = list(enumerate(run.found["themes"]))
    chosen = [themes[number] for number in numbers] if numbers else themes
    ids = [i for _, theme in chosen for i in theme["central"][:SENTENCES]]
    with store.reading() as r:
        texts = {i: s.text for i, s in r.corpora.sentences_by_id(np.array(ids, np.int64)).items()}
    return [
        ThemeMaterial(
            number,
            theme["name"],
            tuple(theme["words"]),
            tuple(shortened(texts[i]) for i in theme["central"][:SENTENCES] if i in texts),
        )
        for number, theme in chosen
    ]


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
