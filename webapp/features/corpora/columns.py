"""Columns of a corpus, and their values in an article."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
import pandas as pd
import streamlit as st

from themescope.core.columns import ColumnLevel, ColumnType, as_text
from themescope.core.records.stored import ArticleRecord, ColumnRecord, CorpusRecord
from themescope.core.types import Sentence, Value
from themescope.webapp.shared import queries
from themescope.webapp.shared.text import plain, shorten

_SENTENCES, _CHARS, _VALUES = 500, 120, 3


def overview(corpus: CorpusRecord) -> None:
    """Draw the columns of a corpus with their types, missing values and ranges; nothing if it has none."""
    found = queries.columns(corpus)
    if not found:
        return
    st.markdown("**Columns**")
    frame = pd.DataFrame(
        {
            "Column": [column.name for column in found],
            "Of": [str(column.level) for column in found],
            "Type": [column.type for column in found],
            "Missing": [int(column.about.get("missing", 0)) for column in found],
            "Values": [_range(column) for column in found],
        }
    )
    st.dataframe(frame, hide_index=True, column_config={"Values": st.column_config.TextColumn(width="large")})


def _range(column: ColumnRecord) -> str:
    """Return the most frequent categories, or the least and the greatest value."""
    about = column.about
    if column.type == ColumnType.CATEGORY:
        named = zip(column.categories[:_VALUES], about["counts"], strict=False)
        more = len(column.categories) - _VALUES
        listed = [f"{shorten(name, 40)} ({number:,})" for name, number in named]
        return ", ".join([*listed, f"{more:,} more"] if more > 0 else listed)
    if "low" not in about:
        return ""
    if column.type == ColumnType.NUMBER:
        return f"{about['low']:,.6g} … {about['high']:,.6g}"
    return f"{about['low'][:10]} … {about['high'][:10]}"


def of_article(corpus: CorpusRecord, article: ArticleRecord, sentences: Sequence[Sentence]) -> None:
    """Draw the values of an article, and in an expander those of its sentences."""
    values = queries.article_values(corpus, article.id)
    if values:
        shown = [f"{plain(name)}: **{plain(shorten(shown_value(value), _CHARS))}**" for name, value in values.items()]
        st.markdown(" · ".join(shown))
    columns = [c for c in queries.columns(corpus) if c.level is ColumnLevel.SENTENCE]
    if not columns:
        return
    with st.expander("Columns of the sentences", icon=":material/view_column:"):
        listed = sentences[:_SENTENCES]
        ids = np.array([sentence.id for sentence in listed], dtype=np.int64)
        cells = {c.name: [shown_value(value) for value in queries.plain_column(c, ids, ids)] for c in columns}
        st.dataframe(pd.DataFrame({"Sentence": [s.text for s in listed]} | cells), hide_index=True, height=280)
        if len(sentences) > len(listed):
            st.caption(f"The first {len(listed):,} of {len(sentences):,} sentences.")


def shown_value(value: Value) -> str:
    """Return a value as text; a time at the beginning of a day as its date."""
    text = as_text(value)
    return text.removesuffix("T00:00:00+00:00") if isinstance(value, datetime) else text
