"""Tasks: their list, the details of one with its checks and management, and the form of a new one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time
from typing import Any

import streamlit as st

from themescope.core.columns import ColumnType
from themescope.core.labelling.partition import EntryKind
from themescope.core.labelling.provenance import Allocation
from themescope.core.labelling.task_items import DistributionPlan, Order
from themescope.core.records.stored import ColumnRecord, CorpusRecord, LabellingRecord
from themescope.core.types import Estimate
from themescope.db.access import Right
from themescope.db.records import TaskRecord
from themescope.db.store import Unit
from themescope.jobs.common import labelled
from themescope.jobs.common.columns import is_list, waves_of
from themescope.jobs.services import tasks
from themescope.jobs.services.labelling import agreement
from themescope.jobs.services.labelling.agreement import GoldAnswer
from themescope.jobs.services.people import tidy
from themescope.jobs.services.samples import SAMPLE, ColumnKey, DrawnSample, SampleForm, samples_of
from themescope.jobs.services.tasks import TaskForm
from themescope.webapp.features.tasks import MESSAGE, NEW, TASK, VIEW
from themescope.webapp.shared import compare_queries, labelling, queries
from themescope.webapp.shared.choose import steps, study_steps
from themescope.webapp.shared.components import attempt, confirm, draw_table
from themescope.webapp.shared.labelling import PLANNED, PlannedSample, Task
from themescope.webapp.shared.navigation import page_link, set_parameter
from themescope.webapp.shared.people import UNNAMED, current_actor, current_person, may, shown
from themescope.webapp.shared.text import ago, count, plain, shorten, time_left, with_interval

_VERSION: dict[str | type[Any], Callable[[Any], Any]] = {
    Task: lambda task: (task.record.id, [(item.id, item.person, item.done) for item in task.items])
}
"""What identifies a task until items are added, given to others, done or taken back (``hash_funcs``)."""


@st.cache_data(show_spinner="Checking codes …", ttl=60, max_entries=32, hash_funcs=_VERSION)
def checks_of(task: Task) -> dict[str, Estimate | None]:
    """Return the checks of the people of a task. They take up to seconds, so that they are kept for a minute."""
    return agreement.checks(queries.store(), task.record.id)


@st.cache_data(show_spinner="Checking codes …", ttl=60, max_entries=32, hash_funcs=_VERSION)
def _told(task: Task, person: str) -> list[GoldAnswer]:
    """Return what the person may know of the gold sentences, kept like the checks."""
    return agreement.gold_answers(queries.store(), task.record.id, person)


def show_list(corpus: CorpusRecord) -> None:
    """Draw every task of the project with its progress; the person's next one has the primary button."""
    found, person = labelling.tasks(corpus.id), current_person()
    # The step that draws a sample is the button below.
    ahead = None if found else steps([one._replace(view=None) if one.page == "tasks" else one for one in study_steps()])
    following = next((task for task in found if task.record.closed is None and tasks.next_item(task.of(person))), None)
    if may(Right.MANAGE):
        later = following or (ahead and ahead.page != "tasks")
        st.button(
            "New task",
            icon=":material/add:",
            type="secondary" if later else "primary",
            on_click=open_view,
            args=("", NEW),
        )
    for task in found:
        with st.container(border=True, key=f"item-task-{task.record.id}"):
            _line(task, person, task is following)


def open_view(task: str, view: str = "") -> None:
    """Show a task, the form or, with two empty names, the list; for callbacks."""
    set_parameter(TASK, task)
    set_parameter(VIEW, view)


