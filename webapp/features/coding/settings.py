"""Creation, import, export, training, access and deletion of labellings, and coding by a language model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from themescope.core.errors import ThemescopeError
from themescope.core.labelling.coding import allow_several
from themescope.core.labelling.partition import allows_several
from themescope.core.records.stored import ArticleRecord, CorpusRecord, JobStatus, LabellingRecord, Sharing
from themescope.db.access import Right
from themescope.db.records import NewLabelling
from themescope.db.store import Store, Unit
from themescope.jobs.common import language_models
from themescope.jobs.common.columns import is_list
from themescope.jobs.common.language_models import ALL, KIND, LABELLED, CodingPlan, CodingRequest, Endpoint
from themescope.jobs.common.models import corpus_shares
from themescope.jobs.services.labelling import codebook, starts
from themescope.jobs.services.labelling.codebook import from_codes
from themescope.webapp.features.coding import NEW, toolbar
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.shared import compare_queries, forms, people, projects, queries
from themescope.webapp.shared import labelling as codebook_view
from themescope.webapp.shared.choose import closed, model_notes, project
from themescope.webapp.shared.components import attempt, confirm, draw_table
from themescope.webapp.shared.job_status import active
from themescope.webapp.shared.labelling import code
from themescope.webapp.shared.navigation import page_link, switch_page
from themescope.webapp.shared.people import current_person, polled
from themescope.webapp.shared.text import ago, count, duration, plain, score

UNASSIGNED = "No codes yet"
SECTIONS = "Sections"
_MAX_ARTICLES = 300
_MAX_NAME = 180
ACCESS = {Sharing.OWN: "Only me", Sharing.SHARED: "Everyone"}


def form() -> None:
    """Draw the form of a new labelling."""
    chosen = project()
    if chosen is None:
        return
    left, right = st.columns(2)
    with right:
        article = choose_article(chosen, f"code_new_article_{chosen.id}", whole_first=is_list(chosen))
    options: dict[str, starts.Begin] = {}
    if article is not None:
        for partition in compare_queries.partitions(article, chosen.created):
            if partition.kind != "labelling":
                options[partition.name] = partial(_from_partition, partition)
    else:
        options[SECTIONS] = starts.from_sections
        for analysis in compare_queries.analyses(chosen.id):
            options[f"Themes: {analysis.name}"] = starts.from_themes(analysis.run.id)
    for record in compare_queries.labellings(chosen.id):
        if record.article_id == (article.id if article else None):
            options[f"Coding: {record.name}"] = starts.from_labelling(record.id)
    options[UNASSIGNED] = starts.from_nothing
    first = next((name for name in options if name != SECTIONS), UNASSIGNED)
    options = {first: options[first], **options}
    with left:
        start = st.selectbox("Start from", list(options), help="You edit a copy; the original does not change.")
    with right:
        title = article.title if article else chosen.name
        key = f"code_new_name_{chosen.id}_{article.id if article else 0}"
        name = st.text_input("Name", value=title[:120], key=key, max_chars=_MAX_NAME)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sharing, blind, several = _access()
        st.space("stretch")
        if st.button("Create coding", type="primary", icon=":material/edit:", disabled=not (name or "").strip()):
            owner, article_id = current_person(), article.id if article else None
            new = NewLabelling(chosen.id, name or title, owner, sharing, blind, article_id)
            create(new, starts.allowing_several(options[start]) if several else options[start])


def create(new: NewLabelling, start: starts.Begin) -> None:
    """Create a labelling and open it, or show why that failed."""
    with st.spinner("Reading units …"):
        record = attempt(lambda: starts.begin(queries.store(), new, start))
    if record is not None:
        switch_page("code", compare_queries.edit_view(record.name))


def _access() -> tuple[Sharing, bool, bool]:
    shared = "In a shared coding everyone edits the same codes; conflicting edits are shown, never lost."
    sharing = st.segmented_control(
        "Access", list(ACCESS), format_func=ACCESS.__getitem__, default=Sharing.OWN, required=True, help=shared
    )
    why = "so that agreement measures independent judgement."
    blind = st.toggle("Blind", help=f"Hides section titles, suggestions and other people's labels, {why}")
    return Sharing(sharing or Sharing.OWN), blind, st.toggle(SEVERAL, help=_SEVERAL_HELP)


def choose_article(corpus: CorpusRecord, key: str, whole_first: bool = True) -> ArticleRecord | None:
    """Choose an article; None for the whole project, which is offered where it is not too large for a labelling."""
    whole = ["Whole project"] if corpus.sentences <= starts.MOST_SENTENCES else []
    if whole and corpus.articles == 1 and is_list(corpus):
        return None
    search = ""
    if corpus.articles > _MAX_ARTICLES:
        find = f"{key}_search"
        search = st.text_input("Find text", key=find, placeholder="part of a title", icon=":material/search:")
    articles = {a.title: a for a in queries.articles(corpus.id, search=search or "", limit=_MAX_ARTICLES)}
    options = [*whole, *articles] if whole_first else [*articles, *whole]
    return articles.get(st.selectbox("Text", options, key=key))


def _from_partition(run: compare_queries.ClusteringRun, store: Store, new: NewLabelling) -> starts.Beginning:
    division, origin = run.load(), {"from": run.kind, "name": run.name}
    return starts.from_labels(division.sentence_ids, division.labels, division.names, origin)(store, new)


SEVERAL = "Several codes per unit"
_SEVERAL_HELP = (
    "A number key gives the selected units a code besides theirs, or takes it away. Agreement is then that of "
    "sets of codes, and a unit with two codes counts for both."
)
_ACCESS = {**ACCESS, Sharing.GOLD: "Everyone (gold coding)"}


def show(state: RelabelState) -> None:
    """Draw where a coding comes from, and its settings."""
    record = state.record
    origin = record.origin.get("name") or record.origin.get("from", "")
    st.markdown(
        f"{count(record.sentences, 'unit')} · created by {people.shown(record.owner)} {ago(record.created)} · "
        f"started from {plain(origin)} · {count(len(state.session.steps), 'step')}"
    )
    with st.container(width=640):
        _settings(state)
        _suggesting_model(state)
        _delete(record)


def _suggesting_model(state: RelabelState) -> None:
    """Draw the choice of the model that makes suggestions in this session."""
    models, key = toolbar.use_model(state), f"code_model_{state.record.id}"
    if not models:
        return
    names = [*models, toolbar.NO_MODEL]
    held = st.session_state.get(key)

    def choose() -> None:  # what a widget holds is forgotten with it
        st.session_state[key] = st.session_state[f"{key}_choice"]

    st.selectbox(
        "Suggestions from",
        names,
        names.index(held) if held in names else 0,
        key=f"{key}_choice",
        on_change=choose,
        help="The model suggests a code for every unit. Nothing changes until you accept a suggestion.",
    )
    model = queries.model_by_id(state.model_id)
    if model is not None:
        corpus = queries.read(lambda r: r.corpora.get(state.record.corpus_id))
        model_notes(model, corpus_shares(corpus), articles=corpus.articles > 1)


def _settings(state: RelabelState) -> None:
    record = state.record
    with st.form(f"code_settings_{record.id}", border=False):
        name = st.text_input("Name", value=record.name, max_chars=200)
        sharing = st.selectbox(
            "Access", list(_ACCESS), index=list(_ACCESS).index(record.kind), format_func=_ACCESS.__getitem__
        )
        blind = st.toggle("Blind", value=record.blind, help="Hides sections, suggestions and other people's labels.")
        before = allows_several(state.partition)
        several = st.toggle(SEVERAL, value=before, disabled=state.read_only, help=_SEVERAL_HELP)
        if st.form_submit_button("Save settings", icon=":material/save:"):
            saved: list[LabellingRecord] = []
            if several != before and not attempt(lambda: [state.session.do(allow_several(state.partition, several))]):
                return
            if queries.write(lambda w: saved.append(_save(w, record, name or "", Sharing(sharing), blind))):
                switch_page("code", compare_queries.edit_view(saved[0].name))


def _delete(record: LabellingRecord) -> None:
    if st.button("Delete coding …", icon=":material/delete:", type="tertiary"):
        about = f"**{plain(record.name)}** and its history will be deleted. You can restore them under {NEW}."
        delete = partial(queries.write, lambda w: w.labellings.delete(record.id, current_person()))
        confirm("Delete this coding?", about, "Delete coding", delete)


def _save(w: Unit, record: LabellingRecord, name: str, kind: Sharing, blind: bool) -> LabellingRecord:
    person = current_person()
    if (kind, blind) != (record.kind, record.blind):
        w.labellings.share(record.id, kind, blind, person)
    return w.labellings.rename(record.id, name, person)


def deleted_labellings() -> None:
    """Draw the deleted labellings, each with buttons that restore it, and that delete it permanently."""
    found = compare_queries.labellings(deleted=True)
    if not found:
        return
    with st.expander(f"Deleted codings ({len(found)})", icon=":material/delete:"):
        for record in found:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"{plain(record.name)} :gray[· deleted {ago(record.deleted)}]")
                st.space("stretch")
                if st.button("Restore", key=f"code_restore_{record.id}", icon=":material/restore:"):
                    _restore(record)
                if st.button("Delete permanently …", key=f"code_purge_{record.id}", type="tertiary"):
                    about = f"**{plain(record.name)}** and its history cannot be restored afterwards."
                    confirm("Delete this coding permanently?", about, "Delete permanently", partial(_purge, record))


def _restore(record: LabellingRecord) -> None:
    if queries.write(lambda w: w.labellings.restore(record.id, current_person())):
        st.rerun()


def _purge(record: LabellingRecord) -> bool:
    return queries.write(lambda w: w.labellings.purge(record.id, current_person()))


def scheme() -> None:
    """Draw the import of a scheme, whose clusters are those of a new labelling."""
    with st.expander("Import scheme", icon=":material/account_tree:"):
        corpus = projects.current()
        if corpus is None or closed("Coding", Right.LABEL):
            return
        st.caption("Codes with their themes and codebook entries, as exported. All units begin unassigned.")
        file = st.file_uploader("Scheme", type=list(codebook.READ_FILES), max_upload_size=200, key="code_scheme")
        chosen = choose_article(corpus, "code_scheme_article")
        article = chosen.id if chosen is not None else None
        if file is None:
            return
        path = forms.keep_one("code_scheme_kept", file)
        found = attempt(lambda: codebook.read_codes(path))
        if found is None:
            return
        if not found:
            st.info("This file has no codes. Choose another one.", icon=":material/info:")
            return
        themes = sum(not code.theme for code in found)
        st.markdown(f"{count(themes, 'theme')} and {count(len(found) - themes, 'sub-code')}")
        if st.button("Create coding with these codes", type="primary", icon=":material/edit:"):
            name = Path(file.name).stem[:_MAX_NAME] or corpus.name
            new = NewLabelling(corpus.id, name, current_person(), article_id=article)
            create(new, from_codes(found, file.name))


# Tab Label the rest: a language model codes by the codebook; what is sent, what it takes, and what came of it

TITLE = "Code with a language model"
_SENTENCES = {ALL: "All", LABELLED: "Labelled by people"}


def show_model_coding(state: RelabelState) -> None:
    """Draw the newest result, and the form for another one."""
    folded = st.expander(TITLE, icon=":material/smart_toy:", key=f"code_coding_{state.record.id}", on_change="rerun")
    if not folded.open:
        return
    with folded:
        st.caption(
            "The codebook becomes the prompt of a language model. Its codes are a coding of their own, which never "
            "counts as a person; the page Agreement tests whether it may replace one."
        )
        running = [job for job in queries.active_jobs({KIND}) if job.args.get("labelling") == state.record.name]
        if running:
            polled(1.5)(active)(running, f"code_coding_{state.record.id}")
        _newest(state)
        if (model := codebook_view.endpoint()) is not None:
            _form(state, model)


def _form(state: RelabelState, model: Endpoint) -> None:
    key = f"code_coding_{state.record.id}"
    left, middle, right = st.columns([2, 1, 1])
    sentences = left.segmented_control(
        "Units to code",
        list(_SENTENCES),
        default=LABELLED,
        required=True,
        format_func=_SENTENCES.__getitem__,
        key=f"{key}_sentences",
        help="Begin with those that people labelled, here or in another coding of the "
        "project: they show how good the model is before it codes the rest.",
    )
    limit = middle.number_input("Random sample", 0, step=50, key=f"{key}_limit", help="Number of units; 0: all.")
    batch = right.number_input("Per request", 1, 50, 10, key=f"{key}_batch", help="Units of a request.")
    written = st.text_area(
        "Instructions before the codebook",
        key=f"{key}_instructions",
        height=100,
        help="Optional. Several, separated by a line with three hyphens, are compared on the units that people "
        "labelled in this coding, and the best one codes; an empty one is the codebook alone.",
    )
    instructions = tuple(part.strip() for part in f"\n{written or ''}\n".split("\n---\n"))
    wanted = CodingRequest(state.record.name, sentences or ALL, limit, 0, batch, instructions)
    try:
        plan = _plan(state.record.id, state.session.snapshot.step, wanted)
    except ThemescopeError as error:
        st.info(plain(str(error)), icon=":material/info:")
        return
    _estimate(plan, model, key)
    args = {
        "labelling": state.record.name,
        "person": current_person(),
        "sentences": wanted.sentences,
        "limit": limit,
        "batch": batch,
        "instructions": list(instructions),
        "texts": plan.digest,
    }
    codebook_view.agreement(KIND, args, plan.text, model, key, "Send and code")


@st.cache_resource(show_spinner="Reading the units …", max_entries=4, ttl=60)
def _plan(labelling_id: int, step: int, wanted: CodingRequest) -> CodingPlan:
    return language_models.plan_of(queries.store(), wanted)


def _estimate(plan: CodingPlan, model: Endpoint, key: str) -> None:
    found = language_models.estimate(plan, model, language_models.newest_result(queries.store()))
    examples = f" {count(plan.examples, 'unit')} with the text of an example will not be coded, because the prompt "
    examples = f"{examples}tells the code." if plan.examples else ""
    time = "unknown before the first job" if found.seconds is None else f"about {duration(found.seconds)}"
    st.markdown(
        f"{count(len(plan.texts), 'text')} in {count(found.requests, 'request')} will be sent to `{code(model.url)}`, "
        f"model `{code(model.model)}`; at most {found.most:,} requests if answers are unusable.{examples}"
    )
    left, right = st.columns(2)
    read = left.number_input("Price of a million tokens read", 0.0, key=f"{key}_price_read", format="%.2f")
    written = right.number_input("Price of a million tokens written", 0.0, key=f"{key}_price_written", format="%.2f")
    cost = f" · cost: about {found.cost(read, written):,.2f}" if read or written else ""
    st.caption(f"Tokens: about {found.read:,} read, {found.written:,} written{cost} · time: {time}")


def _newest(state: RelabelState) -> None:
    done = (job for job in queries.jobs(limit=200) if job.kind == KIND and job.status is JobStatus.DONE)
    job = next((job for job in done if job.args.get("labelling") == state.record.name), None)
    if job is None:
        return
    found = job.result
    left_out = {
        "no code fits": found["no_code"],
        "code not in the codebook": found["invented"],
        "unusable answer": found["unusable"],
        "failed": found["failed"],
        "example of the prompt": found["examples"],
    }
    others = ", ".join(f"{what}: {n:,}" for what, n in left_out.items() if n)
    others = f", {sum(left_out.values()):,} not ({others})" if others else ""
    st.markdown(
        f"**{plain(found['model'])}** coded {count(found['coded'], 'unit')}{others} {ago(job.ended)}, "
        f"by {count(found['requests'], 'request')} in {duration(found['seconds'])}."
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        view = compare_queries.edit_view(found["labelling"])
        page_link("code", plain(found["labelling"]), icon=":material/edit_note:", view=view)
        page_link("agreement", "Compare with people", icon=":material/handshake:")
    if "prompts" in found:
        _prompts(found)
    if found["problems"]:
        st.caption(
            f"Showing {len(found['problems']):,} of {count(found['problems_in_all'], 'text')} without a usable code; "
            "the reasons are notes of the coding."
        )
        rows = [(row["sentence"], row["reason"]) for row in found["problems"]]
        draw_table(pd.DataFrame(rows, columns=["Unit", "Reason"]), height="content" if len(rows) < 6 else 220)


def _prompts(found: Mapping[str, Any]) -> None:
    rows = [
        (
            row["instructions"] or "–",
            f"{score(row['value'])} [{score(row['low'])}, {score(row['high'])}]",
            "best" if place == found["best"] else "",
        )
        for place, row in enumerate(found["prompts"])
    ]
    draw_table(pd.DataFrame(rows, columns=["Instructions", "Accuracy", ""]))
    chosen = found["cross_validated"]
    st.caption(
        "Accuracy is the share of units with the code that people gave. That of the best is too high, because it "
        f"was chosen by the same units; cross-validated it is {score(chosen['value'])} [{score(chosen['low'])}, "
        f"{score(chosen['high'])}]."
    )
