"""Removal of waves and articles, correction of texts, and their history with undo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import streamlit as st

from themescope.core.records.stored import ArticleRecord, CorpusEditRecord, CorpusRecord, EditKind, JobStatus
from themescope.core.types import Sentence
from themescope.db.access import Right
from themescope.jobs.common.files import safe_name
from themescope.jobs.common.importing.columns import places_of, waves_of
from themescope.jobs.kinds import bundles
from themescope.jobs.services import corpus_edits
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import closed, nothing
from themescope.webapp.shared.components import confirm, download, succeeds
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.text import ago, count, plain, shorten

_LISTED = 200
_LEAVE = (
    "They leave maps, themes, search, tables, codings and estimates; triplets, benchmarks and collected errors "
    "keep them. You can undo this: the codes come back, too."
)


def menu(corpus: CorpusRecord, article: ArticleRecord, sentences: Sequence[Sentence], wanted: int) -> None:
    """Draw the menu that corrects a text, or removes the article or its wave; admins only."""
    if not may(Right.MANAGE):
        return
    opened = st.popover("Edit", icon=":material/edit:", key="texts_edit", on_change="rerun")
    if not opened.open:
        return
    with opened:
        _correction(corpus, sentences, wanted)
        if corpus.articles == 1:
            st.caption("The project has this text alone, so it cannot be removed. Delete the project instead.")
            return
        st.divider()
        wave = next((w["name"] for w in waves_of(corpus) if article.position in places_of(corpus, w["name"])), None)
        about = f"**{plain(article.title)}** with {count(article.sentences, 'unit')}. {_LEAVE}"
        if st.button("Remove this text …", icon=":material/delete:", type="tertiary"):
            _ask("Remove this text?", about, lambda: corpus_edits.remove_articles(
                queries.store(), corpus.id, [article.id], current_person()))  # fmt: skip
        if wave is not None and st.button(f"Remove {plain(wave)} …", icon=":material/layers_clear:", type="tertiary"):
            total = sum(w["sentences"] for w in waves_of(corpus) if w["name"] == wave)
            _ask("Remove this wave?", f"**{plain(wave)}** with {count(total, 'unit')}. {_LEAVE}",
                 lambda: corpus_edits.remove_wave(queries.store(), corpus.id, wave, current_person()))  # fmt: skip


def _ask(title: str, about: str, change: Callable[[], CorpusEditRecord]) -> None:
    confirm(title, about, "Remove", lambda: _done(change))


def _done(change: Callable[[], CorpusEditRecord]) -> bool:
    """Make a change and tell of it, or of its error; return whether it was made."""
    return succeeds(lambda: st.toast(_told(change()), icon=":material/done:", duration="long"))


def _correction(corpus: CorpusRecord, sentences: Sequence[Sentence], wanted: int) -> None:
    """Draw the choice of a sentence and its text."""
    by_id = {s.id: s for s in sentences}
    chosen = st.selectbox(
        corpus.unit.value.capitalize(), list(by_id), index=list(by_id).index(wanted) if wanted in by_id else 0,
        format_func=lambda id: shorten(by_id[id].text, 80), key=f"texts_edit_sentence_{wanted}",
        help="Type to search.",
    )  # fmt: skip
    text = st.text_area("Corrected text", by_id[chosen].text, key=f"texts_edit_text_{chosen}")

    def save() -> None:
        _done(lambda: corpus_edits.correct_text(queries.store(), corpus.id, chosen, text, current_person()))

    st.button(
        "Correct text", type="primary", icon=":material/check:", disabled=text.split() == by_id[chosen].text.split(),
        on_click=save, help="Labels stay. Vectors are computed anew with the next map or themes.",
    )  # fmt: skip


def _told(edit: CorpusEditRecord) -> str:
    kept = "stay" if edit.kind is EditKind.TEXT else "left with it"
    labels = f" {count(edit.labels, 'label')} {kept}." if edit.labels else ""
    what = plain(shorten(edit.summary, 160))
    return f"{what[:1].upper()}{what[1:]}.{labels} The button Undo is above the text."


def history(corpus: CorpusRecord) -> None:
    """Draw what was removed and corrected, newest first, each with a button that undoes it; admins only."""
    edits = queries.read(lambda r: r.corpus_edits.list(corpus.id))[::-1]
    if not edits:
        nothing("No edits since the import.", "Texts that are corrected or removed are listed here and can be undone.")
    if closed("Editing"):
        return
    if len(edits) > _LISTED:
        st.caption(f"The newest {_LISTED} of {len(edits):,}; all of them: `themescope edit`.")
    for edit in edits[:_LISTED]:
        _draw(corpus, edit)


def newest(corpus: CorpusRecord) -> None:
    """Draw the newest edit that was not undone, with the button that undoes it; admins only."""
    edits = [edit for edit in queries.read(lambda r: r.corpus_edits.list(corpus.id)) if edit.undone is None]
    if edits and may(Right.MANAGE):
        _draw(corpus, edits[-1])


def _draw(corpus: CorpusRecord, edit: CorpusEditRecord) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        by = f" · {edit.person}" if edit.person else ""
        labels = f" · {count(edit.labels, 'label')}" if edit.labels else ""
        st.markdown(plain(edit.summary), width="stretch")
        st.caption(plain(f"{ago(edit.created)}{by}{labels}"), width="content")
        if edit.undone is not None:
            st.caption(f"undone {ago(edit.undone)}", width="content")
        else:
            st.button("Undo", icon=":material/undo:", key=f"texts_undo_{edit.id}", type="tertiary",
                      on_click=_undo, args=(corpus, edit))  # fmt: skip


def _undo(corpus: CorpusRecord, edit: CorpusEditRecord) -> None:
    def undo() -> None:
        if lost := corpus_edits.undo(queries.store(), corpus.id, edit.id, current_person()).unassigned:
            st.toast(f"{count(lost, 'label')} did not come back: their clusters no longer exist.", duration="long")

    succeeds(undo)


# Exports of a project as a bundle and as a Hugging Face dataset

_MOST_MB, _BUNDLES_LISTED = 500, 500
_NONE, _THEMES = "none", "newest themes"


def files(corpus: CorpusRecord) -> None:
    """Draw the link to all other files, and the forms of both exports; for admins only, as codings may be blind."""
    page_link("report", "Report and files")
    if closed("Exporting a project"):
        return
    with st.expander("Bundle", expanded=True, icon=":material/inventory_2:"):
        st.caption(
            "A ZIP file with the text, the codings with their history and, if chosen, models with their vectors. "
            "Another Themescope imports it unchanged. It contains no code."
        )
        able = queries.read(
            lambda r: [m for m in r.models.list() if len(r.embeddings.have(m.id, corpus.id)) >= corpus.articles]
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            chosen = st.multiselect(
                "Models with their vectors", [model.name for model in able], disabled=not able, width=420,
                placeholder="none" if able else "no model has vectors of this project",
                key=f"texts_bundle_models_{corpus.id}",
            )  # fmt: skip
            labellings = st.toggle(
                "Include codings with history", value=True, key=f"texts_bundle_labellings_{corpus.id}"
            )
            args = {"labellings": labellings, "models": chosen}
            _create("bundle", "Create bundle", ":material/inventory_2:", corpus, args)
        _fetch(corpus, "bundle", bundles.FOLDER, "labelling")
    with st.expander("Dataset", expanded=True, icon=":material/dataset:"):
        st.caption(
            "A ZIP file with the folder of a Hugging Face dataset: Parquet files by split, and a card. Units have "
            "their text, place, labels and columns."
        )
        listed = queries.read(lambda r: r.labellings.list(corpus.id))
        names: dict[object, str] = {record.id: record.name for record in listed}
        themes = queries.read(
            lambda r: any(run.found.get("corpus_id") == corpus.id for run in r.runs.list(kind="themes"))
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            labels = st.selectbox(
                "Labels", [_NONE, *([_THEMES] if themes else []), *names], width=420,
                format_func=lambda choice: str(names.get(choice, choice)), key=f"texts_dataset_labels_{corpus.id}",
            )  # fmt: skip
            args = {"labelling": names.get(labels, ""), "themes": labels == _THEMES}
            _create("dataset", "Create dataset", ":material/dataset:", corpus, args)
        _fetch(corpus, "dataset", bundles.DATASETS, "sentence")


def _create(what: str, label: str, icon: str, corpus: CorpusRecord, args: dict[str, Any]) -> None:
    st.space("stretch")
    key = f"texts_{what}_create_{corpus.id}"
    if st.button(label, icon=icon, key=key):
        title = f"{what.capitalize()} of “{corpus.name}”"
        if submit(f"export-{what}", {"corpus": corpus.name, **args}, title):
            st.rerun()


def _fetch(corpus: CorpusRecord, what: str, folder: str, counted: str) -> None:
    below = queries.store().settings.home / folder
    for job in queries.read(lambda r: r.jobs.list(limit=_BUNDLES_LISTED, status=JobStatus.DONE)):
        path = Path(str(job.result.get("file", "")))
        about = job.kind == f"export-{what}" and job.args.get("corpus") == corpus.name
        if about and path.parent == below and path.is_file() and (job.ended or datetime.now(UTC)) > corpus.created:
            with st.container(horizontal=True, vertical_alignment="center"):
                name, size = safe_name(corpus.name), path.stat().st_size / 1e6
                download(
                    f"Download ({size:,.1f} MB)", path.read_bytes, f"{name}.zip", type="primary",
                    key=f"{job.kind}_{job.id}",
                )  # fmt: skip
                content = count(int(job.result.get(f"{counted}s", 0)), counted)
                st.caption(f"created {ago(job.ended)} with {content}; deleted after a week")
            return