def _line(task: Task, person: str, following: bool) -> None:
    """Draw a task of the list: whose it is, how much of it has codes, and what this person does next."""
    record, own, now = task.record, task.of(person), datetime.now(UTC)
    state = tasks.due_state(record, own or task.items, now)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{plain(record.name)}**{f' :gray[· {state}]' if state else ''}", width="stretch")
        st.button(
            "Details",
            key=f"tasks_open_{record.id}",
            type="tertiary",
            icon=":material/chevron_right:",
            on_click=open_view,
            args=(record.name,),
        )
        if (
            record.closed is None
            and tasks.next_item(own) is not None
            and st.button(
                "Continue" if any(item.opened for item in own) else "Start",
                key=f"tasks_item_next_{record.id}",
                type="primary" if following else "secondary",
                icon=":material/play_arrow:",
                disabled=not may(Right.LABEL),
                help=None if may(Right.LABEL) else "You may view, but not code.",
            )
        ):
            labelling.open_task(record.id)
        if record.closed is not None:
            _agreement(record)
        elif (
            all(item.done for item in task.items)
            and current_actor().owns(record.person)
            and st.button(
                "Close task",
                key=f"tasks_close_{record.id}",
                type="secondary" if following else "primary",
                icon=":material/lock:",
                help="Everybody is done. Codes of others are shown to all when it is closed.",
            )
        ):
            _close(record)
    if own:
        units, done = sum(item.sentences for item in own), sum(item.sentences for item in own if item.done)
        (pace,) = tasks.progress([person], task.items)
        speed = ""
        if pace.seconds_per_sentence is not None and pace.remaining_s:
            speed = f" · {pace.seconds_per_sentence:.0f} s a unit · {time_left(pace.remaining_s)}"
        st.progress(done / units if units else 1.0, text=f"{labelling.counted(own)}{speed}")
    if others := [f"{one or UNNAMED}: {labelling.counted(task.of(one))}" for one in task.people if one != person]:
        st.caption(plain(" · ".join(others)))
    if own and record.instructions:
        st.text(record.instructions)
    if own and record.settings.get("tell"):
        found = checks_of(task).get(person)
        if found is not None:
            right = round(found.value * found.n)
            known = f"{right:,} of {count(found.n, 'unit')} with known codes are right"
            st.caption(f"{known}: {with_interval(found)}.")
        _answers(_told(task, person))


def _agreement(record: TaskRecord) -> None:
    view = {"scope": f"{compare_queries.TASK}{record.name}"}
    page_link("agreement", "Agreement", icon=":material/handshake:", view=view)


def _close(record: TaskRecord) -> None:
    """Close an open task, or open a closed one again."""
    close = record.closed is None
    _change(lambda w: w.tasks.close(record.id, close), f"{record.name} is {'closed' if close else 'open'}.")


def show_task(corpus: CorpusRecord, name: str) -> None:
    """Draw the details of a task: its sample, everybody's progress, checks, and what its maker may change."""
    task = next((one for one in labelling.tasks(corpus.id) if one.record.name == name), None)
    if task is None:
        show_list(corpus)
        return
    owns = current_actor().owns(task.record.person)
    record, settings = task.record, task.record.settings
    closed = record.closed is not None
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("All tasks", icon=":material/arrow_back:", type="tertiary", on_click=open_view, args=("",))
        st.subheader(plain(record.name), anchor=False)
        st.space("stretch")
        _agreement(record)
        if owns:
            change, delete = "Open again" if closed else "Close task", "Delete task …"
            chosen = st.menu_button("⋯", [change, delete], key=f"tasks_menu_{record.id}", help="More about this task")
            if chosen == change:
                _close(record)
            if chosen == delete:
                _confirm(task)
    state = tasks.due_state(record, task.items, datetime.now(UTC))
    due = f" · due {record.due:%d %B %Y}" if record.due else ""
    due += f" · **{state}**" if state else ""
    st.markdown(f"Made by {shown(record.person)} {ago(record.created)}{due} · {labelling.counted([*task.items])}")
    overlap = f"{settings['share']:.0%} of the items by {settings['several']} people" if settings["share"] else "none"
    blind = " · blind" if record.blind else ""
    st.caption(plain(f"Overlap: {overlap} · order: {settings['order']} · seed {settings['seed']}{blind}"))
    if SAMPLE in settings:
        sample = DrawnSample.from_json(settings[SAMPLE])
        st.caption(f":material/casino: {plain(sample.text())}")
        if sample.by is not None:
            with st.expander("Sampling probabilities", icon=":material/percent:"):
                rows = [
                    {sample.by[1]: value or "no value", "Could be drawn": n, "Drawn": k, "Probability": k / n}
                    for value, n, k in sample.strata
                ]
                draw_table(rows, column_config={"Probability": st.column_config.NumberColumn(format="%.4f")})
    _progress(task)
    if owns:
        _checks(task)
        _reassignment(task)


