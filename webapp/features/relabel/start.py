"""Form that creates a labelling: for which sentences, starting from what, and with access for whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from core.errors import ThemescopeError
from core.labelling.partition import Partition
from db.label_records import LabellingRecord, NewLabelling, Sharing
from db.records import ArticleRecord, CorpusRecord
from db.store import Store
from jobs.services.labelling import starts
from webapp.features.relabel.state import NEW_ARTICLE_SEARCH, NEW_NAME
from webapp.shared import label_queries, partition_queries, queries, theme_queries
from webapp.shared.choose import corpus
from webapp.shared.people import current_person
from webapp.shared.text import count, plain

WHOLE_CORPUS = "Whole corpus"
UNASSIGNED = "No clusters: every sentence unassigned"
SECTIONS = "Sections"
_MAX_ARTICLES = 300
_MAX_NAME = 180
ACCESS = {Sharing.OWN: "Only me", Sharing.SHARED: "Everyone"}


def form(on_created: Callable[[LabellingRecord], None]) -> None:
    """Draw the form; ``on_created`` is called with the labelling that was created."""
    left, right = st.columns(2)
    with left:
        chosen = corpus("The corpus to label.")
    if chosen is None:
        return
    with right:
        article = _article(chosen)
    options = _starting_points(chosen, article)
    with left:
        start = st.selectbox("Start from", list(options), help="You edit a copy; the original does not change.")
    with right:
        title = article.title if article else chosen.name
        key = f"{NEW_NAME}_{chosen.id}_{article.id if article else 0}"
        name = st.text_input("Name", value=title[:120], key=key, max_chars=_MAX_NAME)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sharing, blind = _access()
        st.space("stretch")
        if st.button("Create labelling", type="primary", icon=":material/edit:", disabled=not (name or "").strip()):
            owner, article_id = current_person(), article.id if article else None
            new = NewLabelling(chosen.id, name or title, owner, sharing, blind, article_id)
            create(new, options[start], on_created)
    if not article and chosen.sentences > starts.MOST_SENTENCES:
        st.caption(
            f"This corpus has {count(chosen.sentences, 'sentence')}, but a labelling holds at most "
            f"{starts.MOST_SENTENCES:,}. Choose an article."
        )


def create(new: NewLabelling, start: starts.Begin, on_created: Callable[[LabellingRecord], None]) -> None:
    """Create a labelling and call ``on_created``, or show why that failed."""
    try:
        with st.spinner("Reading sentences …"):
            record = starts.begin(queries.store(), new, start)
    except ThemescopeError as error:
        st.error(plain(error), icon=":material/error:")
        return
    on_created(record)


def _access() -> tuple[Sharing, bool]:
    """Return who has access, and whether the work is blind."""
    sharing = st.segmented_control(
        "Access",
        list(ACCESS),
        format_func=ACCESS.__getitem__,
        default=Sharing.OWN,
        required=True,
        help="In a shared labelling everyone edits the same clusters; conflicting edits are shown, never lost.",
    )
    blind = st.toggle(
        "Blind",
        help="Hides section titles, suggestions and other people's labels, so that agreement measures independent "
        "judgement.",
    )
    return Sharing(sharing or Sharing.OWN), blind


def _article(chosen: CorpusRecord) -> ArticleRecord | None:
    """Return the chosen article; None for the whole corpus."""
    search = st.session_state.get(NEW_ARTICLE_SEARCH, "")
    found = queries.articles(chosen.id, search=search, limit=_MAX_ARTICLES)
    options = {a.title: a for a in found}
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    title = left.selectbox("Article", [*options, WHOLE_CORPUS])
    right.text_input("Find article", key=NEW_ARTICLE_SEARCH, placeholder="part of a title", icon=":material/search:")
    return options.get(title)


def _starting_points(chosen: CorpusRecord, article: ArticleRecord | None) -> dict[str, starts.Begin]:
    """Return what a labelling can start from, by name; a clustering comes first where there is one."""
    options: dict[str, starts.Begin] = {}
    if article is not None:
        for partition in partition_queries.partitions(article, chosen.created):
            if partition.kind != "labelling":
                options[partition.name] = _from_partition(partition)
    else:
        options[SECTIONS] = starts.from_sections
        for analysis in theme_queries.analyses():
            if analysis.corpus.id == chosen.id:
                options[f"Themes: {analysis.name}"] = starts.from_themes(analysis.run.id)
    for record in label_queries.labellings(chosen.id):
        if record.article_id == (article.id if article else None):
            options[f"Labelling: {record.name}"] = starts.from_labelling(record.id)
    options[UNASSIGNED] = starts.from_nothing
    first = next((name for name in options if name != SECTIONS), UNASSIGNED)
    return {first: options[first], **options}


def _from_partition(partition: partition_queries.Partition) -> starts.Begin:
    def start(store: Store, new: NewLabelling) -> tuple[Partition, Mapping[str, Any]]:
        division = partition.load()
        origin = {"from": partition.kind, "name": partition.name}
        return starts.from_labels(division.sentence_ids, division.labels, division.names, origin)(store, new)

    return start
