"""Columns for the sentences of a stored corpus, written directly."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from themescope.core.columns import ColumnLevel, ColumnType, TypedColumn, coded, count_categories, summary, typed
from themescope.db import tables as t
from themescope.db.repositories.blocks import packed_blocks
from themescope.db.store import Store

SIDE = ("left", "right", "<b>*centre*</b>", None)


def add_columns(store: Store, corpus_id: int = 1) -> None:
    """Add a category, a number and a date to the sentences, and a text to the articles."""
    with store.reading() as r:
        sentences = r.corpora.sentence_ids(corpus_id)
        articles = np.array([a.id for a in r.corpora.articles(corpus_id)])
    n = len(sentences)
    add(store, corpus_id, "side", ColumnType.CATEGORY, sentences, [SIDE[i % 4] for i in range(n)])
    add(store, corpus_id, "score", ColumnType.NUMBER, sentences, [i if i % 10 else None for i in range(n)])
    days = np.arange(n).astype("datetime64[D]").astype("datetime64[us]").tolist()
    add(store, corpus_id, "day", ColumnType.DATE, sentences, days)
    names = [f"note {i}" for i in range(len(articles))]
    add(store, corpus_id, "note", ColumnType.TEXT, articles, names, ColumnLevel.ARTICLE)


def add(
    store: Store, corpus_id: int, name: str, type: ColumnType, ids: Any, values: Sequence[Any],
    level: ColumnLevel = ColumnLevel.SENTENCE,
) -> None:  # fmt: skip
    more: Mapping[str, Any] = {}
    if type is ColumnType.CATEGORY:
        counts = Counter[str]()
        count_categories(counts, values)
        names = sorted(counts, key=lambda name: (-counts[name], name))
        array = coded(values, {name: code for code, name in enumerate(names)})
        more = {"categories": names, "counts": [counts[name] for name in names]}
    else:
        array = typed(values, type)
    found = TypedColumn(type, array, summary(type, array) | more)
    blocks = packed_blocks(np.asarray(ids), found)
    with store.writing() as w:
        position = len(w.columns.list(corpus_id))
        w.columns._insert(
            t.corpus_column, corpus_id=corpus_id, position=position, name=name, level=level, type="", about={}
        )
        (column,) = [c for c in w.columns.list(corpus_id) if c.name == name]
        w.columns.set_type(column, found, blocks)