def _progress(task: Task) -> None:
    found = tasks.progress(task.people, task.items)
    quotas = [member.quota for member in task.members]
    limits = {"Quota": quotas} if any(quota is not None for quota in quotas) else {}
    counted = "Median over the items that are done. Items that stayed open for 30 minutes or more do not count."
    draw_table(
        {
            "Person": [one.person or UNNAMED for one in found],
            **limits,
            "Done": [round(100 * one.sentences_done / one.sentences) if one.sentences else 100 for one in found],
            "Units": [f"{one.sentences_done:,} of {one.sentences:,}" for one in found],
            "Seconds a unit": [one.seconds_per_sentence for one in found],
            "Remaining": [_remaining(one) for one in found],
            "Last unit": [ago(one.last) if one.last else "–" for one in found],
        },
        placeholder="–",
        column_config={
            "Done": st.column_config.ProgressColumn(format="%d %%", min_value=0, max_value=100),
            "Seconds a unit": st.column_config.NumberColumn(format="%.1f", help=counted),
        },
    )


def _remaining(one: tasks.TaskProgress) -> str:
    if one.items == one.done:
        return "done"
    return "–" if one.remaining_s is None else time_left(one.remaining_s)


def _checks(task: Task) -> None:
    found = checks_of(task) if any(item.done for item in task.items) else {}
    if not any(found.values()):
        return
    st.subheader("Checks", anchor=False)
    draw_table(
        {
            "Person": [person or UNNAMED for person in found],
            "Right on gold": [with_interval(share) for share in found.values()],
            "Gold units": [share.n if share else 0 for share in found.values()],
        }
    )


def _reassignment(task: Task) -> None:
    with st.expander("Give items to somebody else", icon=":material/swap_horiz:"):
        left, middle, right, last = st.columns([2, 2, 1, 1], vertical_alignment="bottom")
        named: dict[str, Any] = {"format_func": lambda person: person or UNNAMED}
        source = left.selectbox("From", task.people, key="tasks_reassign_from", **named) or ""
        target = middle.selectbox("To", task.people, index=None, key="tasks_reassign_to", **named)
        open_ones = [item for item in task.of(source) if item.done is None]
        most = max(len(open_ones), 1)
        number = right.number_input("Number", 1, most, most, key="tasks_reassign_most")
        ready = target is not None and target != source and open_ones
        if last.button("Give", icon=":material/swap_horiz:", key="tasks_reassign_give", disabled=not ready):
            ids, to = [item.id for item in open_ones[-int(number) :]], target or ""
            _change(lambda w: w.tasks.reassign(task.record.id, ids, to), f"Items given to {to or UNNAMED}.")
        st.caption(
            f"Items of {shown(source)} that are not done: {len(open_ones):,}. The last ones are given first; "
            "those that the other person has already stay."
        )
        left, right = st.columns([3, 1], vertical_alignment="bottom")
        wanted = tidy(left.text_input("New member", key="tasks_reassign_name", max_chars=200) or "")
        if right.button("Add", icon=":material/person_add:", key="tasks_reassign_add", disabled=not wanted):
            _change(lambda w: w.tasks.add_member(task.record.id, wanted), f"{wanted} is a member now.")


def _confirm(task: Task) -> None:
    def delete() -> bool:
        done = queries.write(lambda w: w.tasks.delete(task.record.id))
        if done:
            st.session_state[MESSAGE] = f"{task.record.name} was deleted."
        return done

    about = "with its items and their states will be deleted permanently. The codings of its people stay."
    confirm("Delete this task?", f"**{plain(task.record.name)}** {about}", "Delete task", delete)


def _change(change: Callable[[Unit], object], message: str) -> None:
    if queries.write(change):
        _done(message)


def _done(message: str) -> None:
    st.session_state[MESSAGE] = message
    st.rerun()


def _answers(found: Sequence[GoldAnswer]) -> None:
    """Draw the right codes of the gold sentences of items that are done, those of wrong answers first."""
    if not found:
        return
    texts = compare_queries.sentence_texts([answer.sentence for answer in found])
    with st.expander(f"Known codes ({sum(not answer.correct for answer in found)} of {len(found)} wrong)"):
        for answer in sorted(found, key=lambda answer: answer.correct):
            st.text(texts.get(answer.sentence, ""))
            said = f"Right: **{plain(answer.right)}**"
            st.markdown(said if answer.correct else f"You chose {plain(answer.given)}. {said}")
            if answer.explanation:
                st.caption(plain(answer.explanation))


# Form of a new task: which articles or sample, which people, how they share the items, and what they begin with

