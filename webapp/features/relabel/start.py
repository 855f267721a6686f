"""Beginning a labelling: where, from what, and for whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from core.errors import ThemescopeError
from core.labelling.partition import Partition
from db.label_records import LabellingRecord, NewLabelling, Sharing
from db.records import ArticleRecord, CorpusRecord
from db.store import Unit
from jobs.services.labelling import starts
from webapp.shared import label_queries, partition_queries, queries, theme_queries
from webapp.shared.choose import corpus
from webapp.shared.people import current_person
from webapp.shared.text import count, plain

WHOLE = "the whole corpus"
NOTHING = "Nothing: every sentence unassigned"
_LISTED = 300
_FIELD = "begin-name"
SHARING = {Sharing.OWN: "Only me", Sharing.SHARED: "Everybody here"}


def form(opened: Callable[[LabellingRecord], None]) -> None:
    """Choose and begin; ``opened`` is called with the labelling that was made."""
    left, right = st.columns(2)
    with left:
        chosen = corpus("Where the sentences come from.")
    if chosen is None:
        return
    with right:
        article = _article(chosen)
    ways = _ways(chosen, article)
    with left:
        way = st.selectbox(
            "Begin with", list(ways), help="Nothing of what you begin with is changed: you work in a copy."
        )
    with right:
        where = article.title if article else chosen.name
        key = f"{_FIELD}-{chosen.id}-{article.id if article else 0}"
        name = st.text_input("Name", value=where[:120], key=key, max_chars=180)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sharing = st.segmented_control(
            "Who works in it",
            list(SHARING),
            format_func=SHARING.__getitem__,
            default=Sharing.OWN,
            required=True,
            help="In a shared labelling everybody sees and changes the same clusters; conflicts are shown, never lost.",
        )
        blind = st.toggle(
            "Blind",
            help="Hides section titles, suggestions and what others did, so that agreement measures judgement.",
        )
        st.space("stretch")
        if st.button("Begin", type="primary", icon=":material/edit:", disabled=not (name or "").strip()):
            new = NewLabelling(
                chosen.id,
                name or where,
                current_person(),
                Sharing(sharing or Sharing.OWN),
                blind,
                article.id if article else None,
            )
            _begin(new, ways[way], opened)
    if not article and chosen.sentences > starts.MOST_SENTENCES:
        st.caption(
            f"This corpus has {count(chosen.sentences, 'sentence')}; a labelling takes {starts.MOST_SENTENCES:,}. "
            "Choose an article."
        )


def _begin(new: NewLabelling, how: starts.Begin, opened: Callable[[LabellingRecord], None]) -> None:
    try:
        with st.spinner("Opening the sentences …"):
            record = starts.begin(queries.store(), new, how)
    except ThemescopeError as error:
        st.error(plain(error), icon=":material/error:")
        return
    opened(record)


def _article(chosen: CorpusRecord) -> ArticleRecord | None:
    search = st.session_state.get("begin-search", "")
    found = queries.articles(chosen.id, search=search, limit=_LISTED)
    options = {a.title: a for a in found}
    box, field = st.columns([3, 2], vertical_alignment="bottom")
    title = box.selectbox("Sentences of", [*options, WHOLE])
    field.text_input("Find an article", key="begin-search", placeholder="part of a title", icon=":material/search:")
    return options.get(title)


def _ways(chosen: CorpusRecord, article: ArticleRecord | None) -> dict[str, starts.Begin]:
    """What there is to begin with, by a readable name."""
    ways: dict[str, starts.Begin] = {}
    if article is not None:
        for partition in partition_queries.partitions(article, chosen.created):
            if partition.kind != "labelling":
                ways[partition.name] = _of(partition)
    else:
        ways["Sections"] = starts.from_sections
        for analysis in theme_queries.analyses():
            if analysis.corpus.id == chosen.id:
                ways[f"Themes: {analysis.name}"] = starts.from_themes(analysis.run.id)
    for record in label_queries.labellings(chosen.id):
        if record.article_id == (article.id if article else None):
            ways[f"Labelling: {record.name}"] = starts.from_labelling(record.id)
    ways[NOTHING] = starts.from_nothing
    first = next((name for name in ways if name != "Sections"), NOTHING)
    return {first: ways[first], **ways}


def _of(partition: partition_queries.Partition) -> starts.Begin:
    def how(r: Unit, new: NewLabelling) -> tuple[Partition, Mapping[str, Any]]:
        division = partition.load()
        origin = {"from": partition.kind, "name": partition.name}
        return starts.from_labels(division.sentence_ids, division.labels, division.names, origin)(r, new)

    return how
