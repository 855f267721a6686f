"""Removal of waves and articles, correction of texts, and their history with undo."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from themescope.core.records.stored import ArticleRecord, CorpusEditRecord, CorpusRecord, EditKind
from themescope.core.types import Sentence
from themescope.db.access import Right
from themescope.jobs.common.importing.waves import places_of, waves_of
from themescope.jobs.services import corpus_edits
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import confirm, succeeds
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.text import ago, count, plain, shorten

_LISTED = 200
_LEAVE = (
    "They leave maps, themes, search, tables, labellings and estimates; triplets, benchmarks and collected errors "
    "keep them. You can undo this: the labels come back, too."
)


def menu(corpus: CorpusRecord, article: ArticleRecord, sentences: Sequence[Sentence], wanted: int) -> None:
    """Draw the menu that corrects a text, or removes the article or its wave; admins only."""
    if not may(Right.MANAGE):
        return
    opened = st.popover("Edit", icon=":material/edit:", key="corpora_edit", on_change="rerun")
    if not opened.open:
        return
    with opened:
        _correction(corpus, sentences, wanted)
        if corpus.articles == 1:
            st.caption("The project has this document alone, so it cannot be removed. Delete the project instead.")
            return
        st.divider()
        wave = next((w["name"] for w in waves_of(corpus) if article.position in places_of(corpus, w["name"])), None)
        about = f"**{plain(article.title)}** with {count(article.sentences, 'sentence')}. {_LEAVE}"
        if st.button("Remove this document …", icon=":material/delete:", type="tertiary"):
            _ask("Remove this document?", about, lambda: corpus_edits.remove_articles(
                queries.store(), corpus.id, [article.id], current_person()))  # fmt: skip
        if wave is not None and st.button(f"Remove {plain(wave)} …", icon=":material/layers_clear:", type="tertiary"):
            total = sum(w["sentences"] for w in waves_of(corpus) if w["name"] == wave)
            _ask("Remove this wave?", f"**{plain(wave)}** with {count(total, 'sentence')}. {_LEAVE}",
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
        format_func=lambda id: shorten(by_id[id].text, 80), key=f"corpora_edit_sentence_{wanted}",
        help="Type to search.",
    )  # fmt: skip
    text = st.text_area("Corrected text", by_id[chosen].text, key=f"corpora_edit_text_{chosen}")

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
    if not edits or not may(Right.MANAGE):
        return
    with st.expander(f"Edits since the import ({len(edits):,})", icon=":material/history:"):
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
            st.button("Undo", icon=":material/undo:", key=f"corpora_undo_{edit.id}", type="tertiary",
                      on_click=_undo, args=(corpus, edit))  # fmt: skip


def _undo(corpus: CorpusRecord, edit: CorpusEditRecord) -> None:
    def undo() -> None:
        if lost := corpus_edits.undo(queries.store(), corpus.id, edit.id, current_person()).unassigned:
            st.toast(f"{count(lost, 'label')} did not come back: their clusters no longer exist.", duration="long")

    succeeds(undo)