SAMPLED, EVERY, WAVES = "Random units", "All units", "Chosen waves"
FIRST, CHOSEN, RANDOM = "First articles", "Chosen articles", "Random articles"
"""What people code; of random units and articles the sampling probabilities are recorded."""
_ALLOCATIONS = {
    Allocation.PROPORTIONAL: "In proportion",
    Allocation.EQUAL: "The same number",
    Allocation.GIVEN: "Own numbers",
}
_MOST_VALUES = 40
"""Categories with more values get no number for each."""
NO_GOLD, NO_CODES = "No gold units", "No codes yet"
_LISTED = 2_000
_STYLE = """<style>
.st-key-tasks_form_units button, [data-testid="stExpander"] details:not([open]) > :not(summary) { display: none }
</style>"""


def show_form(corpus: CorpusRecord) -> None:
    """Draw the form: six fields, and everything else under More."""
    _plan_of_estimates(corpus)
    st.html(_STYLE)
    with st.container(width=720):
        st.button("All tasks", icon=":material/arrow_back:", type="tertiary", on_click=open_view, args=("",))
        left, right = st.columns([2, 1])
        free = queries.read(lambda r: r.tasks.usable_name("Sample"))
        name = left.text_input("Name", free, key=_key("name"), max_chars=180)
        which = st.session_state.get(_key("articles"), SAMPLED)
        given = st.session_state.get(_key("allocation")) is Allocation.GIVEN
        own = given and bool(st.session_state.get(_key("strata")))
        most = max(corpus.sentences, 1)
        number = right.number_input(
            "How many units",
            1,
            most,
            min(most, 100),
            key=_key("units"),
            disabled=which != SAMPLED or own,
            help="Drawn at random, so that shares can be estimated from them.",
        )
        names, everybody = _people()
        starts_with = _codebooks(corpus)
        left, right = st.columns([2, 1], vertical_alignment="bottom")
        chosen = left.selectbox("Codebook to start from", list(starts_with), key=_key("start"))
        blind = right.toggle("Blind", True, key=_key("blind"), help="Hides suggestions and other people's codes.")
        with st.expander("More", icon=":material/tune:"):
            articles, sample = _what(corpus, int(number))
            longest = 0
            if sample is None or sample.whole_articles:
                whole = "article" if not is_list(corpus) else "wave" if corpus.articles > 1 else "list"
                help = f"Longer {whole}s are cut into equal items of this many units. 0: no {whole} is cut."
                longest = st.number_input("Longest item", 0, 10_000, 0, 10, key=_key("longest"), help=help)
            plan = _plan(corpus, names, everybody, sample is not None)
            gold_id, gold_share, tell = _gold(corpus)
            due = st.date_input("Due date", value=None, key=_key("due"))
            instructions = st.text_area("Instructions", key=_key("instructions"), max_chars=20_000, height=100)
        ready = bool((name or "").strip()) and bool(articles or sample) and bool(names)
        start, start_id = starts_with[chosen or next(iter(starts_with))]
        if st.button(
            "Create task", type="primary", icon=":material/assignment_add:", disabled=not ready, key=_key("make")
        ):
            end = datetime.combine(due, time(23, 59), UTC) if due else None
            what = corpus.id, name or "", current_person(), tuple(articles), plan, longest, end, instructions or ""
            form = TaskForm(*what, bool(blind), start, start_id, gold_id, gold_share, tell, sample)
            with st.spinner("Distributing units …"):
                made = attempt(lambda: tasks.make(queries.store(), form))
            if made is not None:
                open_view("")
                _done(f"{made.name} was created.")
        if not ready:
            st.caption("A task needs a name, units and people.")


def _people() -> tuple[tuple[str, ...], bool]:
    """Choose who codes, and whether everybody codes all units."""
    known = [person.name for person in queries.read(lambda r: r.people.list())]
    offered = list(dict.fromkeys([current_person(), *known]))
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    people = left.multiselect(
        "Who",
        offered,
        format_func=lambda name: name or UNNAMED,
        key=_key("people"),
        accept_new_options=True,
        placeholder="Choose people, or type new names",
    )
    names = tuple(dict.fromkeys(name if name in known else tidy(name) for name in people))
    everybody = right.toggle(
        "Everybody codes all units",
        True,
        key=_key("everybody"),
        disabled=len(names) < 2,
        help="Off: the units are divided. The agreement of people needs units that several code.",
    )
    return names, everybody


