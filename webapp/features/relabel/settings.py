"""Creation, export, training, access and deletion of labellings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from themescope.core.records.stored import ArticleRecord, CorpusRecord, LabellingRecord, Sharing
from themescope.db.records import NewLabelling
from themescope.db.store import Store, Unit
from themescope.jobs.services.labelling import codebook, files, starts
from themescope.jobs.services.table_files import csv_text, excel_bytes, file_content, parquet_bytes
from themescope.webapp.features.relabel import learning, method_choice, metric, naming
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import (
    NEW,
    NEW_ARTICLE_SEARCH,
    NEW_NAME,
    OPEN_NEXT,
    RESTORE,
    SETTINGS_FORM,
)
from themescope.webapp.shared import people, queries
from themescope.webapp.shared.choose import project
from themescope.webapp.shared.components import attempt, download
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.results import partition_queries
from themescope.webapp.shared.text import ago, count, plain

WHOLE_CORPUS = "Whole corpus"
UNASSIGNED = "No clusters: every sentence unassigned"
SECTIONS = "Sections"
_MAX_ARTICLES = 300
_MAX_NAME = 180
ACCESS = {Sharing.OWN: "Only me", Sharing.SHARED: "Everyone"}


def form(on_created: Callable[[LabellingRecord], None]) -> None:
    """Draw the form; ``on_created`` is called with the labelling that was created."""
    chosen = project()
    if chosen is None:
        return
    left, right = st.columns(2)
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
    with st.spinner("Reading sentences …"):
        record = attempt(lambda: starts.begin(queries.store(), new, start))
    if record is not None:
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
        for analysis in partition_queries.analyses(chosen.id):
            options[f"Themes: {analysis.name}"] = starts.from_themes(analysis.run.id)
    for record in partition_queries.labellings(chosen.id):
        if record.article_id == (article.id if article else None):
            options[f"Labelling: {record.name}"] = starts.from_labelling(record.id)
    options[UNASSIGNED] = starts.from_nothing
    first = next((name for name in options if name != SECTIONS), UNASSIGNED)
    return {first: options[first], **options}


def choose_article(corpus: CorpusRecord, key: str) -> int | None:
    """Draw the choice of one article, or of the whole corpus where that is not too large; return the id of one."""
    search = ""
    if corpus.articles > _MAX_ARTICLES:
        search = st.text_input(
            "Find article", key=f"{key}_search", placeholder="part of a title", icon=":material/search:"
        )
    articles = {a.title: a.id for a in queries.articles(corpus.id, search=search or "", limit=_MAX_ARTICLES)}
    options = [WHOLE_CORPUS, *articles] if corpus.sentences <= starts.MOST_SENTENCES else [*articles]
    return articles.get(st.selectbox("Article", options, key=key))


def _from_partition(partition: partition_queries.ClusteringRun) -> starts.Begin:
    def start(store: Store, new: NewLabelling) -> starts.Beginning:
        division = partition.load()
        origin = {"from": partition.kind, "name": partition.name}
        return starts.from_labels(division.sentence_ids, division.labels, division.names, origin)(store, new)

    return start


_ACCESS = {**ACCESS, Sharing.GOLD: "Everyone (gold labelling)"}


def show(state: RelabelState) -> None:
    """Draw the tab."""
    record = state.record
    origin = record.origin.get("name") or record.origin.get("from", "")
    st.markdown(
        f"{count(record.sentences, 'sentence')} · created by {people.shown(record.owner)} {ago(record.created)} · "
        f"started from {plain(origin)} · {count(len(state.session.steps), 'step')}"
    )
    _downloads(record)
    naming.show(state)
    method_choice.show(state)
    metric.show(state)
    learning.show(record)
    with st.form(f"{SETTINGS_FORM}_{record.id}", border=True):
        name = st.text_input("Name", value=record.name, max_chars=200)
        sharing = st.selectbox(
            "Access", list(_ACCESS), index=list(_ACCESS).index(record.kind), format_func=_ACCESS.__getitem__
        )
        blind = st.toggle("Blind", value=record.blind, help="Hides sections, suggestions and other people's labels.")
        if st.form_submit_button("Save settings", icon=":material/save:"):
            _write(lambda w: _save(w, record, name or "", Sharing(sharing), blind))
    if st.button("Delete labelling …", icon=":material/delete:", type="tertiary"):
        _confirm_deletion(record)


def _downloads(record: LabellingRecord) -> None:
    """Draw the downloads: the whole labelling, which can be imported again, and its present state as tables."""
    store = queries.store()

    def table(write: Callable[..., Any]) -> Callable[[], str | bytes]:
        return lambda: file_content(store, record.corpus_id, write, files.HEADER, files.rows(store, record.id))

    formats: tuple[tuple[str, str, Callable[[], str | bytes]], ...] = (
        ("Whole labelling", "jsonl", lambda: files.export_lines(store, record.id)),
        ("CSV", "csv", table(csv_text)),
        ("XLSX", "xlsx", table(partial(excel_bytes, title="labels"))),
        ("Parquet", "parquet", table(parquet_bytes)),
    )
    schemes: tuple[tuple[str, str, Callable[[], str]], ...] = (
        ("Scheme as CSV", "csv", lambda: codebook.table(store, record.id)),
        ("Scheme as JSON", "json", lambda: codebook.json_text(store, record.id)),
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, suffix, data in formats:
            download(label, data, f"labelling.{suffix}")
        for label, suffix, data in schemes:
            download(label, data, f"scheme.{suffix}")
    st.caption(
        "The whole labelling (JSON lines) contains every step and its author, and can be imported in the tab "
        f"“{NEW}”. The tables contain the current state and the columns of the sentences; in CSV and XLSX, cells "
        "that a spreadsheet would run as a formula are escaped. A scheme has the clusters with their themes, sizes and "
        "codebook entries, and can be the start of another labelling."
    )


def _save(w: Unit, record: LabellingRecord, name: str, kind: Sharing, blind: bool) -> None:
    person = current_person()
    if (kind, blind) != (record.kind, record.blind):
        w.labellings.share(record.id, kind, blind, person)
    renamed = w.labellings.rename(record.id, name, person)
    st.session_state[OPEN_NEXT] = renamed.name


def _write(change: Callable[[Unit], None]) -> None:
    """Write to the store and rerun, or show why that failed."""
    refused = queries.write(change)
    if refused:
        st.error(plain(refused), icon=":material/error:")
    else:
        st.rerun()


@st.dialog("Delete this labelling?")
def _confirm_deletion(record: LabellingRecord) -> None:
    st.markdown(f"**{plain(record.name)}** and its history will be deleted. You can restore them in the tab “{NEW}”.")
    if st.button("Delete labelling", type="primary", icon=":material/delete:"):
        _write(lambda w: w.labellings.delete(record.id, current_person()))


def deleted_labellings() -> None:
    """Draw the deleted labellings, each with a button that restores it."""
    found = partition_queries.labellings(deleted=True)
    if not found:
        return
    with st.expander(f"Deleted labellings ({len(found)})", icon=":material/delete:"):
        for record in found:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"{plain(record.name)} :gray[· deleted {ago(record.deleted)}]")
                st.space("stretch")
                if st.button("Restore", key=f"{RESTORE}_{record.id}", icon=":material/restore:"):
                    _restore(record)


def _restore(record: LabellingRecord) -> None:
    _write(lambda w: w.labellings.restore(record.id, current_person()))
