"""Labellings as REFI-QDA projects (``.qdpx``), and projects as labellings.

A project holds the articles and the clusters of all sentences besides the codes. Its import matches the articles of a
corpus, and makes a new labelling.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from themescope.core.errors import DataError
from themescope.core.labelling.changes import apply
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook import qda_project as qda
from themescope.core.labelling.codebook.entries import PortableCode, one_line
from themescope.core.labelling.codebook.qda_project import QdaSpan, Spans, TextSource
from themescope.core.labelling.codebook.qda_reader import OUTSIDE, ProjectReader
from themescope.core.labelling.operations import NOTE_LIMIT
from themescope.core.labelling.partition import UNASSIGNED, Partition, code_names, coded, start
from themescope.core.labelling.provenance import Maker, Provenance, Source, of_rows
from themescope.core.records.stored import ArticleRecord, LabellingRecord
from themescope.core.text.cleaning import comparable
from themescope.core.types import ReadAccount, Sentence
from themescope.db.records import NewLabelling
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.labelled import ANNOTATOR, code_makers_of, provenance_of
from themescope.jobs.common.reading import call_apart
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.codebook import exported_from, finder


def qdpx(store: Store, labelling_id: int) -> bytes:
    """Return articles, codes and coded sentences of a labelling as a REFI-QDA project."""
    with store.reading() as r:
        record, snapshot = r.labellings.get(labelling_id), r.labellings.snapshot(labelling_id)
        steps = {step.id: step for step in r.label_steps.list(labelling_id)}
        made = provenance_of(r, record, snapshot.partition)
        others = code_makers_of(r, record, snapshot.partition, made)
        wanted = {sentence.article_id for sentence in r.corpora.sentences_by_id(snapshot.partition.ids).values()}
        articles = sorted(r.corpora.articles_by_id(wanted).values(), key=lambda article: article.position)
    found = exported_from(store, record, snapshot.partition)
    people = {record.owner, *(step.person for step in steps.values())}
    of_codes = (maker for given in others.values() for maker in given.values())
    makers = sorted({*(Maker(Source.HUMAN, person) for person in people), *made.makers, *of_codes}, key=astuple)
    p, names = snapshot.partition, code_names(snapshot.partition)
    rows = {id: row for row, id in enumerate(p.ids.tolist())}

    def with_codes(article: ArticleRecord) -> TextSource:
        titles, sentences = _text(store, article.id)
        text, spans = qda.layout(titles, sentences)
        selections = []
        for sentence, (begin, end) in zip(sentences, spans, strict=True):
            row = rows.get(sentence.id)
            if row is None:
                continue
            number, note = int(p.numbers[row]), p.notes.get(sentence.id, "")
            step = steps.get(int(snapshot.versions[row]))
            who, when = (step.person, step.when) if step else (record.owner, record.created)
            source, coder, sure = made.cells(row)
            maker = Maker(Source(source), coder) if source else Maker(Source.HUMAN, who)
            by = {p.clusters[code].name: one for code, one in others.get(sentence.id, {}).items()}
            if names[number] or note or p.uncertain[row]:
                marked = bool(p.uncertain[row])
                selections.append(QdaSpan(begin, end, names[number], note, marked, maker, sure, when, by))
        return TextSource(article.title, text, selections, qda.headings(titles, sentences))

    out = io.BytesIO()
    qda.write_project(out, qda.ProjectHead(found.title, found.codes, makers, found.seed), map(with_codes, articles))
    return out.getvalue()


def _text(store: Store, article_id: int) -> tuple[dict[int, str], list[Sentence]]:
    """Return position → title of the sections of an article, and its sentences."""
    with store.reading() as r:
        return {s.position: s.title for s in r.corpora.sections(article_id)}, r.corpora.sentences(article_id)


@dataclass(frozen=True, slots=True, eq=False)
class ProjectCoding:
    """What a labelling begins with."""

    coder: str
    """Whose codes these are, if the project has those of several."""
    partition: Partition
    labels: Provenance
    """Who made the codings."""


@dataclass(frozen=True, slots=True, eq=False)
class ProjectPlan:
    """What an import of a project makes of it."""

    name: str
    codings: tuple[ProjectCoding, ...]
    """One, or one for each coder where several coded the same sentence."""
    article_id: int | None
    """The article if there is one."""
    matched: int
    """Number of texts that are articles of the corpus."""
    unmatched: tuple[str, ...]
    """Names of the texts that are not."""
    passages: int
    """Number of passages with a code, a note or a mark, in all texts that are read."""
    partly: int
    """Number of passages that are less than half of the sentences that they are assigned to, or more than these."""
    lost: int
    """Number of passages without a sentence."""
    several: int
    """Number of sentences with several codes, all of which are kept."""
    missing: int
    """Number of example sentences that were not found."""
    account: ReadAccount
    """What is not read, such as pictures, and every passage that is lost or found in part."""

    @property
    def coded(self) -> int:
        """Return the number of sentences with a code."""
        every = np.stack([one.partition.numbers for one in self.codings])
        return int((every != UNASSIGNED).any(axis=0).sum())


def plan_project(store: Store, corpus_id: int, path: Path) -> ProjectPlan:
    """Match the texts of a project with the articles of a corpus.

    If no text is an article of the corpus, the partition has no sentences; :func:`write_texts` gives the texts for an
    import. Raises :class:`ReadError` for a damaged file, and :class:`DataError` for too many codes or sentences.
    """
    return call_apart(path, _plan, store.settings, corpus_id, path)


def _plan(settings: Settings, corpus_id: int, path: Path) -> ProjectPlan:
    with closing(Store(settings)) as store, ProjectReader(path) as project:
        matching = _Matching(store, corpus_id, project.codes)
        for source in project.sources():
            matching.add(source)
        return matching.plan(project.name, project.account)


@dataclass(slots=True)
class _Given:
    """What a coder gave to sentences."""

    codes: dict[int, dict[int, int]] = field(default_factory=dict)
    """Sentence → index of each of its codes → number of characters of the longest selection in it."""
    makers: dict[int, tuple[Maker, float | None]] = field(default_factory=dict)
    """Sentence → who gave it the code with the longest selection."""
    notes: dict[int, list[str]] = field(default_factory=dict)
    uncertain: set[int] = field(default_factory=set)

    def add(self, other: _Given) -> None:
        """Add what another coder gave to other sentences."""
        self.codes |= other.codes
        self.makers |= other.makers
        self.uncertain |= other.uncertain
        for id, texts in other.notes.items():
            self.notes.setdefault(id, []).extend(texts)


class _Matching:
    def __init__(self, store: Store, corpus_id: int, listed: list[PortableCode]) -> None:
        self._store, self._corpus_id, self._codes = store, corpus_id, listed
        self._ids: list[int] = []
        self._articles: set[int] = set()
        self._unmatched: list[str] = []
        self._by: dict[Maker, _Given] = {}
        self._passages = self._partly = self._lost = 0
        self._account = ReadAccount()

    def add(self, source: TextSource) -> None:
        """Take over the selections of a text, if it is an article of the corpus."""
        passages = [one for one in source.selections if one.codes or one.note or one.uncertain]
        self._passages += len(passages)
        found = self._article(source)
        if found is None:
            self._unmatched.append(source.name)
            self._account.skip("text that is not in this project", source.name)
        sentences, spans = found or ([], Spans([]))
        self._ids += [sentence.id for sentence in sentences]
        for one in passages:
            self._add_passage(source, one, sentences, spans)
        if source.codes and found:
            named = self._names(source.codes)
            self._account.change("code of a whole text, given to its sentences that have no other", source.name, named)
            coded = {id for given in self._by.values() for id in given.codes}
            for sentence in sentences:
                if sentence.id not in coded:
                    self._take(sentence, 0, QdaSpan(0, 0, source.codes, maker=Maker(Source.IMPORTED)))

    def _add_passage(self, source: TextSource, one: QdaSpan, sentences: list[Sentence], spans: Spans) -> None:
        """Take over a passage for the sentences of which it has half, otherwise for the one of which it has most."""
        covered = spans.covered(one.start, one.end)
        taken = covered or sorted(spans.touched(one.start, one.end), key=lambda part: -part[1])[:1]
        for row, common, *_ in taken:
            self._take(sentences[row], common, one)
        text = source.text[one.start : one.end]
        if covered and 2 * sum(common for _, common in covered) >= len(text.strip()):
            return
        about = f"{source.name}, {one.start:,}–{one.end:,}", f"{self._names(one.codes)}: {one_line(text)}"
        if taken:
            self._partly += 1
            self._account.change("passage found in part", *about)
        else:
            self._lost += 1
            self._account.skip("passage without a sentence", *about)

    def _names(self, codes: Iterable[str]) -> str:
        return ", ".join(self._codes[int(code)].name for code in codes) or "note"

    def _article(self, source: TextSource) -> tuple[list[Sentence], Spans] | None:
        """Return the sentences of the article that a text is, by its title or its text, and their places in it."""
        names = dict.fromkeys([source.name, source.name.removesuffix(".txt"), source.name.removesuffix(".docx")])
        with self._store.reading() as r:
            named = [article.id for name in names for article in r.corpora.articles_by_title(self._corpus_id, name)]
        return self._located(named, source) or self._located(self._alike(source), source)

    def _located(self, articles: Iterable[int], source: TextSource) -> tuple[list[Sentence], Spans] | None:
        for id in (id for id in articles if id not in self._articles):
            titles, sentences = _text(self._store, id)
            spans = qda.located(titles, sentences, source.text)
            if spans is not None:
                self._articles.add(id)
                return sentences, Spans(spans)
        return None

    def _alike(self, source: TextSource) -> list[int]:
        """Return the articles whose first sentence is in a text, the longest one first."""
        flat = "".join(comparable(source.text).split())
        found = {id: first for id, first in self._openings.items() if first and first in flat}
        return sorted(found, key=lambda id: -len(found[id]))

    @cached_property
    def _openings(self) -> dict[int, str]:
        """Article → its first sentence as it is compared; empty for a corpus that is too large for a labelling."""
        with self._store.reading() as r:
            if r.corpora.get(self._corpus_id).sentences > starts.MOST_SENTENCES:
                return {}
            first = {article.id: found[0].text for article, _, found in r.corpora.iterate(self._corpus_id) if found}
            return {id: "".join(comparable(text).split()) for id, text in first.items()}

    def _take(self, sentence: Sentence, common: int, one: QdaSpan) -> None:
        id, own = sentence.id, self._by.setdefault(one.maker, _Given())
        given = own.codes.setdefault(id, {}) if one.codes else {}
        if one.codes and common > max(given.values(), default=-1):
            own.makers[id] = one.maker, one.probability
        for code in map(int, one.codes):
            given[code] = max(common, given.get(code, 0))
        if one.note:
            own.notes.setdefault(id, []).append(one.note)
        if one.uncertain:
            own.uncertain.add(id)

    def plan(self, name: str, account: ReadAccount) -> ProjectPlan:
        """Return the plan after all texts; ``account``: of the file."""
        if len(self._ids) > starts.MOST_SENTENCES:
            raise DataError(f"A coding may have {starts.MOST_SENTENCES:,} sentences; these are {len(self._ids):,}.")
        coded = Counter(id for given in self._by.values() for id in given.codes)
        apart = any(times > 1 for times in coded.values())
        if not apart:
            every = _Given()
            for given in self._by.values():
                every.add(given)
            self._by = {Maker(Source.IMPORTED): every}
        codings: list[ProjectCoding] = []
        missing = 0
        first, *others = sorted(self._by.values(), key=lambda given: not given.codes)
        for given in others:
            if not given.codes:  # notes of somebody who coded nothing
                first.add(given)
        for maker, given in self._by.items():
            if given.codes or not apart:
                partition, missing = self._partition(given)
                codings.append(ProjectCoding(maker.coder, partition, of_rows(partition.ids, given.makers)))
        article = next(iter(self._articles)) if len(self._articles) == 1 else None
        account.add(self._account)
        several = sum(len(codes) > 1 for given in self._by.values() for codes in given.codes.values())
        left = tuple(self._unmatched), self._passages, self._partly, self._lost
        return ProjectPlan(name, tuple(codings), article, len(self._articles), *left, several, missing, account)

    def _partition(self, given: _Given) -> tuple[Partition, int]:
        """Return the partition, and the number of example sentences that were not found."""
        bare = start(self._ids)
        numbers: Mapping[int, int] = {}
        missing = 0
        if self._codes:
            adopted = book.adopt(bare, self._codes, finder(self._store, bare.ids, self._codes), 1)
            numbers, missing = adopted.numbers, adopted.missing
            bare = apply(bare, adopted.operation.change_set)
        bare = coded(bare, {id: frozenset(numbers[code] for code in codes) for id, codes in given.codes.items()})
        notes = {id: "\n\n".join(dict.fromkeys(texts))[:NOTE_LIMIT] for id, texts in given.notes.items()}
        uncertain = np.isin(bare.ids, sorted(given.uncertain))
        return replace(bare, notes=notes, uncertain=uncertain), missing


def write_texts(path: Path, out: Path) -> int:
    """Write the texts of a project as articles in JSON lines, which an import reads, and return their number.

    Raises :class:`ReadError` for a damaged file, and :class:`DataError` if it has no texts.
    """
    return call_apart(path, _write_texts, path, out)


def _write_texts(path: Path, out: Path) -> int:
    count = 0
    with ProjectReader(path) as project, out.open("x", encoding="utf-8") as stream:
        for source in project.sources():
            parts = qda.sections(source.text, source.headings, project.own)
            listed = [{"title": t, "level": 2 if t else 1, "paragraphs": paragraphs} for t, paragraphs in parts]
            article = {"title": source.name or f"Text {count + 1}", "source": path.name, "sections": listed}
            stream.write(json.dumps(article) + "\n")
            count += 1
        missing = without_texts(project.account)
    if not count:
        raise DataError(f"The project has no texts that Themescope reads. {missing}".strip())
    return count


def without_texts(account: ReadAccount) -> str:
    """Return a sentence that names the texts that are beside a project, not in it; "" for none."""
    listed = [f"“{one.place}” ({one.text})" for one in account.entries if one.reason == OUTSIDE]
    many = f" and {len(listed) - 5:,} more" if len(listed) > 5 else ""
    return f"Not in its archive: {', '.join(listed[:5])}{many}. Export it with its sources." if listed else ""


def begin(store: Store, new: NewLabelling, plan: ProjectPlan, file: str) -> list[LabellingRecord]:
    """Create the labellings of a plan, named after their coders if there are several."""

    def initial(coding: ProjectCoding) -> starts.Begin:
        unnamed, named = Maker(Source.IMPORTED), Maker(Source.IMPORTED, file)
        makers = tuple(named if maker == unnamed else maker for maker in coding.labels.makers)
        origin = {"from": "table", "name": file} | ({ANNOTATOR: coding.coder} if len(plan.codings) > 1 else {})
        return lambda store, new: starts.Beginning(coding.partition, origin, replace(coding.labels, makers=makers))

    return starts.begin_each(store, new, [(one.coder, initial(one)) for one in plan.codings])
