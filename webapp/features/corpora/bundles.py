"""Forms that export a corpus as a bundle and import bundles."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from themescope.core.records.stored import CorpusRecord, ModelRecord
from themescope.db.access import Right
from themescope.jobs.bundles.parts import BUNDLE, Contents, contents
from themescope.jobs.common.archive import ArchiveReader
from themescope.jobs.kinds.export_bundle import FOLDER
from themescope.webapp.features.corpora import state
from themescope.webapp.features.corpora.downloads import fetch, made
from themescope.webapp.shared import input_files, queries
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.people import UNNAMED, may
from themescope.webapp.shared.text import count, plain

_MOST_MB = 500


def export(corpus: CorpusRecord) -> None:
    """Draw the export form and the download of the last bundle; admins only, because it contains blind labellings."""
    if not may(Right.MANAGE):
        return
    with st.expander("Export bundle", icon=":material/inventory_2:"):
        st.caption(
            "A ZIP file with the text, the labellings with their history and, if chosen, models with their vectors. "
            "Another Themescope imports it unchanged. It contains no code."
        )
        _export_form(corpus)
        job = made(corpus, "export-bundle", FOLDER)
        if job is not None:
            fetch(corpus, job, count(int(job.result.get("labellings", 0)), "labelling"))


def _export_form(corpus: CorpusRecord) -> None:
    able = _models(corpus)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.multiselect(
            "Models with their vectors",
            [model.name for model in able],
            placeholder="none" if able else "no model has embedded this corpus",
            disabled=not able,
            key=f"{state.BUNDLE}_models_{corpus.id}",
            width=420,
        )
        labellings = st.toggle(
            "Include labellings with history", value=True, key=f"{state.BUNDLE}_labellings_{corpus.id}"
        )
        st.space("stretch")
        if st.button("Create bundle", icon=":material/inventory_2:", key=f"{state.BUNDLE}_create_{corpus.id}"):
            args = {"corpus": corpus.name, "labellings": labellings, "models": chosen}
            if submit("export-bundle", args, f"Bundle of “{corpus.name}”"):
                st.rerun()


def _models(corpus: CorpusRecord) -> list[ModelRecord]:
    """Return the models that have vectors of all articles."""
    return queries.read(
        lambda r: [m for m in r.models.list() if len(r.embeddings.have(m.id, corpus.id)) >= corpus.articles]
    )


def import_form() -> None:
    """Draw the form that shows the content of a bundle and imports it."""
    with st.expander("Import bundle", icon=":material/inventory_2:"):
        path = _file()
        if path is None:
            return
        about = attempt(lambda: _contents(path))
        if about is None:
            return
        _describe(about)
        free = queries.usable_corpus_name(about.corpus.name)
        name = st.text_input("Corpus name", value=free, key=f"{state.BUNDLE}_name_{path}")
        if st.button("Import bundle", type="primary", icon=":material/download:", disabled=not (name or "").strip()):
            args = {"file": str(path), "corpus": (name or "").strip()}
            if submit("import-bundle", args, f"Import bundle “{args['corpus']}”"):
                st.session_state[state.BUNDLE_ROUND] = st.session_state.get(state.BUNDLE_ROUND, 0) + 1
                st.rerun()


def _contents(path: Path) -> Contents:
    with ArchiveReader(path, BUNDLE) as bundle:
        return contents(bundle.about, path)


def _describe(about: Contents) -> None:
    """Draw the content of a bundle in words."""
    corpus = about.corpus
    owners = sorted({owner or UNNAMED for _, owner in about.labellings})
    by = f" by {plain(', '.join(owners))}" if owners else ""
    models = ", ".join(model.name for model in about.models)
    st.markdown(
        f"**{plain(corpus.name)}** · {count(corpus.articles, 'article')}, {count(corpus.sentences, 'sentence')} · "
        f"{count(len(about.labellings), 'labelling')}{by}" + (f" · vectors of {plain(models)}" if models else "")
    )


def _file() -> Path | None:
    """Return the path of the chosen bundle: an upload, or a file of the server."""
    turn = st.session_state.get(state.BUNDLE_ROUND, 0)
    if input_files.choose_server_path("Source", f"{state.BUNDLE}_source_{turn}"):
        text = (st.text_input("Path of the bundle file", key=f"{state.BUNDLE}_path_{turn}") or "").strip()
        return input_files.server_path(text) if text else None
    file = st.file_uploader("Bundle", type=["zip"], max_upload_size=_MOST_MB, key=f"{state.BUNDLE}_file_{turn}")
    if file is None:
        return None
    return input_files.keep_once(state.BUNDLE_KEPT, file.file_id, [file], queries.store().settings.home)[0]
