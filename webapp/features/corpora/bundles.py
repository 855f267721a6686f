"""Report of a corpus, exports as a bundle and as a Hugging Face dataset, and the import of bundles."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from themescope.core.records.stored import CorpusRecord, JobStatus
from themescope.db.access import Right
from themescope.jobs.bundles.parts import BUNDLE, Contents, contents
from themescope.jobs.common.archive import ArchiveReader
from themescope.jobs.common.uploads import safe_name
from themescope.jobs.kinds import export_bundle
from themescope.jobs.kinds import exports as export_dataset
from themescope.jobs.services.report.project import report_file
from themescope.webapp.features.corpora import state
from themescope.webapp.shared import input_files, queries
from themescope.webapp.shared.components import attempt, download
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.people import UNNAMED, current_person, may
from themescope.webapp.shared.results import partition_queries
from themescope.webapp.shared.text import ago, count, file_name, plain

_MOST_MB, _LISTED = 500, 500
_NONE, _THEMES = "none", "newest themes"


def reports(corpus: CorpusRecord) -> None:
    """Draw the downloads of the report of a project."""
    person = current_person()
    known = [one for one in partition_queries.labellings(corpus.id) if not one.blind or one.owner == person]
    with st.container(horizontal=True, vertical_alignment="center"):
        for name, suffix, more in (("Report (HTML)", ".html", {"type": "primary"}), ("Report (Word)", ".docx", {})):
            file = file_name(f"Report of {corpus.name}", suffix[1:])
            download(
                name,
                partial(report_file, queries.store(), corpus, known, suffix),
                file,
                key=f"corpora_report{suffix}",
                **more,
            )
        st.caption("Data, themes, map, shares by column with intervals, labels, methods and limits in one file.")


def exports(corpus: CorpusRecord) -> None:
    """Draw the forms of both exports; admins only, because labellings may be blind."""
    if not may(Right.MANAGE):
        return
    with st.expander("Export bundle", icon=":material/inventory_2:"):
        st.caption(
            "A ZIP file with the text, the labellings with their history and, if chosen, models with their vectors. "
            "Another Themescope imports it unchanged. It contains no code."
        )
        able = queries.read(
            lambda r: [m for m in r.models.list() if len(r.embeddings.have(m.id, corpus.id)) >= corpus.articles]
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            chosen = st.multiselect(
                "Models with their vectors", [model.name for model in able], disabled=not able, width=420,
                placeholder="none" if able else "no model has embedded this corpus",
                key=f"corpora_bundle_models_{corpus.id}",
            )  # fmt: skip
            labellings = st.toggle(
                "Include labellings with history", value=True, key=f"corpora_bundle_labellings_{corpus.id}"
            )
            args = {"labellings": labellings, "models": chosen}
            _create("bundle", "Create bundle", ":material/inventory_2:", corpus, args)
        _fetch(corpus, "bundle", export_bundle.FOLDER, "labelling")
    with st.expander("Export dataset", icon=":material/dataset:"):
        st.caption(
            "A ZIP file with the folder of a Hugging Face dataset: Parquet files by split, and a card. Sentences have "
            "their text, place, labels and columns."
        )
        listed = queries.read(lambda r: r.labellings.list(corpus.id))
        names: dict[object, str] = {record.id: record.name for record in listed}
        themes = queries.read(
            lambda r: any(run.config.get("corpus_id") == corpus.id for run in r.runs.list(kind="themes"))
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            labels = st.selectbox(
                "Labels", [_NONE, *([_THEMES] if themes else []), *names], width=420,
                format_func=lambda choice: str(names.get(choice, choice)), key=f"corpora_dataset_labels_{corpus.id}",
            )  # fmt: skip
            args = {"labelling": names.get(labels, ""), "themes": labels == _THEMES}
            _create("dataset", "Create dataset", ":material/dataset:", corpus, args)
        _fetch(corpus, "dataset", export_dataset.FOLDER, "sentence")


def _create(what: str, label: str, icon: str, corpus: CorpusRecord, args: dict[str, Any]) -> None:
    st.space("stretch")
    key = f"corpora_{what}_create_{corpus.id}"
    if st.button(label, icon=icon, key=key):
        title = f"{what.capitalize()} of “{corpus.name}”"
        if submit(f"export-{what}", {"corpus": corpus.name, **args}, title):
            st.rerun()


def _fetch(corpus: CorpusRecord, what: str, folder: str, counted: str) -> None:
    below = queries.store().settings.home / folder
    for job in queries.read(lambda r: r.jobs.list(limit=_LISTED, status=JobStatus.DONE)):
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


def import_form() -> None:
    """Draw the form that shows the content of a bundle and imports it."""
    with st.expander("Import bundle", icon=":material/inventory_2:"):
        turn = st.session_state.get(state.BUNDLE_ROUND, 0)
        if input_files.choose_server_path("Source", f"corpora_bundle_source_{turn}"):
            text = (st.text_input("Path of the bundle file", key=f"corpora_bundle_path_{turn}") or "").strip()
            path = input_files.server_path(text) if text else None
        else:
            file = st.file_uploader("Bundle", type=["zip"], max_upload_size=_MOST_MB, key=f"corpora_bundle_file_{turn}")
            path = None if file is None else input_files.keep_one("corpora_bundle_kept", file)
        if path is None:
            return
        about = attempt(lambda: _contents(path))
        if about is None:
            return
        corpus = about.corpus
        owners = sorted({one.owner or UNNAMED for one in about.labellings})
        by = f" by {plain(', '.join(owners))}" if owners else ""
        models = ", ".join(model.name for model in about.models)
        st.markdown(
            f"**{plain(corpus.name)}** · {count(corpus.articles, 'article')}, {count(corpus.sentences, 'sentence')} · "
            f"{count(len(about.labellings), 'labelling')}{by}" + (f" · vectors of {plain(models)}" if models else "")
        )
        free = queries.usable_corpus_name(about.corpus.name)
        name = st.text_input("Project name", value=free, key=f"corpora_bundle_name_{path}")
        if st.button("Import bundle", type="primary", icon=":material/download:", disabled=not (name or "").strip()):
            args = {"file": str(path), "corpus": (name or "").strip()}
            if submit("import-bundle", args, f"Import bundle “{args['corpus']}”"):
                st.session_state[state.BUNDLE_ROUND] = st.session_state.get(state.BUNDLE_ROUND, 0) + 1
                st.rerun()


def _contents(path: Path) -> Contents:
    with ArchiveReader(path, BUNDLE) as bundle:
        return contents(bundle.about, path)