def _codebooks(corpus: CorpusRecord) -> dict[str, tuple[str, int | None]]:
    """Return what people may begin with, first the codebook of the project: that of its newest coding with entries."""
    labellings = sorted(compare_queries.labellings(corpus.id), key=compare_queries.precedence)
    with queries.store().reading() as r:
        entries = {one.id: r.labellings.entries(one.id) for one in labellings}
    labellings.sort(key=lambda one: all(kind is not EntryKind.CODE for kind, _ in entries[one.id]))
    found: dict[str, tuple[str, int | None]] = {
        f"Codebook of {one.name}": (tasks.START_CLUSTERS, one.id) for one in labellings
    }
    found[NO_CODES] = tasks.START_NOTHING, None
    if corpus.has_sections:
        found["Sections"] = tasks.START_SECTIONS, None
    found |= {f"Themes: {one.name}": (tasks.START_RUN, one.run.id) for one in compare_queries.analyses(corpus.id)}
    return found | {f"Codes and units of {one.name}": (tasks.START_LABELLING, one.id) for one in labellings}


def _plan_of_estimates(corpus: CorpusRecord) -> None:
    """Enter the sample that the page Estimates has planned."""
    planned: PlannedSample | None = st.session_state.pop(PLANNED, None)
    if planned is None or planned.corpus_id != corpus.id:
        return
    entered: dict[str, object] = {"articles": SAMPLED, "new_only": True, "outside": planned.outside}
    if planned.column:
        entered |= {"strata": planned.column, "allocation": Allocation.GIVEN}
        entered |= {f"of_{planned.column}_{value}": number for value, number in planned.numbers.items()}
    else:
        entered["units"] = sum(planned.numbers.values())
    st.session_state.update({_key(name): value for name, value in entered.items()})


def _key(name: str) -> str:
    return f"tasks_form_{name}"


def _what(corpus: CorpusRecord, number: int) -> tuple[list[int], SampleForm | None]:
    """Choose which units; return the ids of the articles in their order, or else the sample."""
    options = [SAMPLED, EVERY, FIRST, CHOSEN, RANDOM]
    if is_list(corpus):
        options = [SAMPLED, EVERY, *([WAVES] if waves_of(corpus) else [])]
    left, right = st.columns(2, vertical_alignment="bottom")
    help = "Estimates of shares need random units or articles: the probabilities are recorded."
    which = left.selectbox("Which units", options, key=_key("articles"), help=help)
    if which == SAMPLED:
        return [], _sample(corpus, number)
    if which == WAVES:
        waves = dict(zip((a.id for a in queries.articles(corpus.id, limit=_LISTED)), waves_of(corpus), strict=False))
        chosen = right.multiselect("Waves", list(waves), format_func=lambda id: waves[id]["name"], key=_key("waves"))
        return [id for id in waves if id in chosen], None
    if which == CHOSEN:
        titles = {article.id: article.title for article in queries.articles(corpus.id, limit=_LISTED)}
        chosen = right.multiselect("Articles", list(titles), format_func=titles.__getitem__, key=_key("chosen"))
        if corpus.articles > _LISTED:
            st.caption(f"The list has the first {_LISTED:,} of {corpus.articles:,} articles.")
        return [id for id in titles if id in chosen], None
    ids = queries.read(lambda r: r.corpora.article_ids(corpus.id)).tolist()
    if which == EVERY:
        return ids, None
    most = right.number_input("Articles", 1, max(len(ids), 1), min(len(ids), 10), key=_key("number"))
    return (ids[: int(most)], None) if which == FIRST else ([], SampleForm(int(most), whole_articles=True))


def _sample(corpus: CorpusRecord, number: int) -> SampleForm:
    """Choose the strata and the restriction of a sample of units."""
    columns = {c.label: c for c in queries.columns(corpus) if c.type == ColumnType.CATEGORY}
    by, allocation, where = None, Allocation.PROPORTIONAL, None
    given: tuple[tuple[str, int], ...] = ()
    if columns:
        left, right = st.columns(2)
        help = "Draws from each value of the column, also from missing ones."
        strata = left.selectbox("Strata", list(columns), index=None, placeholder="none", key=_key("strata"), help=help)
        if strata:
            by = _column_key(columns[strata])
            titles = _ALLOCATIONS.__getitem__
            chosen = left.selectbox("Of each value", list(Allocation), format_func=titles, key=_key("allocation"))
            allocation = chosen or allocation
            if allocation is Allocation.GIVEN:
                given = _numbers(columns[strata])
        only = right.selectbox("Only where", list(columns), index=None, placeholder="all", key=_key("where"))
        values = right.multiselect("is", columns[only].categories, key=_key(f"values_{only}")) if only else []
        where = (_column_key(columns[only]), tuple(values)) if only and values else None
    new_only = outside = False
    if queries.read(lambda r: bool(samples_of(r, corpus.id))):
        help = "Samples of other tasks of this project, random articles included."
        new_only = st.checkbox("Leave out units of earlier samples", key=_key("new_only"), help=help)
        help = "Those that were added or corrected since, or had values that were left out."
        outside = st.checkbox("Only units that earlier samples could not have drawn", key=_key("outside"), help=help)
    if allocation is Allocation.GIVEN:
        st.caption(f"{sum(drawn for _, drawn in given):,} units in all.")
        number = 0
    return SampleForm(number, False, by, allocation, given, where, new_only, outside)


