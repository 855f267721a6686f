"""Themes that were found: runs, their themes with counts, and the sentences of each, of what is there now.

The repository of runs leaves out removed articles, see :meth:`.Runs.get`; numbers of themes are places among the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from themescope.core.errors import UnknownNameError
from themescope.core.records.answers import LocatedSentence, NamedTheme, ThemeLevel, ThemeRun
from themescope.core.records.stored import RunRecord
from themescope.core.types import Ids, Split
from themescope.db.repositories.runs import THEMES
from themescope.db.store import Store, Unit
from themescope.jobs.services.labelling.files import PLACE, Row, place_cells, sentence_parts


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
    themes = np.full(len(ids), -1, dtype=np.int64)
    for article in np.unique(places.articles).tolist():
        rows = np.flatnonzero(places.articles == article)
        themes[rows] = labels[article][places.positions[rows]]
    return ids, themes, margins


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
    themes = [
        NamedTheme(
            number=number,
            name=theme["name"],
            size=theme["size"],
            words=[*theme.get("words", ())],
            central=[*theme["central"]],
            subtitle=theme.get("description") or next((texts.get(i, "") for i in theme["central"][:1]), ""),
        )
        for number, theme in enumerate(config["themes"])
    ]
    return ThemeRun(
        id=run.id,
        corpus_id=int(config["corpus_id"]),
        model_id=run.model_id or 0,
        sentences=int(config["sentences"]),
        reason=str(config["reason"]),
        created=run.created,
        themes=themes,
        level=[level.id for level in levels].index(run.id),
        levels=[ThemeLevel(level.id, len(level.found["themes"])) for level in levels],
    )
