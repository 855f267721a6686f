"""What one can do with a selection: label it, make it a theme, relabel, export, share, save and combine it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import streamlit as st

from themescope.core.labelling.changes import Step
from themescope.core.labelling.operations import Selection, digest_of_ids
from themescope.core.records.stored import LabellingRecord, SelectionRecord, Sharing
from themescope.db.access import Right
from themescope.db.label_records import NewLabelling
from themescope.jobs.services import failures as failure_service
from themescope.jobs.services import selections as service
from themescope.jobs.services.failures import CollectedFailure
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.table_files import excel_bytes
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.forms import Table, table_files
from themescope.webapp.shared.labelling import failures
from themescope.webapp.shared.navigation import is_open, page_link, saved_line, switch_page
from themescope.webapp.shared.people import current_actor, current_person, may
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.selections import selections
from themescope.webapp.shared.selections.selections import Panel
from themescope.webapp.shared.text import count, plain, shorten

_NEW = "New labelling"


def show(of: Panel) -> None:
    """Draw the actions."""
    with st.container(horizontal=True, gap="xsmall", key=f"{of.key}-selection-actions"):
        if may(Right.LABEL):
            _popover(of, "Make it a theme", ":material/category:", _make_theme)
            _popover(of, "Label it", ":material/label:", _label)
            _popover(of, "Relabel", ":material/edit_note:", _relabel)
            batch = f"Selection: {shorten(str(of.selection.origin), 120)}"
            failures.button(of.key, "Collect as errors", of.selection.corpus_id, batch, lambda: _failures(of))
            _popover(of, "Share", ":material/link:", _share)
        _popover(of, "Export", ":material/download:", _export)
        _popover(of, "Save", ":material/bookmark:", _more)
    _outcome(of)


def _popover(of: Panel, label: str, icon: str, draw: Callable[[Panel], None]) -> None:
    shut = st.popover(label, icon=icon, key=f"{of.key}-{label}", on_change="rerun", help=label)
    if shut.open:
        with shut:
            draw(of)


# ---------------------------------------------------------------- labels


def _make_theme(of: Panel) -> None:
    st.caption(f"{count(len(of.selection), 'sentence')} become a new cluster. The result itself does not change.")
    rest = np.setdiff1d(selections.everything(of.selection), of.selection.ids, assume_unique=True)
    found = selections.comparison(of.selection.digest, digest_of_ids(rest), of.selection.ids, rest)
    name = st.text_input(
        "Name of the theme", value=" · ".join(found.words[0][:3]), key=of.name("theme-name"), max_chars=200
    )
    labelling = _choose_labelling(of, "In", "theme")
    if st.button("Create theme", type="primary", icon=":material/add:", key=of.name("create"), disabled=not name):
        _change(of, labelling, lambda record: service.new_cluster(
            queries.store(), of.selection, record, name or "", current_person()
        ))  # fmt: skip


def _label(of: Panel) -> None:
    labelling = _choose_labelling(of, "Labelling", "label")
    if not isinstance(labelling, LabellingRecord):
        st.caption("A new labelling starts from the themes; use “Make it a theme” to add a cluster to it.")
        return
    clusters = queries.read(lambda r: r.labellings.snapshot(labelling.id).partition.clusters)
    if not clusters:
        st.info("This labelling has no clusters yet. Use “Make it a theme”.", icon=":material/info:")
        return
    chosen = st.selectbox(
        "Cluster", sorted(clusters), format_func=lambda n: clusters[n].name, key=of.name(f"cluster-{labelling.id}")
    )
    if st.button("Assign", type="primary", icon=":material/label:", key=of.name("assign")):
        _change(of, labelling, lambda record: service.assign(
            queries.store(), of.selection, record, int(chosen), current_person()
        ))  # fmt: skip


Target = LabellingRecord | starts.Begin


def _choose_labelling(of: Panel, label: str, part: str) -> Target:
    """Choose a labelling that this person may change, or a new one from the themes or without clusters."""
    options: dict[str, Target] = {record.name: record for record in selections.own_labellings(of.selection.corpus_id)}
    themes = of.themes
    if themes is not None:
        options[f"{_NEW} from {len(themes.themes)} themes by {themes.model.name}"] = starts.from_themes(themes.run.id)
    options[f"{_NEW} without clusters"] = starts.from_nothing
    chosen = st.selectbox(label, list(options), key=of.name(f"{part}-labelling-{len(options)}"))
    return options[chosen]


def _labelling(of: Panel, target: Target) -> LabellingRecord:
    """Return the chosen labelling, which is created if it is a new one."""
    if isinstance(target, LabellingRecord):
        return target
    corpus = selections.corpus_of(of.selection)
    new = NewLabelling(corpus.id, f"{corpus.name} themes", current_person(), Sharing.OWN)
    with st.spinner("Creating the labelling …"):
        return starts.begin(queries.store(), new, target)


def _change(of: Panel, target: Target, change: Callable[[LabellingRecord], Step | None]) -> None:
    def apply() -> None:
        record = _labelling(of, target)
        step = change(record)
        said = f"{step.summary}, in “{record.name}”" if step is not None else f"No change needed in “{record.name}”"
        st.session_state[f"{of.key}-outcome"] = (of.selection.digest, said, record.name)
        st.rerun()

    attempt(apply)


def _outcome(of: Panel) -> None:
    """Say what the last action did, with a link to the labelling, until something else is selected."""
    digest, said, labelling = st.session_state.get(f"{of.key}-outcome") or ("", "", "")
    if digest != of.selection.digest:
        return
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        st.markdown(f":material/check_circle: {plain(said)}.", width="stretch")
        page_link("code", "Open in Code", view=compare_queries.edit_view(labelling), key=of.name("open"))


def _relabel(of: Panel) -> None:
    target = _choose_labelling(of, "Labelling", "code")
    if st.button("Open", type="primary", icon=":material/edit_note:", key=of.name("code")):
        opened = attempt(lambda: (_labelling(of, target), selections.store(of.selection)))
        if opened is not None:
            switch_page("code", compare_queries.selection_view(opened[0].name, opened[1].id))


def _failures(of: Panel) -> list[CollectedFailure]:
    """Return the selected sentences as failures; their link opens this view with the stored selection."""
    found, ids = of.read(), of.selection.ids
    themes = {int(found.ids[row]): found.theme(row) for row in found.rows_of(ids).tolist()}
    models = (of.themes.model.name,) if of.themes is not None and any(themes.values()) else ()
    source, link = f"selection: {shorten(str(of.selection.origin), 200)}", failures.permalink(of.view)
    return failure_service.sentences(
        queries.store(), ids.tolist(), failure_service.SENTENCE, source, themes, link, models
    )


# ---------------------------------------------------------------- files and links


def _export(of: Panel) -> None:
    st.caption(f"{count(len(of.selection), 'sentence')} with article, section, place, theme and columns.")
    with st.container(horizontal=True):
        table_files(of.selection.corpus_id, "selection", partial(_table, of), partial(excel_bytes, title="selection"))


def _table(of: Panel) -> Table:
    found = of.read()
    further = of.columns(found.ids) if of.columns is not None else {}
    rows = service.rows(queries.store(), found)
    if further:
        rows = [(*row, *more) for row, more in zip(rows, zip(*further.values(), strict=True), strict=True)]
    return (*service.HEADER, *further), rows


def _share(of: Panel) -> None:
    record = attempt(lambda: selections.store(of.selection))
    if record is not None:
        st.caption("Opens this view with these sentences, for everyone who may use this store.")
        st.code(selections.link_to(record, of.url_key, of.replaced, of.view), language=None, wrap_lines=True)


# ---------------------------------------------------------------- saved selections


def _more(of: Panel) -> None:
    """Draw the form that saves the selection, the combinations with saved ones, and what else can be selected."""
    if may(Right.LABEL):
        _save(of)
    saved = selections.saved(of.selection.corpus_id)
    if saved:
        by_name = {record.name: record for record in saved}
        chosen = st.selectbox("Combine with", list(by_name), key=of.name(f"combine-{len(saved)}"))
        with st.container(horizontal=True):
            for label, (help, combine) in _WAYS.items():
                st.button(
                    label, key=of.name(f"combine-{label}"), help=f"{help}.",
                    on_click=_combined, args=(of, by_name[chosen], combine),
                )  # fmt: skip
    st.button(
        "Select all other sentences",
        icon=":material/flip:",
        key=of.name("complement"),
        on_click=lambda: _offer(of, of.selection.complement(selections.everything(of.selection))),
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        most = max(len(of.selection), 1)
        number = st.number_input("Number", 1, most, min(most, 60), key=of.name("sample-number"))
        seed = st.number_input("Seed", 0, 1_000_000, 0, key=of.name("sample-seed"))
        st.button(
            "Select at random", icon=":material/casino:", key=of.name("sample"),
            on_click=lambda: _offer(of, of.selection.sample(int(number), int(seed))),
        )  # fmt: skip
    if st.session_state.pop(f"{of.key}-combined", False):
        switch_page(selections.PAGE, {"corpus": selections.corpus_of(of.selection).name})


def _save(of: Panel) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Name of the selection", key=of.name("save-name"), max_chars=200)
        pressed = st.button(
            "Save", icon=":material/bookmark_add:", key=of.name("save"), disabled=not (name or "").strip()
        )
    if pressed and (record := attempt(lambda: selections.store(of.selection, name or ""))):
        st.success(f"Saved as “{plain(record.name)}”. It is listed on the page Selections.", icon=":material/check:")


_WAYS: dict[str, tuple[str, Callable[[Selection, Selection], Selection]]] = {
    "Add": ("The sentences of both selections", Selection.union),
    "Keep common": ("Only the sentences that are in both selections", Selection.intersection),
    "Remove": ("The sentences that are not in the saved selection", Selection.difference),
}


def _combined(of: Panel, record: SelectionRecord, combine: Callable[[Selection, Selection], Selection]) -> None:
    other = selections.stored(record.id)
    if other is not None:
        _offer(of, combine(of.selection, other))


def _offer(of: Panel, selection: Selection) -> None:
    selections.offer(selection.corpus_id, selection.ids, selection.origin)
    if is_open(selections.PAGE):
        st.query_params.pop(of.url_key, None)
    else:
        st.session_state[f"{of.key}-combined"] = True


def saved_list(corpus_id: int, open_one: Callable[[SelectionRecord], None]) -> None:
    """Draw the saved selections of a project, each with buttons that open and delete it."""
    actor = current_actor()
    for record in selections.saved(corpus_id):
        facts = plain(shorten(" · ".join(record.origin.get("facts", ())), 90))
        about = f"{count(record.sentences, 'sentence')} · {facts} · "
        saved_line("selection", record, about, actor, partial(open_one, record), partial(_delete, record.id))


def _delete(selection_id: int) -> None:
    queries.write(lambda w: w.selections.delete(selection_id))