def _numbers(column: ColumnRecord) -> tuple[tuple[str, int], ...]:
    """Choose the number of units of each value of a column; it may be 0."""
    values = [*column.categories[:_MOST_VALUES], *([""] if column.about.get("missing") else [])]
    if len(column.categories) > _MOST_VALUES:
        most = f"{_MOST_VALUES} most frequent of {len(column.categories):,} values"
        st.caption(f"The {most}; nothing is drawn of others.")
    with st.container(horizontal=True, gap="small"):
        labels = {value: plain(shorten(value, 40)) or "no value" for value in values}
        keys = {value: _key(f"of_{column.label}_{value}") for value in values}
        return tuple((value, int(st.number_input(labels[value], 0, key=keys[value], width=160))) for value in values)


def _column_key(column: ColumnRecord) -> ColumnKey:
    return column.level.value, column.name


def _plan(corpus: CorpusRecord, names: tuple[str, ...], everybody: bool, random: bool) -> DistributionPlan:
    share, several = (100, len(names)) if everybody else (20, 2)
    first, second, third, last = st.columns(4, vertical_alignment="bottom")
    if len(names) > 1 and not everybody:
        help = "Share of the items that several people code. The reliability of people is estimated from them."
        share = third.number_input("Overlap (%)", 0, 100, 20, 10, key=_key("share"), help=help)
        several = last.number_input("People on each of them", 2, len(names), 2, key=_key("several"))
    orders = [Order.GIVEN, Order.RANDOM, *([Order.UNCERTAIN] if compare_queries.analyses(corpus.id) else [])]
    order = first.selectbox(
        "Order",
        orders,
        int(random),
        format_func=lambda one: one.value.capitalize(),
        key=_key("order_sample" if random else "order"),
        help="“Most uncertain first” needs themes to begin with.",
    )
    seed = second.number_input("Seed", 0, 1_000_000, 0, key=_key("seed"))
    share = share if len(names) > 1 else 0
    return DistributionPlan(names, share / 100, max(int(several), 2), order or Order.GIVEN, int(seed), _quotas(names))


def _quotas(names: tuple[str, ...]) -> dict[str, int]:
    """Choose the maximum number of items of each person; without one, there is no limit."""
    found: dict[str, int] = {}
    columns = st.columns(4) if names else []
    for place, name in enumerate(names):
        limit = columns[place % 4].number_input(
            f"Most for {plain(name or UNNAMED)}",
            0,
            100_000,
            value=None,
            placeholder="no limit",
            key=_key(f"quota_{name}"),
            help="Maximum number of items, without gold units.",
        )
        if limit is not None:
            found[name] = int(limit)
    return found


def _gold(corpus: CorpusRecord) -> tuple[int | None, float, bool]:
    records: dict[str, LabellingRecord | None] = {NO_GOLD: None}
    records |= {record.name: record for record in compare_queries.labellings(corpus.id)}
    left, right = st.columns(2)
    name = left.selectbox(
        "Gold codes", list(records), key=_key("gold"), help="Its gold units, or else all its codes, are taken as right."
    )
    chosen = records[name or NO_GOLD]
    if chosen is None:
        return None, 0.0, False
    help = "Share of the items with gold codes. Everybody gets them, spread over the list."
    share = right.number_input("Gold units (%)", 1, 100, 10, 5, key=_key("gold_share"), help=help)
    tell = st.toggle("Tell people how their codes of gold units compare", key=_key("tell"))
    with_training = queries.read(lambda r: len(labelled.gold_labels(r, chosen.id)))
    st.caption(f"{plain(chosen.name)} has {count(with_training, 'unit')} with gold codes.")
    return chosen.id, share / 100, bool(tell)
