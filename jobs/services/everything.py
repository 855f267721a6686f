"""Search of everything in a store: projects, texts, units, models, and themes that were found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from themescope.core.records.stored import ArticleRecord, CorpusRecord
from themescope.core.text.cleaning import clean
from themescope.db.repositories.corpora import Where
from themescope.db.store import Store
from themescope.db.types import clean_text

SHOWN = 8
"""Number of results of each kind that are listed."""
COUNTED = 1_000
"""Number up to which results are counted."""
FEWEST_LETTERS = 2
"""Minimum length of a word that sentences and titles are searched for."""
_MOST_WORDS = 8


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


def words_of(text: str) -> list[str]:
    """Return the different words of a query, at most eight."""
    return list(dict.fromkeys(clean(clean_text(text)).split()))[:_MOST_WORDS]


def holds_all(text: str, words: Sequence[str]) -> bool:
    """Return whether a text contains all words, ignoring case."""
    folded = text.casefold()
    return all(word.casefold() in folded for word in words)


def find_everything(store: Store, text: str, corpus_id: int = 0) -> list[HitGroup]:
    """Return the results by kind for the words of ``text``, those of the corpus ``corpus_id`` first.

    A result contains all the words; texts that contain them one after the other come first. Kinds without results are
    left out.
    """
    words = words_of(text)
    if not words:
        return []
    found = [_projects(store, words), *_texts(store, words, corpus_id), _themes(store, words), _models(store, words)]
    return [group for group in found if group.results]


def group_of(kind: str, results: Sequence[Result], shown: int = SHOWN) -> HitGroup:
    """Return a group of results that are all known, and list the first ``shown`` of them."""
    return HitGroup(kind, list(results[:shown]), min(len(results), COUNTED + 1))


def _projects(store: Store, words: Sequence[str]) -> HitGroup:
    with store.reading() as r:
        found = [c for c in r.corpora.list() if holds_all(c.name, words)]
    return group_of("Projects", [Result(c.name, f"{c.sentences:,} units", c.name) for c in found])


def _models(store: Store, words: Sequence[str]) -> HitGroup:
    with store.reading() as r:
        found = [m for m in r.models.list() if holds_all(f"{m.name} {m.method}", words)]
    return group_of("Models", [Result(m.name, m.method) for m in reversed(found)])


def _themes(store: Store, words: Sequence[str]) -> HitGroup:
    with store.reading() as r:
        corpora = {c.id: c.name for c in r.corpora.list()}
        runs = r.runs.themes(whole=True)
    found: dict[tuple[str, str], Result] = {}
    for run in reversed(runs):
        project = corpora[run.config["corpus_id"]]
        for theme in run.config["themes"]:
            if holds_all(str(theme["name"]), words):
                size = f"{int(theme['size']):,} units of {project}"
                found.setdefault((project, theme["name"]), Result(str(theme["name"]), size, project))
    return group_of("Themes", list(found.values()))


def _texts(store: Store, words: Sequence[str], corpus_id: int) -> list[HitGroup]:
    """Return the matching articles and sentences; none for a query whose words have one letter each."""
    if max(map(len, words)) < FEWEST_LETTERS:
        return []
    phrase = " ".join(words)
    with store.reading() as r:
        corpora = {c.id: c for c in r.corpora.list()}
        titles = _here_first(r.text_search.articles, words, corpus_id, corpora)
        sentences = _here_first(r.text_search.sentences, words, corpus_id, corpora)
        titles.sort(key=lambda article: not holds_all(article.title, [phrase]))
        sentences.sort(key=lambda sentence: not holds_all(sentence.text, [phrase]))
        owners = r.corpora.articles_by_id([sentence.article_id for sentence in sentences[:SHOWN]])
    articles = [_article(article, corpora) for article in titles[:SHOWN]]
    texts = [_sentence(sentence, owners[sentence.article_id], corpora) for sentence in sentences[:SHOWN]]
    return [HitGroup("Texts", articles, len(titles)), HitGroup("Units", texts, len(sentences))]


def _here_first(
    search: Callable[..., list[Any]], words: Sequence[str], corpus_id: int, corpora: dict[int, CorpusRecord]
) -> list[Any]:
    """Return up to ``COUNTED`` + 1 rows, those of one corpus first."""
    most = COUNTED + 1
    found = search(words, corpus_id, Where.HERE, most) if corpus_id in corpora else []
    if len(found) < most and any(id != corpus_id for id in corpora):
        found = [*found, *search(words, corpus_id, Where.ELSEWHERE, most - len(found))]
    return found


def _article(article: ArticleRecord, corpora: dict[int, CorpusRecord]) -> Result:
    project = corpora[article.corpus_id].name
    return Result(article.title, f"{article.sentences:,} units in {project}", project, article.title)


def _sentence(sentence: Any, article: ArticleRecord, corpora: dict[int, CorpusRecord]) -> Result:
    project = corpora[article.corpus_id].name
    where = project if article.title == project else f"{article.title} in {project}"
    return Result(sentence.text, where, project, article.title, sentence.id)
