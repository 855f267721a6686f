"""Search in sentences by text, words and meaning, and in everything; stored vectors, inference without a job.

The models used last are kept in memory for all sessions of a server, in a process of their own. A search by meaning
compares all vectors. An unknown id is an ``UnknownNameError``.
"""

from __future__ import annotations

import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache, reduce
from pathlib import Path
from threading import Lock, Timer
from typing import IO, Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from themescope.core import types
from themescope.core.compute import nearest_neighbours
from themescope.core.errors import DataError, ThemescopeError, UnknownNameError
from themescope.core.records.answers import LocatedSentence, Match, SearchResult
from themescope.core.records.stored import CorpusRecord, ModelRecord
from themescope.core.text.cleaning import clean, comparable
from themescope.core.text.languages import tokenize
from themescope.core.types import Ids, Matrix, Sentence
from themescope.db.repositories.corpora import Where
from themescope.db.sql import batches
from themescope.db.store import Store, Unit
from themescope.db.types import clean_text
from themescope.jobs.common.models import best_first, corpus_shares
from themescope.jobs.common.vectors import stacked
from themescope.jobs.executors import Failure, as_data, data_of

P = ParamSpec("P")
R = TypeVar("R")

_LOADED_MODELS = 2
_loading = Lock()
_models: ModelProcess | None = None
"""Process of the models; None: they are kept in this process."""
_PRELOADED: set[str] = set()
_PRELOAD_AFTER_S = 1.0
"""Seconds until a model is preloaded: importing its packages would delay the page that asks for it."""
_ARTICLES, _MOST_POSITIONS = 500, 1 << 24
_PART = 100
"""Number of blocks read at once."""
MOST_WITH_VECTORS = 30_000
"""Maximum number of sentences with suggestions, which limits the memory of a page."""


def stored_blocks(store: Store, model: ModelRecord, articles: Ids, positions: Ids) -> Iterator[tuple[Ids, Matrix]]:
    """Yield (rows, vectors) in any order; row i is the sentence at ``positions[i]`` of ``articles[i]``.

    Raises :class:`DataError` if an article has no vectors.
    """
    order = np.argsort(articles, kind="stable")
    owners, starts = np.unique(articles[order], return_index=True)
    ends = np.append(starts[1:], len(order))
    for first in range(0, len(owners), _PART):
        part = slice(first, first + _PART)
        with store.reading() as r:
            blocks = r.embeddings.get(model.id, owners[part])
        for owner, start, end in zip(owners[part].tolist(), starts[part], ends[part], strict=True):
            if owner not in blocks:
                raise DataError(f"{model.name} has no vectors of these sentences. Compute a map to embed them again.")
            rows = order[start:end]
            yield rows, blocks[owner][positions[rows]]


def keep_models_apart() -> None:
    """Keep the models that embed queries in a process of their own, as a web server does."""
    global _models
    _models = ModelProcess()


def preload(store: Store, model: ModelRecord) -> None:
    """Load a model in the background, so that the first search by meaning need not wait for it."""
    if model.artifact not in _PRELOADED or (_models and not _models.running):
        _PRELOADED.add(model.artifact)

        def load() -> None:
            with suppress(ThemescopeError):  # a search reports what is wrong with it
                _with_models(_load_ahead, store.artifacts.path(model.artifact))

        timer = Timer(_PRELOAD_AFTER_S, load)
        timer.daemon = True
        timer.start()


def query_vector(store: Store, model: ModelRecord, text: str) -> Matrix:
    """Return the (1, dim) vector of a query; raise :class:`DataError` if the model knows none of its words."""
    vector = _with_models(_embed, store.artifacts.path(model.artifact), text)
    values: Any = vector.data if hasattr(vector, "indptr") else vector
    if not np.any(values):
        raise DataError("The model knows none of these words. Try others.")
    return vector


