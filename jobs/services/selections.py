"""What pages show of a selection, and what they do with one: texts, words, composition, comparison, labels, export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.clustering.naming import theme_words
from themescope.core.errors import DataError, UnknownNameError
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import Step
from themescope.core.labelling.operations import Selection
from themescope.core.labelling.partition import free_name
from themescope.core.records.answers import LocatedSentence, NamedTheme, ThemeLevel, ThemeRun
from themescope.core.records.stored import LabellingRecord, ModelRecord, RunRecord
from themescope.core.types import Ids, Labels, Split
from themescope.db.records import SentencePlaces
from themescope.db.repositories.runs import THEMES
from themescope.db.store import Store, Unit
from themescope.jobs.common.columns import is_list
from themescope.jobs.common.vectors import stacked
from themescope.jobs.services.labelling.files import PLACE, Row, place_cells, sentence_parts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.labelling.starts import LEAD
from themescope.jobs.services.search import MOST_WITH_VECTORS, models_for, stored_blocks

NO_THEME = -1
MANY_WORDS, SAMPLE = 12, 1_000
"""Number of distinctive words, and of sentences of each part that they are counted in."""
HEADER = (*PLACE, "theme")


@dataclass(frozen=True, slots=True, eq=False)
class SelectedSentences:
    """Where the sentences of a selection are; row i of every (n,) array is one sentence, in reading order."""

    ids: Ids
    articles: Ids
    """Id of the article of each."""
    positions: Ids
    sections: npt.NDArray[np.int32]
    """Index in ``titles``."""
    titles: Sequence[str]
    article_titles: Mapping[int, str]
    themes: Labels
    """Index in ``theme_names``, or :data:`NO_THEME`."""
    theme_names: Sequence[str]
    of_list: bool = False
    """Whether the corpus is a list of sentences."""

    def article(self, row: int) -> str:
        """Return the title of the article of a row."""
        return self.article_titles[int(self.articles[row])]

    def section(self, row: int) -> str:
        """Return the title of the section of a row."""
        return str(self.titles[self.sections[row]])

    def place(self, row: int) -> str:
        """Return article and section of a row, as far as known; "" in a list, where they are the same for all."""
        return "" if self.of_list else " › ".join(part for part in (self.article(row), self.section(row)) if part)

    def theme(self, row: int) -> str:
        """Return the name of the theme of a row; "" without one."""
        label = int(self.themes[row])
        return self.theme_names[label] if label != NO_THEME else ""

    def theme_counts(self) -> Counter[str]:
        """Return the number of sentences of each theme by its name."""
        return Counter(self.theme_names[label] for label in self.themes.tolist() if label != NO_THEME)

    def rows_of(self, ids: Ids) -> npt.NDArray[np.intp]:
        """Return the rows of those of ``ids`` that are selected, in the order of ``ids``."""
        _, rows, places = np.intersect1d(self.ids, ids, return_indices=True)
        ordered: npt.NDArray[np.intp] = rows[np.argsort(places)]
        return ordered


def read_sentences(
    store: Store, ids: Ids, run: RunRecord | None = None, known_places: SentencePlaces | None = None
) -> SelectedSentences:
    """Return existing sentences with their themes in ``run``, a result of finding themes.

    The places of the sentences are read, unless ``known_places`` are given.
    """
    with store.reading() as r:
        places = known_places if known_places is not None else r.maps.places(ids)
        known = r.corpora.articles_by_id(np.unique(places.articles))
        labels = r.runs.labels(run.id) if run is not None else {}
        corpora = {article.corpus_id for article in known.values()}
        of_list = all(is_list(r.corpora.get(id)) for id in corpora)
    at = np.array([known[int(a)].position for a in places.articles], dtype=np.int64)
    order = np.lexsort((places.positions, at))
    articles, positions = places.articles[order], places.positions[order]
    titles = [title.strip() or LEAD for title in places.titles]
    owners = {id: article.title for id, article in known.items()}
    names = [theme["name"] for theme in run.found["themes"]] if run is not None else []
    themes, sections = _themes_of(articles, positions, labels), places.sections[order]
    return SelectedSentences(
        places.ids[order], articles, positions, sections, titles, owners, themes, names, of_list=of_list
    )


def _themes_of(articles: Ids, positions: Ids, labels: Mapping[int, Labels]) -> Labels:
    found = np.full(len(articles), NO_THEME, dtype=np.int32)
    for article in np.unique(articles).tolist():
        if article in labels:
            rows = np.flatnonzero(articles == article)
            inside = rows[positions[rows] < len(labels[article])]
            found[inside] = labels[article][positions[inside]]
    return found


def texts_of(store: Store, ids: Ids) -> list[str]:
    """Return the texts of existing sentences, in the order of their ids."""
    with store.reading() as r:
        known = r.corpora.sentences_by_id(ids)
    return [known[int(i)].text for i in ids]


def rows(store: Store, found: SelectedSentences) -> list[tuple[Any, ...]]:
    """Return one tuple per sentence with the columns of :data:`HEADER`; the file format escapes the values."""
    parts = sentence_parts(store, found.ids, lambda sentence, row: (*place_cells(sentence), found.theme(row)))
    return [*chain.from_iterable(parts)]


def model_of(
    store: Store, corpus_id: int, found: SelectedSentences, preferred: int | None = None
) -> ModelRecord | None:
    """Return a model with vectors of these sentences, ``preferred`` (an id) if it is one, else the newest."""
    if not 1 < len(found.ids) <= MOST_WITH_VECTORS:
        return None
    models = models_for(store, corpus_id, set(np.unique(found.articles).tolist()))
    return next((model for model in models if model.id == preferred), models[0] if models else None)


def centrality(store: Store, model: ModelRecord, found: SelectedSentences) -> npt.NDArray[np.float32]:
    """Return the (n,) cosines of sentences to the mean of their unit vectors.

    Raises :class:`DataError` if an article has no vectors.
    """
    from scipy import sparse

    parts = list(stored_blocks(store, model, found.articles, found.positions))
    order = np.argsort(np.concatenate([part for part, _ in parts]), kind="stable")
    stack: Any = stacked([vectors for _, vectors in parts])[order]
    lengths = np.sqrt(
        np.asarray(stack.multiply(stack).sum(axis=1)).ravel()
        if sparse.issparse(stack)
        else (np.einsum("ij,ij->i", stack, stack, dtype=np.float64))
    )
    scale = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    mean = np.asarray(stack.T @ scale).ravel()
    cosines: npt.NDArray[np.float64] = (
        np.asarray(stack @ (mean / max(float(np.linalg.norm(mean)), 1e-12))).ravel() * scale
    )
    return np.asarray(cosines, np.float32)


def distinctive_words(store: Store, first: Ids, second: Ids, seed: int = 0) -> tuple[str, ...]:
    """Return the words that are frequent in one set of sentences and rare in the other; none if one is empty."""
    if not len(first) or not len(second):
        return ()
    random = np.random.default_rng(seed)
    samples = [np.sort(random.permutation(part)[:SAMPLE]) for part in (first, second)]
    texts = texts_of(store, np.concatenate(samples))
    labels = np.repeat(np.array([0, 1], dtype=np.int32), [len(part) for part in samples])
    here, _ = theme_words(texts, labels, 2, MANY_WORDS)
    return here


def assign(store: Store, selection: Selection, labelling: LabellingRecord, number: int, person: str) -> Step | None:
    """Put the sentences into a cluster of a labelling, as one step of its history; None if they are in it already.

    Raises ``DataError`` if none of them is part of the labelling, and ``StoreError`` if the person may not change it.
    """
    session = LabellingSession(store, labelling.id, person)
    ids = inside(session, selection)
    return session.do(op.assign(session.partition, ids, number), selection_method=str(selection.origin))


def new_cluster(store: Store, selection: Selection, labelling: LabellingRecord, name: str, person: str) -> Step | None:
    """Make the sentences a cluster of a labelling; a name that is taken is numbered.

    Raises ``DataError`` if none of them is part of the labelling, and ``StoreError`` if the person may not change it.
    """
    session = LabellingSession(store, labelling.id, person)
    ids, free = inside(session, selection), free_name(session.partition, name)
    operation = op.create(session.partition, session.next_number, free, ids)
    return session.do(operation, selection_method=str(selection.origin))


def inside(session: LabellingSession, selection: Selection) -> Ids:
    """Return the sentences that are part of the labelling; raise :class:`DataError` if there are none."""
    ids: Ids = selection.ids[np.isin(selection.ids, session.partition.ids)]
    if not len(ids):
        raise DataError(f"None of these sentences is part of “{session.record.name}”. Choose another coding.")
    return ids


# Themes that were found: runs, their themes with counts, and the sentences of each, of what is there now


def theme_record(r: Unit, run_id: int) -> RunRecord:
    """Return a run that found themes; raise ``UnknownNameError`` if it found none, or its corpus was deleted."""
    record = r.runs.get(run_id)
    if record.kind != THEMES or all(corpus.id != record.found.get("corpus_id") for corpus in r.corpora.list()):
        raise UnknownNameError("run with themes", str(run_id), [str(run.id) for run in r.runs.themes()])
    return record


def theme_arrays(r: Unit, run_id: int) -> tuple[Ids, Ids, np.ndarray]:
    """Return sentence ids (n,), theme numbers (n,) and margins (n,) of a run with themes."""
    theme_record(r, run_id)
    ids, margins = r.runs.margins(run_id, Split.TEST)
    labels, places = r.runs.labels(run_id), r.maps.places(ids)
    there = np.isin(ids, places.ids)  # the others were removed
    ids, margins = ids[there], margins[there]
    return ids, _themes_of(places.articles, places.positions, labels).astype(np.int64), margins


def theme_table(store: Store, run_id: int) -> tuple[tuple[str, ...], Callable[[], Iterator[list[Row]]]]:
    """Return header and parts of a file of all sentences of a result in reading order.

    Their places, the theme by name and number, the margin, and level_0, level_1 …: the theme at each level by name.
    Level 0 has the fewest themes.
    """
    with store.reading() as r:
        levels = r.runs.levels(theme_record(r, run_id))
        found = {level.id: theme_arrays(r, level.id) for level in levels}
    ids, numbers, margins = found[run_id]
    order = np.argsort(ids, kind="stable")
    names = {level.id: [*(theme["name"] for theme in level.found["themes"]), ""] for level in levels}
    every = [(names[id], of[np.argsort(known, kind="stable")].tolist()) for id, (known, of, _) in found.items()]

    def row(sentence: LocatedSentence, at: int) -> Row:
        number = int(numbers[order[at]])
        own = names[run_id][number], number, float(margins[order[at]])
        return (*place_cells(sentence), *own, *(called[of[at]] for called, of in every))

    header = (*PLACE, "theme", "theme_number", "margin", *(f"level_{number}" for number in range(len(levels))))
    return header, lambda: sentence_parts(store, ids[order], row)


def theme_run(r: Unit, run: RunRecord) -> ThemeRun:
    """Return the themes of a run with their subtitles."""
    config = run.config
    first = [i for theme in config["themes"] for i in theme["central"][:1]]
    texts = {i: sentence.text for i, sentence in r.corpora.sentences_by_id(np.array(first, np.int64)).items()}
    levels = r.runs.levels(run)
    themes = []
    for number, theme in enumerate(config["themes"]):
        words, central = [*theme.get("words", ())], [*theme["central"]]
        subtitle = theme.get("description") or next((texts.get(i, "") for i in central[:1]), "")
        themes.append(NamedTheme(number, theme["name"], theme["size"], words, central, subtitle))
    about = int(config["corpus_id"]), run.model_id or 0, int(config["sentences"]), str(config["reason"])
    level, listed = [level.id for level in levels].index(run.id), [(one.id, one.found["themes"]) for one in levels]
    return ThemeRun(run.id, *about, run.created, themes, level, [ThemeLevel(id, len(found)) for id, found in listed])
