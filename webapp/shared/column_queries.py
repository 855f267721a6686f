"""Columns of a corpus and their values for the sentences of a page."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import streamlit as st

from themescope.core.columns import ColumnLevel, ColumnType, Values, plain_values
from themescope.core.types import Ids, Value
from themescope.db.records import ColumnRecord, CorpusRecord
from themescope.webapp.shared import queries


def columns(corpus: CorpusRecord) -> list[ColumnRecord]:
    """Return the columns of a corpus, those of articles first."""
    return _columns(corpus.id, corpus.created)


@st.cache_data(show_spinner=False, max_entries=64)
def _columns(corpus_id: int, created: datetime) -> list[ColumnRecord]:
    return queries.read(lambda r: r.columns.list(corpus_id))


def values(column: ColumnRecord, sentences: Ids, articles: Ids) -> Values:
    """Return the values (n,) of n sentences, whose articles are given too."""
    ids = sentences if column.level is ColumnLevel.SENTENCE else articles
    return queries.read(lambda r: r.columns.values(column, ids))


def plain(column: ColumnRecord, sentences: Ids, articles: Ids) -> list[Value]:
    """Return the values of n sentences as plain Python."""
    return plain_values(ColumnType(column.type), values(column, sentences, articles), column.categories)


def article_values(corpus: CorpusRecord, article_id: int) -> dict[str, Value]:
    """Return the values of an article that are not missing, by the name of the column."""
    ids = np.array([article_id], dtype=np.int64)
    of_articles = [column for column in columns(corpus) if column.level is ColumnLevel.ARTICLE]
    found = {column.name: plain(column, ids, ids)[0] for column in of_articles}
    return {name: value for name, value in found.items() if value is not None}
