"""Home: starting points, counts, results and recent activity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from themescope.core.errors import MissingExtraError
from themescope.core.records.stored import CorpusRecord, JobRecord, ModelRecord, ScoreRecord
from themescope.db.access import Right
from themescope.db.records import BenchmarkRecord
from themescope.jobs.common.importing.waves import is_list
from themescope.jobs.common.model_choice import LEAST_ARTICLES, articles_of
from themescope.jobs.services import pipeline
from themescope.jobs.services.installation import demo
from themescope.jobs.services.installation.demo import Sample
from themescope.webapp.shared import projects, queries
from themescope.webapp.shared.choose import method_title
from themescope.webapp.shared.components import clickable_table, draw_table
from themescope.webapp.shared.frame import pipeline_status
from themescope.webapp.shared.job_status import follow, no_worker
from themescope.webapp.shared.navigation import open_project, page_link, switch_page
from themescope.webapp.shared.people import may
from themescope.webapp.shared.queries import HEADLINE
from themescope.webapp.shared.results import compare_queries, partition_queries
from themescope.webapp.shared.results.partition_queries import Analysis
from themescope.webapp.shared.text import ago, count, plain, shorten, with_half_width


def gallery_of(known: Sequence[CorpusRecord]) -> None:
    """Draw the gallery, folded once there are projects."""
    with st.expander("Sample projects", icon=":material/collections_bookmark:", expanded=not known):
        working, names = pipeline.working(queries.store()), {corpus.name for corpus in known}
        for column, sample in zip(st.columns(len(demo.SAMPLES)), demo.SAMPLES, strict=True):
            with column, st.container(border=True, height="stretch", gap="xsmall"):
                _card(sample, built=sample.name in names, working=sample.name in working)


def _card(sample: Sample, built: bool, working: bool) -> None:
    st.markdown(f"**{plain(sample.name)}**")
    st.markdown(plain(sample.about))
    st.caption(plain(sample.licence))
    with st.container(vertical_alignment="bottom", height="stretch"):
        if built:
            page_link("map", "Open the map", view={"corpus": sample.name}, key=f"gallery-open-{sample.name}")
        elif working:
            st.caption(":material/autorenew: being built")
        elif may(Right.MANAGE):
            build = st.button("Build", key=f"gallery-{sample.name}", icon=":material/play_arrow:")
            if build and follow(lambda: demo.build_sample(queries.store(), sample)):
                st.rerun()


# --- page -------------------------------------------------------------------------------------------------------------


_NEWEST = 5


def starting_points(active: Sequence[JobRecord]) -> None:
    """Draw three starting points."""
    shown = projects.current()
    where = {"corpus": shown.name} if shown else {}
    for column, start in zip(st.columns(3), (_first_start(shown, bool(active)), *_OTHERS), strict=True):
        with column, st.container(border=True, height="stretch"):
            st.subheader(f":primary[{start.icon}] {start.title}", anchor=False)
            st.markdown(start.about)
            with st.container(vertical_alignment="bottom", height="stretch", gap="xxsmall"):
                if st.button(start.label, type="primary" if start.first else "secondary", width="stretch"):
                    if not start.build:
                        switch_page(start.page, {**where, **start.query})
                    elif _queue_demo():
                        st.rerun()
                page_link(start.other, start.other_label, icon="")


def _queue_demo() -> bool:
    try:
        demo.seed_demo(queries.store())
    except MissingExtraError as error:
        st.error(plain(error), icon=":material/error:")
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Start:
    title: str
    icon: str
    about: str
    label: str
    page: str
    other_label: str
    other: str
    first: bool = False
    build: bool = False
    """The button builds the demo instead of opening a page."""
    query: dict[str, str] = field(default_factory=dict)


def _first_start(shown: CorpusRecord | None, working: bool) -> _Start:
    """Return the way into a corpus; without one, into the demo, which is being built or offered."""
    about = (
        "A sample of Wikipedia, imported, clustered and projected by the same jobs as your own texts. "
        "Lasso sentences on the map to read them."
    )
    icon, compare = ":material/explore:", ("Compare methods", "compare")
    if shown is not None and not shown.has_sections:
        compare = "Read the themes", "themes"
    if shown is not None and partition_queries.labellings(shown.id):
        compare = "Estimate shares of codes", "estimates"
    if shown is not None:
        is_demo, read = shown.name == demo.CORPUS, f"{shown.unit.value}s" if is_list(shown) else "articles"
        start = ("Open the map", "map") if queries.maps(shown.id) else (f"Read the {read}", "corpora")
        title = "Explore the demo" if is_demo else f"Explore {plain(shorten(shown.name, 24))}"
        what = count(shown.sentences, shown.unit.value)
        what = what if is_list(shown) else f"{count(shown.articles, 'article')} with {what}"
        text = about if is_demo else f"{what}. Read them, or lasso some on the map."
        return _Start(title, icon, text, *start, *compare, first=True)
    if working:
        watch = ("Follow its jobs", "jobs")
        return _Start("The demo is being built", icon, about, *watch, *compare, first=True)
    build = ("Build the demo", "jobs")
    return _Start("Start with the demo", icon, about + " It takes a few minutes.", *build, *compare, True, True)


_OTHERS = (
    _Start(
        "Import files",
        ":material/library_add:",
        "Tables, Word and PDF documents, interviews, subtitles, Wikipedia dumps, and projects of other programs.",
        "Import files",
        "corpora",
        "Search all projects",
        "search",
        query={"view": "Import"},
    ),
    _Start(
        "Cluster my sentences",
        ":material/bubble_chart:",
        "Paste or upload a list of sentences. Themescope suggests the number of themes, names them and assigns "
        "every sentence.",
        "Find themes",
        "themes",
        "Import a text file instead",
        "corpora",
        query={"view": "New list"},
    ),
)


def totals(shown: CorpusRecord, found: Sequence[Analysis]) -> None:
    """Draw the numbers of what the project has."""
    listed = {} if is_list(shown) else {"Articles": shown.articles}
    units = {f"{shown.unit.value}s".capitalize(): shown.sentences}
    made = {
        "Themes": len(found[0].themes) if found else 0,
        "Maps": len(queries.maps(shown.id)),
        "Labellings": len(partition_queries.labellings(shown.id)),
    }
    with st.container(horizontal=True):
        for name, number in (listed | units | made).items():
            if number:
                st.metric(name, f"{number:,}", border=True)


_text = st.column_config.TextColumn


def _table(heading: str, columns: Mapping[str, Sequence[Any]], empty: str, **config: Any) -> None:
    """Draw a table with its heading; ``config`` is that of columns by their titles."""
    st.markdown(f"**{heading}**")
    if any(columns.values()):
        draw_table(columns, column_config=config)
    else:
        st.caption(empty)


def themes_table(found: Sequence[Analysis]) -> None:
    """Draw the largest themes of the newest result of the project."""
    largest = found[0].themes[:_NEWEST] if found else []
    columns = {
        "Theme": [theme["name"] for theme in largest],
        "Sentences": [theme["size"] for theme in largest],
    }
    _table("Largest themes", columns, "No themes yet. They follow an import by themselves.", Theme=_text(width=300))
    if found:
        page_link("themes", f"All {count(len(found[0].themes), 'theme')}", view={"result": found[0].name})


def results_table() -> None:
    """Draw the methods with the highest scores on the newest benchmark of the project, one of enough articles first."""
    for benchmark in queries.clustered_benchmarks(projects.current_id()):
        methods = compare_queries.methods(benchmark)
        scores = compare_queries.means(methods, [HEADLINE])
        found = [(m, row[HEADLINE]) for m, row in zip(methods, scores, strict=True) if HEADLINE in row]
        if found:
            best = sorted(found, key=lambda row: row[1].value, reverse=True)[:_NEWEST]
            columns = {
                "Model": [method.model for method, _ in best],
                "Clusterer": [method.clusterer for method, _ in best],
                "AMI": [with_half_width(score) for _, score in best],
            }
            help = "± is half the width of the 95 % bootstrap interval over articles."
            widths = {"Model": _text(width=188), "Clusterer": _text(width=165), "AMI": _text(width=90, help=help)}
            _table(f"Results on {plain(benchmark.name)}", columns, "", **widths)
            st.caption(verdict(benchmark, [(method.name, score) for method, score in best]))
            page_link("compare", "All methods", view={"benchmark": benchmark.name})
            return
    _table("Results", {}, "No results yet. They appear here once a benchmark has been run.")


def verdict(benchmark: BenchmarkRecord, best: Sequence[tuple[str, ScoreRecord]]) -> str:
    """Return which of the methods, best first, is the best one, or why that cannot be said."""
    articles = articles_of(benchmark)
    if articles < LEAST_ARTICLES:
        return f"{count(articles, 'article')}: too few to name a best method (at least {LEAST_ARTICLES})."
    name, first = best[0]
    rest = [score for _, score in best[1:]]
    if first.low is None or not rest:
        return f"{count(articles, 'article')}."
    close = [score for score in rest if score.value >= first.low]
    if close:
        return f"The first {len(close) + 1} are not significantly different ({count(articles, 'article')})."
    return f"Best: {plain(name)} ({count(articles, 'article')}; its 95 % interval excludes the next mean)."


def models_table(found: Sequence[ModelRecord]) -> None:
    """Draw the newest models."""
    newest = sorted(found, key=lambda m: m.created, reverse=True)[:_NEWEST]
    columns = {
        "Model": [m.name for m in newest],
        "Method": [method_title(m.method) for m in newest],
        "Created": [ago(m.created) for m in newest],
    }
    _table("Models", columns, "No model yet. Train one on the Train page; “Mean of word vectors” takes seconds.")
    if newest:
        page_link("train", "All models", view={"view": "Models"})


def projects_table(found: Sequence[CorpusRecord]) -> None:
    """Draw the projects that were used last; a click opens one."""
    st.markdown("**Projects**")
    if not found:
        st.caption("No project yet. Import texts, or wait for the demo.")
        page_link("corpora", "New project", icon=":material/add:", view={"view": "Import"})
        return
    latest, times = projects.by_activity(found)[:_NEWEST], projects.last_activity(found)
    clickable_table(
        {
            "Project": [c.name for c in latest],
            "Articles": [c.articles for c in latest],
            "Sentences": [c.sentences for c in latest],
            "Last activity": [ago(times[c.id]) for c in latest],
        },
        "home_projects",
        lambda row: open_project(latest[row].name),
        column_config={"Project": _text(width=150)},
    )
    with st.container(horizontal=True):
        page_link("corpora", "New project", icon=":material/add:", view={"view": "Import"})
        page_link("corpora", "All projects", view={"view": "All projects"})


def recent_activity(ended: Sequence[JobRecord]) -> None:
    """Draw the jobs that ended last."""
    newest = sorted(ended, key=lambda j: j.ended or j.created, reverse=True)[:_NEWEST]
    columns = {
        "Job": [j.title.removesuffix(f" by “{j.args.get('model')}”") for j in newest],
        "Status": [j.status.value for j in newest],
        "Ended": [ago(j.ended or j.created) for j in newest],
    }
    _table("Recent activity", columns, "No finished jobs yet.", Job=_text(width=330))
    if newest:
        page_link("jobs", "All jobs")


_POLL_S = 2.0

st.caption("Find the themes of sentences, name and correct them, and measure what they say.")
known = queries.fingerprint()


@st.fragment(run_every=_POLL_S)
def changes() -> None:
    """Rerun the page when corpora, models, runs or maps have changed; say if no worker is running."""
    if queries.fingerprint() != known:
        st.rerun()
    if not queries.worker_alive():
        no_worker(len(queries.active_jobs()))


changes()
pipeline_status.watch(projects.current())
corpora, jobs, project = queries.corpora(), queries.jobs(), projects.current()
starting_points([job for job in jobs if not job.status.ended])
gallery_of(corpora)
analyses = partition_queries.analyses(project.id) if project else []
if project:
    totals(project, analyses)
left, right = st.columns([10, 11.4], gap="small")
with left:
    if projects.has_sections():
        results_table()
    else:
        themes_table(analyses)
    projects_table(corpora)
with right:
    if projects.has_sections():
        models_table(queries.models())
    recent_activity([job for job in jobs if job.status.ended])
