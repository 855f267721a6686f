"""Job kind: a language model codes the sentences of a labelling by its codebook, as a labelling of its own.

The job sends what a person agreed to, which the digest ``texts`` identifies, to the endpoint that was shown, or
nothing. A request whose answer has not exactly one code of the codebook for each sentence is repeated sentence by
sentence, once; what then has no code stays unassigned, marked as uncertain, with the reason as its note. Usable answers
are kept with the store, so that a resumed or repeated job asks only for what is missing.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from themescope.core.config import digest_of, option
from themescope.core.errors import DataError
from themescope.core.labelling.codebook.entries import codes
from themescope.core.labelling.partition import UNASSIGNED, combinations
from themescope.core.labelling.prediction import NO_CODE, CodingPrompt, UnusableAnswer, compare_prompts, parsed_codes
from themescope.core.records.stored import LabellingRecord
from themescope.db.records import NewLabelling
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.labelled import (
    LabelledText,
    coded_by_machine,
    documents_of,
    judged_sentences,
    models_to_compare,
)
from themescope.jobs.common.language_models import (
    ALL,
    LABELLED,
    CodingPlan,
    CodingRequest,
    Endpoint,
    Requests,
    SendingConfig,
    plan_of,
)

_LISTED = 200
"""Problems in the result; all of them are notes of the labelling."""


@dataclass(frozen=True)
class CodeWithModelConfig(SendingConfig):
    """Arguments of coding with a language model."""

    TITLE = "Code “{labelling}” with “{model}”"

    labelling: str = option("", "Name of the labelling with the sentences and the codebook.", required=True)
    name: str = option("", "Name of the labelling that is made; empty: named after both.")
    person: str = option("", "Who asks for it; owner of the new labelling.")
    sentences: str = option(ALL, "All sentences, or those that people have labelled.", choices=(ALL, LABELLED))
    limit: int = option(0, "Maximum number of sentences, drawn at random; 0: all.", low=0)
    seed: int = option(0, "Seed of the sample and of the folds of a comparison.", low=0)
    batch: int = option(10, "Sentences of a request.", low=1, high=50)
    instructions: tuple[str, ...] = option((), "Instructions before the codebook; several are compared.")

    @property
    def request(self) -> CodingRequest:
        """What is coded, and how."""
        instructions = self.instructions or ("",)
        return CodingRequest(self.labelling, self.sentences, self.limit, self.seed, self.batch, instructions)


def code_with_model(args: CodeWithModelConfig, context: JobContext) -> dict[str, Any]:
    """Ask for the codes of all texts, and store those that are in the codebook as a labelling."""
    endpoint = args.agreed_endpoint(context.store.settings)
    plan = plan_of(context.store, args.request)
    if plan.digest != args.texts:
        raise DataError("Sentences or codebook have changed since the texts were shown. Nothing was sent. Show again.")
    began = time.monotonic()
    asked = _Coding(args, context, endpoint, plan)
    best, comparison = 0, dict[str, Any]()
    if len(plan.prompts) > 1:
        best, comparison = asked.compared(args)
    found = asked.codes(best, range(len(plan.texts)))
    if not any(isinstance(code, int) for code in found):
        raise DataError(f"The language model coded none of {len(found):,} sentences: {found[0]}.")
    seconds = round(time.monotonic() - began, 2)
    counts = Counter({"coded": 0, "no_code": 0, "invented": 0, "unusable": 0, "failed": 0})
    for place, code in enumerate(found):
        counts[_state(code)] += len(plan.rows[place])
    report: dict[str, Any] = {
        **counts,
        "examples": plan.examples,
        "endpoint": endpoint.url,
        "model": endpoint.model,
        "requests": asked.requests.sent,
        "known": asked.requests.known,
        "seconds": seconds,
        **comparison,
    }
    record = _stored(args, context, plan, found, best, report)
    problems = [
        {"sentence": plan.texts[place], "reason": code.reason}
        for place, code in enumerate(found)
        if isinstance(code, _Problem)
    ]
    about = {"labelling": record.name, "labelling_id": record.id, "of": plan.record.name}
    return about | report | {"problems": problems[:_LISTED], "problems_in_all": len(problems)}


@dataclass(frozen=True, slots=True)
class _Problem:
    """Why a sentence has no code: ``state`` is "invented", "unusable" or "failed"."""

    state: str
    reason: str

    def __str__(self) -> str:
        return self.reason


def _state(code: int | _Problem) -> str:
    return code.state if isinstance(code, _Problem) else "no_code" if code == NO_CODE else "coded"


class _Coding:
    def __init__(self, args: CodeWithModelConfig, context: JobContext, endpoint: Endpoint, plan: CodingPlan) -> None:
        self._context, self._plan = context, plan
        folder = context.store.settings.home / "answers"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{digest_of([endpoint.url, endpoint.model])}.jsonl"
        self.requests = Requests(endpoint, file, args.timeout, args.parallel, most_tokens=1_000 + 30 * args.batch)
        self._done = 0
        self._known: dict[tuple[int, int], int | _Problem] = {}
        """(prompt, text) → code."""

    def compared(self, args: CodeWithModelConfig) -> tuple[int, dict[str, Any]]:
        """Return the best prompt, and the comparison on the texts that people judged."""
        plan, places = self._plan, self._plan.compared
        clusters = [code.cluster.number for code in codes(plan.partition)]
        place_of = {number: place for place, number in enumerate(clusters, 1)}
        truth = [place_of[int(plan.truth[place])] for place in places]
        right = np.array(
            [
                [code == own for code, own in zip(self.codes(prompt, places), truth, strict=True)]
                for prompt in range(len(plan.prompts))
            ],
            np.bool_,
        ).reshape(len(plan.prompts), len(places))
        found = compare_prompts(right, plan.documents[places], args.seed)
        rows = [
            {"instructions": text, **asdict(accuracy)}
            for text, accuracy in zip(args.instructions, found.accuracy, strict=True)
        ]
        return found.best, {"prompts": rows, "best": found.best, "cross_validated": asdict(found.chosen)}

    def codes(self, prompt: int, places: Sequence[int]) -> list[int | _Problem]:
        """Return the code of each text by a prompt: the number in the codebook, or why there is none."""
        batches = self._plan.batches([place for place in places if (prompt, place) not in self._known])
        self._asked(prompt, batches)
        several = [place for batch in batches if len(batch) > 1 for place in batch]
        again = [place for place in several if _state(self._known[prompt, place]) in ("invented", "unusable")]
        self._asked(prompt, [(place,) for place in again])
        return [self._known[prompt, place] for place in places]

    def _asked(self, number: int, batches: Sequence[tuple[int, ...]]) -> None:
        plan, prompt = self._plan, self._plan.prompts[number]
        messages = {batch: prompt.messages([plan.texts[place] for place in batch]) for batch in batches}
        total, done = max(len(plan.requests), self._done + len(batches)), self._done

        def progress(answered: int) -> None:
            self._done = done + answered
            self._context.progress(self._done, total, f"{self._done:,} of {total:,} requests answered")

        def kept(batch: tuple[int, ...], answer: str) -> str:
            """Return the codes without the words around them, which may be from the sentences."""
            codes = _read(answer, len(batch), prompt)
            known = {str(i): code for i, code in enumerate(codes, 1) if isinstance(code, int)}
            return json.dumps(known) if len(known) == len(batch) else ""

        for batch, answer in self.requests.ask(messages, progress, kept).items():
            found: Sequence[int | _Problem] = (
                [_Problem("failed", answer.failure)] * len(batch)
                if answer.failure
                else _read(answer.text, len(batch), prompt)
            )
            self._known |= {(number, place): code for place, code in zip(batch, found, strict=True)}


def _read(answer: str, sentences: int, prompt: CodingPrompt) -> list[int | _Problem]:
    try:
        found = parsed_codes(answer, sentences, prompt.names)
    except UnusableAnswer as error:
        return [_Problem("unusable", str(error))] * sentences
    return [
        code if isinstance(code, int) else _Problem("invented", f"“{code}” is not in the codebook") for code in found
    ]


def _stored(
    args: CodeWithModelConfig,
    context: JobContext,
    plan: CodingPlan,
    found: Sequence[int | _Problem],
    best: int,
    report: Mapping[str, Any],
) -> LabellingRecord:
    """Store the codes as a labelling with the codebook of the first one; after a crash, return it if it is there."""
    record, state = plan.record, plan.partition
    clusters = [code.cluster.number for code in codes(state)]
    numbers, uncertain = np.full(len(state.ids), UNASSIGNED, np.int64), np.zeros(len(state.ids), np.bool_)
    notes: dict[int, str] = {}
    for code, rows in zip(found, plan.rows, strict=True):
        if isinstance(code, _Problem) or code == NO_CODE:
            reason = code if isinstance(code, _Problem) else "no code of the codebook fits"
            notes |= dict.fromkeys(state.ids[rows].tolist(), f"Not coded: {reason}")
            uncertain[rows] = True
        else:
            numbers[rows] = clusters[code - 1]
    with context.store.reading() as r:
        job = r.jobs.get(context.job_id).created.isoformat()  # ids of jobs of other stores are the same
    about = {"job": job, "prompt": plan.prompts[best].system, "report": dict(report)}
    coded, origin = coded_by_machine(record, state, numbers, args.model, **about)
    coded = replace(coded, uncertain=uncertain, notes=notes)
    with context.writing() as w:
        for known in w.labellings.list(record.corpus_id):
            if known.by_model and known.origin.get("job") == job:
                return known
        name = w.labellings.usable_name(args.name or f"{record.name} · {args.model}")
        new = NewLabelling(record.corpus_id, name, args.person, article_id=record.article_id, origin=origin)
        return w.labellings.create(new, coded)


# Job kind: label the rest. Predicts the codes of what people have not labelled

_BLOCK = 20_000
"""Sentences whose vectors are in memory at once."""


@dataclass(frozen=True)
class PredictLabelsConfig(JobConfig):
    """Arguments of predicting the rest of a labelling."""

    TITLE = "Label the rest of “{labelling}”"

    labelling: str = option("", "Name of the labelling.", required=True)
    model: str = option("", "Model of the vectors; empty: the best with vectors of all its articles.")
    seed: int = option(0, "Seed of samples and folds.", low=0)


def predict_labels(args: PredictLabelsConfig, context: JobContext) -> dict[str, Any]:
    """Learn from the labels of people, and store the probabilities of the codes of all sentences of the project.

    For a labelling of one article, those of its sentences. Those of a labelled sentence are learned without the labels
    of its document.
    """
    from themescope.core.labelling.prediction import NODES, learn

    with context.store.reading() as r:
        record = r.labellings.by_name(args.labelling)
        snapshot = r.labellings.snapshot(record.id)
        judged = judged_sentences(r, record, snapshot.partition)
        corpus = r.corpora.get(record.corpus_id)
        everything = r.maps.places(r.corpora.sentence_ids(corpus.id))
    partition = snapshot.partition
    codes = partition.numbers[partition.rows(judged)]
    judged, codes = judged[codes != UNASSIGNED], codes[codes != UNASSIGNED]
    model = models_to_compare(context.store, record, [args.model] if args.model else [])[0]
    with context.store.reading() as r:
        embedded = np.isin(everything.articles, list(r.embeddings.have(model.id, corpus.id)))
    rest = np.setdiff1d(everything.ids[embedded] if record.article_id is None else partition.ids, judged)
    context.progress(0.05, 1, f"Learning from {len(judged):,} labels")
    known = LabelledText(context.store, judged)
    sampled = np.sort(np.random.default_rng(args.seed).permutation(rest)[:NODES])
    others = LabelledText(context.store, sampled)
    with context.store.reading() as r:
        documents = documents_of(r, corpus, judged, known.articles)
    classifier, report = learn(
        known.vectors(model.name) if len(judged) else np.empty((0, 1)),
        known.texts,
        codes,
        documents,
        others.vectors(model.name) if len(sampled) else np.empty((0, 1)),
        others.texts,
        args.seed,
        combinations(partition),
    )
    ids = np.concatenate([judged, rest])
    order = np.argsort(ids)
    found = np.empty((len(ids), len(classifier.codes)), np.float16)
    found[: len(judged)] = classifier.held_out
    for start in range(0, len(rest), _BLOCK):
        context.progress(0.3 + 0.7 * start / len(rest), 1, f"{start:,} of {len(rest):,} sentences predicted")
        block = LabelledText(context.store, rest[start : start + _BLOCK])
        made = classifier.probabilities(block.vectors(model.name), block.texts)
        found[len(judged) + start :][: len(made)] = made
    with context.writing() as w:
        stored = w.predictions.replace(
            record.id,
            model=model.name,
            step=snapshot.step,
            labels=len(judged),
            codes=classifier.codes,
            report=_json(asdict(report)),
            ids=ids[order],
            probabilities=found[order],
        )
    about = {"labelling": record.name, "labelling_id": record.id, "prediction_id": stored.id, "model": model.name}
    scores = {"accuracy": report.accuracy.value, "macro_f1": report.macro_f1.value}
    counts = {"labels": len(judged), "predicted": len(rest)}
    return {**about, **counts, **scores, "calibration_error": report.calibration_error}


def _json(value: Any) -> Any:
    """Return JSON values: arrays as lists, and null for what is not a number."""
    if isinstance(value, dict):
        return {key: _json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_json(one) for one in value]
    if isinstance(value, np.ndarray):
        return _json(np.round(value, 4).tolist() if value.dtype.kind == "f" else value.tolist())
    return None if isinstance(value, float) and math.isnan(value) else value