def _with_models(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function that loads a model, in the process of the models if there is one."""
    return function(*args, **kwargs) if _models is None else _models.call(function, *args, **kwargs)


def _load_ahead(artifact: Path) -> None:
    _loaded(artifact)


def _embed(artifact: Path, text: str) -> Matrix:
    vector: Matrix = _loaded(artifact).embed([Sentence(text)])
    return vector


def _loaded(artifact: Path) -> Any:
    """Return a fitted model, loaded at most once while it is among the last two used."""
    with _loading:
        return _load(artifact)


@lru_cache(maxsize=_LOADED_MODELS)
def _load(artifact: Path) -> Any:
    from themescope.core.models.artifact import load_model

    return load_model(artifact)[0]


def models_for(store: Store, corpus_id: int, articles: set[int]) -> list[ModelRecord]:
    """Return the models that have vectors of all these articles, newest first."""
    with store.reading() as r:
        return [m for m in reversed(r.models.list()) if articles <= r.embeddings.have(m.id, corpus_id)]


def vectors_of(store: Store, model_id: int, ids: Ids) -> Matrix:
    """Return (n, dim) vectors of these sentences in order; their articles must be embedded."""
    with store.reading() as r:
        known, model = r.corpora.sentences_by_id(ids), r.models.get(model_id)
    places = np.array([(known[int(i)].article_id, known[int(i)].position) for i in ids], dtype=np.int64)
    rows, parts = zip(*stored_blocks(store, model, places[:, 0], places[:, 1]), strict=True)
    order = np.argsort(np.concatenate(rows), kind="stable")
    vectors: Matrix = stacked(parts)[order]
    return vectors


class Term(NamedTuple):
    """A part of a query: a word or a part of one, or words that occur whole and one after the other."""

    text: str
    whole: bool = False


Query = Sequence[Sequence[Term]]
"""Alternatives; all terms of one of them occur."""
_TERM = re.compile(r'["“”„«»]([^"“”„«»]*)["“”„«»]?|([^\s"“”„«»]+)')
_MOST_TERMS = 8


def parsed(text: str) -> Query:
    """Return what a person searches for: all words, with OR between alternatives, whole words in quotation marks."""
    found: list[list[Term]] = [[]]
    for quoted, word in _TERM.findall(clean(clean_text(text)))[: 2 * _MOST_TERMS]:
        term = Term(word or " ".join(quoted.split()), not word)
        if word == "OR":
            found.append([])
        elif term.text and term not in found[-1] and sum(map(len, found)) < _MOST_TERMS:
            found[-1].append(term)
    return [terms for terms in found if terms]


def parts_of(query: Query) -> list[str]:
    """Return the texts of the terms, to highlight them."""
    return [term.text for terms in query for term in terms]


def holds(text: str, query: Query) -> bool:
    """Return whether a text is what a query looks for; an empty one looks for everything.

    Case, and kinds of quotation marks and dashes do not matter.
    """
    seen = comparable(text)

    def occurs(term: Term) -> bool:
        wanted = comparable(term.text)
        return wanted in seen and (not term.whole or bool(re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", seen)))

    return not query or any(all(map(occurs, terms)) for terms in query)


def sentences_for(store: Store, corpus_id: int, query: Query) -> Ids:
    """Return the ascending ids of the sentences of a corpus that a query looks for."""
    with store.reading() as r:
        parts = [[r.corpora.sentences_with(corpus_id, term.text) for term in terms] for terms in query]
        found = reduce(np.union1d, [reduce(np.intersect1d, of) for of in parts], np.empty(0, np.int64))
        if any(term.whole for terms in query for term in terms):
            known = r.corpora.sentences_by_id(found)
            found = np.array([i for i in found.tolist() if holds(known[i].text, query)], np.int64)
    return found


def units_about(store: Store, corpus_id: int, text: str, model_id: int | None = None) -> tuple[Ids, Ids]:
    """Return the units that a query looks for, and the others among the ``ALIKE`` nearest to it in meaning."""
    found, alike = sentences_for(store, corpus_id, parsed(text)), list[int]()
    with suppress(ThemescopeError):  # the model knows none of the words
        alike = [m.sentence.id for m in find_similar(store, corpus_id, text, model_id, ALIKE).items]
    return found, np.array([id for id in alike if id not in found], np.int64)


def nearest(
    store: Store, model: ModelRecord, corpus_id: int, query: Matrix, count: int
) -> dict[tuple[int, int], float]:
    """Return (article, position) → cosine of the ``count`` sentences nearest to the (1, dim) ``query``, nearest first.

    All stored vectors are compared: .6 s for a million sentences.
    """
    with store.reading() as r:
        articles = sorted(r.embeddings.have(model.id, corpus_id))

    def blocks() -> Iterator[tuple[Ids, Matrix]]:
        for ids in batches(articles, _ARTICLES):
            with store.reading() as r:
                found = r.embeddings.get(model.id, ids)
            for id, vectors in found.items():
                yield id * _MOST_POSITIONS + np.arange(vectors.shape[0], dtype=np.int64), vectors

    return {divmod(key, _MOST_POSITIONS): cosine for key, cosine in nearest_neighbours(query, blocks(), count)}


class SearchMethod(StrEnum):
    """What a search compares."""

    TEXT = "text"
    """Sentences that contain the text. Case, and kinds of apostrophes, quotation marks and dashes do not matter."""
    WORDS = "words"
    """Sentences with all its words."""
    MEANING = "meaning"
    """Sentences whose vectors are the most similar to that of the text."""


def find(
    store: Store, corpus_id: int, text: str, method: SearchMethod = SearchMethod.TEXT, offset: int = 0, limit: int = 20
) -> SearchResult:
    """Return the sentences of a corpus that contain a text or all its words, in reading order."""
    wanted, whole = " ".join(clean(clean_text(text)).split()), method is SearchMethod.WORDS
    words = [token for token in tokenize(wanted) if any(map(str.isalnum, token))] if whole else [wanted]
    if not any(words):
        raise DataError("Enter a text to search for.")
    with store.reading() as r:
        known_corpus(r, corpus_id)
    ids = sentences_for(store, corpus_id, [[Term(word, whole) for word in words]])
    page = ids[offset : offset + limit]
    with store.reading() as r:
        known = sentences_of_ids(r, page.tolist())
    return SearchResult([Match(known[i], None) for i in page.tolist()], len(ids), offset, model_id=None)


def find_similar(
    store: Store, corpus_id: int, query: str | int, model_id: int | None = None, limit: int = 20
) -> SearchResult:
    """Return the sentences with the largest cosine similarity to a text (str) or to a sentence (id), best first.

    Without ``model_id``, the best validated model with vectors of the corpus is used. Raises ``DataError`` if there is
    none, or if the model knows none of the words.
    """
    with store.reading() as r:
        corpus = known_corpus(r, corpus_id)
        models = r.models.list() if model_id is None else [r.models.get(model_id)]
        embedded = [model for model in models if r.embeddings.have(model.id, corpus_id)]
    if not embedded:
        raise DataError(f"No model has vectors of the project {corpus.name!r}. Queue a job of the kind “embed” first.")
    model = best_first(store, corpus_shares(corpus), corpus_id, models=embedded, across=corpus.articles > 1)[0]
    vector = vector_of(store, model, query)
    cosine = nearest(store, model, corpus_id, vector, limit + 1)  # the sentence itself is its nearest neighbour
    with store.reading() as r:
        known = located_sentences(r, r.corpora.sentences_at([*cosine]))
    found = [Match(s, cosine[s.article_id, s.position]) for s in known if s.id != query][:limit]
    return SearchResult(found, len(found), 0, model.id)


def vector_of(store: Store, model: ModelRecord, query: str | int) -> Matrix:
    """Return the (1, dim) vector of a text, or the stored one of a sentence."""
    if isinstance(query, str):
        return query_vector(store, model, clean(clean_text(query)))
    with store.reading() as r:
        sentence = known_sentence(r, query)
    place = np.array([sentence.article_id]), np.array([sentence.position])
    return next(vectors for _, vectors in stored_blocks(store, model, *place))


# Search of everything in a store: projects, texts, units, models, and themes that were found

SHOWN = 8
"""Number of results of each kind that are listed."""
COUNTED = 1_000
"""Number up to which results are counted."""
ALIKE = 20
FEWEST_LETTERS = 2
"""Minimum length of a word that sentences and titles are searched for."""


@dataclass(frozen=True, slots=True)
class Result:
    """One thing that was found."""

    title: str
    detail: str = ""
    project: str = ""
    """Name of the corpus that it belongs to; "" for none."""
    article: str = ""
    """Title of the article, of an article or a sentence."""
    sentence: int = 0
    """Id of the sentence."""


@dataclass(frozen=True, slots=True)
class HitGroup:
    """The results of one kind, the best ones first."""

    kind: str
    """"Projects", "Texts", "Units", "Models" or "Themes"."""
    results: list[Result] = field(default_factory=list)
    count: int = 0
    """Number of results, at most ``COUNTED`` + 1, which stands for more."""
    here: int = 0
    """Number of those in the corpus that was searched first."""


def find_everything(store: Store, text: str, corpus_id: int = 0) -> list[HitGroup]:
    """Return the results by kind of a search, see :func:`parsed`, those of the corpus ``corpus_id`` first.

    Of one corpus, texts that contain the words one after the other come first. Kinds without results are left out.
    """
    query = parsed(text)
    if not query:
        return []
    with store.reading() as r:
        projects = [c for c in r.corpora.list() if holds(c.name, query)]
        models = [m for m in r.models.list() if holds(f"{m.name} {m.method}", query)]
    found = [
        group_of("Projects", [Result(c.name, f"{c.sentences:,} units", c.name) for c in projects]),
        *_texts(store, query, corpus_id),
        _themes(store, query, corpus_id),
        group_of("Models", [Result(m.name, m.method) for m in reversed(models)]),
    ]
    return [group for group in found if group.results]


def group_of(kind: str, results: Sequence[Result], shown: int = SHOWN) -> HitGroup:
    """Return a group of results that are all known, and list the first ``shown`` of them."""
    return HitGroup(kind, list(results[:shown]), min(len(results), COUNTED + 1))


def _themes(store: Store, query: Query, corpus_id: int) -> HitGroup:
    with store.reading() as r:
        corpora = {c.id: c.name for c in r.corpora.list()}
        runs = r.runs.themes(whole=True)
    found: dict[tuple[str, str], Result] = {}
    for run in sorted(reversed(runs), key=lambda run: run.found["corpus_id"] != corpus_id):
        project = corpora[run.found["corpus_id"]]
        for theme in run.found["themes"]:
            if holds(theme["name"], query):
                size = f"{int(theme['size']):,} units of {project}"
                found.setdefault((project, theme["name"]), Result(theme["name"], size, project))
    return group_of("Themes", list(found.values()))


def _texts(store: Store, query: Query, corpus_id: int) -> list[HitGroup]:
    """Return the matching articles and sentences; none for a query whose words have one letter each."""
    if max(map(len, parts_of(query))) < FEWEST_LETTERS:
        return []
    with store.reading() as r:
        names = {c.id: c.name for c in r.corpora.list()}
        titles, titles_here = _here_first(r.text_search.articles, "title", query, corpus_id, names)
        sentences, here = _here_first(r.text_search.sentences, "text", query, corpus_id, names)
        owners = r.corpora.articles_by_id([sentence.article_id for sentence in sentences[:SHOWN]])
    articles, texts = list[Result](), list[Result]()
    for article in titles[:SHOWN]:
        project = names[article.corpus_id]
        articles.append(Result(article.title, f"{article.sentences:,} units in {project}", project, article.title))
    for sentence in sentences[:SHOWN]:
        title, project = owners[sentence.article_id].title, names[owners[sentence.article_id].corpus_id]
        where = project if title == project else f"{title} in {project}"
        texts.append(Result(sentence.text, where, project, title, sentence.id))
    return [HitGroup("Texts", articles, len(titles), titles_here), HitGroup("Units", texts, len(sentences), here)]


def _here_first(
    search: Callable[..., list[Any]], field: str, query: Query, corpus_id: int, corpora: Collection[int]
) -> tuple[list[Any], int]:
    """Return up to ``COUNTED`` + 1 rows, those of one corpus first, of them the best; and the number of those."""
    most, parts = COUNTED + 1, [[term.text for term in terms] for terms in query]
    whole = any(term.whole for terms in query for term in terms)  # which the database does not know

    def rows(where: Where, limit: int) -> list[Any]:
        found = search(parts, corpus_id, where, None if whole else limit)
        return [row for row in found if holds(getattr(row, field), query)][:limit] if whole else found

    here = rows(Where.HERE, most) if corpus_id in corpora else []
    others = len(here) < most and any(id != corpus_id for id in corpora)
    elsewhere = rows(Where.ELSEWHERE, most - len(here)) if others else []
    phrases = [comparable(" ".join(terms)) for terms in parts]

    def is_best(row: Any) -> bool:
        return any(phrase in comparable(getattr(row, field)) for phrase in phrases)

    return [row for rows in (here, elsewhere) for row in sorted(rows, key=lambda row: not is_best(row))], len(here)


# Sentences with the titles of their articles and sections, and checks that objects exist


def known_corpus(r: Unit, corpus_id: int) -> CorpusRecord:
    """Return a corpus whose import is finished; raise ``UnknownNameError`` if there is none."""
    record = r.corpora.get(corpus_id)
    if not record.ready:
        raise UnknownNameError("corpus", str(corpus_id), [str(known.id) for known in r.corpora.list()])
    return record


def check_corpus(r: Unit, corpus_id: int | None) -> None:
    """Raise ``UnknownNameError`` for a corpus by which a list is filtered, and which does not exist."""
    if corpus_id is not None:
        known_corpus(r, corpus_id)


def known_sentence(r: Unit, sentence_id: int) -> types.Sentence:
    """Return a sentence; raise ``UnknownNameError`` if there is none, or it was removed."""
    found = r.corpora.sentences_by_id([sentence_id]).get(sentence_id)
    if found is None or not len(r.maps.places(np.array([sentence_id])).ids):
        raise UnknownNameError("sentence", str(sentence_id), None if r.corpora.list() else ())
    return found


def sentences_of_ids(r: Unit, ids: Iterable[int]) -> dict[int, LocatedSentence]:
    """Return sentences with their titles by id; missing ids are skipped."""
    return {s.id: s for s in located_sentences(r, [*r.corpora.sentences_by_id(ids).values()])}


def located_sentences(r: Unit, found: Sequence[types.Sentence]) -> list[LocatedSentence]:
    """Return sentences with the titles of their articles and sections."""
    ids = sorted({s.article_id for s in found})
    known = r.corpora.articles_by_id(ids)
    titles = {(id, s.position): s.title for id, of in r.corpora.sections_of(ids).items() for s in of}
    located = []
    for s in found:
        title, section = known[s.article_id].title, titles.get((s.article_id, s.section), "")
        located.append(LocatedSentence(s.id, s.text, s.article_id, title, section, s.position, s.paragraph, s.start))
    return located


# Process that keeps models for a web server

IDLE_S = 120.0
"""Seconds without a call after which the process ends."""
_MOST_BYTES = 64 << 20
"""Size of an answer: a few vectors."""


class ModelProcess:
    """Process that calls functions for this one, one after another.

    It starts with the first call, and ends ``idle_s`` seconds after the last one, or with this process. Multiprocessing
    would run ``__main__`` again, which Streamlit replaces.
    """

    def __init__(self, idle_s: float = IDLE_S) -> None:
        self._idle_s = idle_s
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._used = 0.0

    @property
    def running(self) -> bool:
        """Return whether the process has been started and has not ended."""
        return self._process is not None

    def call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return ``function(*args, **kwargs)``, which can all be pickled; its result is data, see ``as_data``.

        Raises what the function raises, and ``ThemescopeError`` if the process dies or sends anything else.
        """
        asked = pickle.dumps((function, args, kwargs))
        with self._lock:
            process = self._process or self._start()
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(asked)
                process.stdin.flush()
                found = _received(process.stdout)
            except (OSError, EOFError):
                code = self._end(process)
                raise ThemescopeError(
                    f"The process with the model ended unexpectedly (exit code {code}), probably because the machine "
                    "ran out of memory. Free memory and try again."
                ) from None
            except Exception:  # of whatever kind: a model that takes the process over may let it write anything
                process.kill()
                self._end(process)
                raise ThemescopeError(
                    "The process with the model sent something else than a result, and was ended. It may be an attack: "
                    "delete the model, and load it nowhere else."
                ) from None
            self._used = time.monotonic()
        if isinstance(found, Failure):
            raise found.exception()
        result: R = found
        return result

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", f"from {__name__} import answer; answer()"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._end_later(self._idle_s)
        return self._process

    def _end_later(self, seconds: float) -> None:
        timer = Timer(seconds, self._end_if_idle)
        timer.daemon = True
        timer.start()

    def _end_if_idle(self) -> None:
        with self._lock:
            if self._process is None:
                return
            left = self._used + self._idle_s - time.monotonic()
            if left > 0:
                self._end_later(left)
            else:
                self._end(self._process)

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        self._process = None
        with process:  # closes its standard input, at the end of which it ends
            pass
        return process.returncode


def _received(stream: IO[bytes]) -> Any:
    """Return an answer: eight bytes with the length of the data, which follow."""
    length = int.from_bytes(stream.read(8))
    if length > _MOST_BYTES:
        raise DataError("The answer is too long.")
    data = stream.read(length)
    if not length or len(data) < length:
        raise EOFError
    return data_of(data)


def answer() -> None:
    """Call the functions on standard input until it ends, and write what they return or raise to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal ends the parent, and this process with it
    out, sys.stdout = sys.stdout.buffer, sys.stderr
    while True:
        try:
            function, args, kwargs = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            found = as_data(function(*args, **kwargs))
        except Exception as error:
            found = as_data(Failure.of(error))
        out.write(len(found).to_bytes(8) + found)
        out.flush()
