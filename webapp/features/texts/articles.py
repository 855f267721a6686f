"""List of texts, and the reader of a text; the import report of a project."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from themescope.core.columns import ColumnLevel, ColumnType, as_text
from themescope.core.labelling.operations import Origin
from themescope.core.readers.table import SENTENCES
from themescope.core.records.stored import (
    ArticleRecord,
    ColumnRecord,
    CorpusEditRecord,
    CorpusRecord,
    EditKind,
    JobRecord,
    JobStatus,
)
from themescope.core.tasks.themes import FEWEST
from themescope.core.text.languages import UNSPACED, frequent, language_name, shares_text
from themescope.core.types import PARTS, CodingUnit, ReadEntry, SectionRecord, Sentence, Value
from themescope.db.access import Right
from themescope.jobs.common.columns import is_list, is_table, places_of, waves_of
from themescope.jobs.common.files import safe_name
from themescope.jobs.common.models import REPORTED, corpus_shares, splitting_language
from themescope.jobs.kinds import bundles
from themescope.jobs.services import corpus_edits, pipeline
from themescope.jobs.services.corpus_edits import IMPORTED_DIGEST, REMOVED_WAVES
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features import texts as state
from themescope.webapp.shared import compare_queries, forms, queries, selections
from themescope.webapp.shared.choose import closed, nothing
from themescope.webapp.shared.compare_queries import LEAD, Analysis
from themescope.webapp.shared.components import confirm, download, draw_component, draw_table, succeeds, toast_error
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.job_status import follow, progress, submit
from themescope.webapp.shared.labelling import correct_button
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.people import current_person, may, polled
from themescope.webapp.shared.text import ago, count, plain, shorten

# Clustering of the article that is read with the links to the result, and the columns of a corpus


class Clusters(NamedTuple):
    """Clusters as the reader shows them."""

    of: dict[int, int]
    """Sentence id → number of its cluster, from 0."""
    legend: list[dict[str, Any]]
    """Name, colour and number of sentences of each cluster."""


NO_CLUSTERS = Clusters({}, [])


def actions(corpus: CorpusRecord, article: ArticleRecord, sentences: Sequence[Sentence]) -> Clusters:
    """Draw the button, its job, and what can be done with the clusters; return the clusters to show."""
    running = _running(article)  # before the clusters: what has ended meanwhile is stored
    found = compare_queries.article_clusters(article.id)
    if running:
        polled(1.0)(_live)(article, tuple(job.id for job in running))
    if found:
        return _result(corpus, article, found[0], bool(running))
    # A table has its themes on the page Themes.
    if not running and len(sentences) >= FEWEST and may(Right.MANAGE) and not is_table(corpus):
        with st.container(horizontal=True, vertical_alignment="center"):
            key = f"texts_cluster_{article.id}"
            clicked = st.button("Find themes in this text", icon=":material/bubble_chart:", type="primary", key=key)
            ordered = st.toggle(
                "Use the order of the sentences",
                value=True,
                key=f"texts_cluster_ordered_{article.id}",
                help="In a running text, neighbouring sentences often share a theme. Rows of a list have no order.",
            )
        if clicked and follow(lambda: [pipeline.cluster_article(queries.store(), corpus, article, ordered)]):
            st.rerun()
    return NO_CLUSTERS


def _running(article: ArticleRecord) -> list[JobRecord]:
    active = queries.active_jobs(("find-themes", "project"))
    return [job for job in active if article.id in (job.args.get("article"), *job.args.get("articles", ()))]


def _live(article: ArticleRecord, known: tuple[int, ...]) -> None:
    running = _running(article)
    if tuple(job.id for job in running) != known:
        st.rerun()
    for job in running:
        progress(job)


def _result(corpus: CorpusRecord, article: ArticleRecord, analysis: Analysis, running: bool) -> Clusters:
    with st.container(horizontal=True, vertical_alignment="center"):
        label = f"Show {count(len(analysis.themes), 'theme')}"
        shown = st.toggle(label, value=True, key=f"texts_show_clusters_{analysis.run.id}")
        order = " · uses the order of the sentences" if analysis.run.found["settings"].get("order") else ""
        st.caption(f"by {plain(analysis.model.name)}{order}", width="content")
        st.space("stretch")
        correct_button("Open in Code", analysis, article.id)
        found = [
            record
            for record in queries.maps(corpus.id)
            if article.id in record.articles
            or (not record.articles and int(record.config.get("limit", 0)) >= corpus.sentences)
        ]
        record = min(found, key=lambda record: record.model_id != analysis.model.id, default=None)
        if record is not None:
            of = {"corpus": corpus.name, "map": record.name, "articles": article.title}
            page_link("map", "Show on the map", view={**of, "colour": analysis.colour_name})
        elif not running and may(Right.MANAGE):
            args = {"corpus": corpus.name, "model": analysis.model.name, "articles": [article.id]}
            if st.button("Draw a map", icon=":material/scatter_plot:", type="tertiary") and submit(
                "project", args, f"Draw the map of “{article.title}”"
            ):
                st.rerun()
    if not shown:
        return NO_CLUSTERS
    listed = compare_queries.theme_listing(analysis.run.id, analysis.run.created)
    shades = tones(st.context.theme.type)
    legend = [
        {"name": theme["name"], "size": theme["size"], "colour": shades.colour(number)}
        for number, theme in enumerate(analysis.themes)
    ]
    return Clusters(dict(zip(listed.ids.tolist(), listed.labels.tolist(), strict=True)), legend)


_VALUES = 3
_ASSETS = Path(__file__).parent / "assets"


def overview(corpus: CorpusRecord) -> None:
    """Draw the columns of a corpus with their types, missing values and ranges; nothing if it has none."""
    found = queries.columns(corpus)
    if not found:
        return
    st.markdown("**Columns**")
    draw_table(
        {
            "Column": [column.name for column in found],
            "Of": ["unit" if column.level is ColumnLevel.SENTENCE else "text" for column in found],
            "Type": [column.type for column in found],
            "Missing": [int(column.about.get("missing", 0)) for column in found],
            "Values": [_range(column) for column in found],
        },
        column_config={"Values": st.column_config.TextColumn(width="large")},
    )


def _range(column: ColumnRecord) -> str:
    about = column.about
    if column.type == ColumnType.CATEGORY:
        named = zip(column.categories[:_VALUES], about["counts"], strict=False)
        more = len(column.categories) - _VALUES
        listed = [f"{shorten(name, 40)} ({number:,})" for name, number in named]
        return ", ".join([*listed, f"{more:,} more"] if more > 0 else listed)
    if "low" not in about:
        return ""
    if column.type == ColumnType.NUMBER:
        return f"{about['low']:,.6g} … {about['high']:,.6g}"
    return f"{about['low'][:10]} … {about['high'][:10]}"


def of_article(corpus: CorpusRecord, article: ArticleRecord, sentences: Sequence[Sentence]) -> None:
    """Draw the values of an article, and in an expander those of its sentences."""
    values = queries.article_values(corpus, article.id)
    if values:
        shown = [f"{plain(name)}: **{plain(shorten(shown_value(value), 120))}**" for name, value in values.items()]
        st.markdown(" · ".join(shown))
    columns = [c for c in queries.columns(corpus) if c.level is ColumnLevel.SENTENCE]
    if not columns:
        return
    with st.expander("Columns of the units", icon=":material/view_column:"):
        listed = sentences[:500]
        ids = np.array([sentence.id for sentence in listed], dtype=np.int64)
        cells = {c.name: [shown_value(value) for value in queries.plain_column(c, ids, ids)] for c in columns}
        draw_table({"Unit": [s.text for s in listed]} | cells, height=280)
        if len(sentences) > len(listed):
            st.caption(f"The first {len(listed):,} of {len(sentences):,} units.")


def shown_value(value: Value) -> str:
    """Return a value as text; a time at the beginning of a day as its date."""
    text = as_text(value)
    return text.removesuffix("T00:00:00+00:00") if isinstance(value, datetime) else text


def reader_data(
    sections: Sequence[SectionRecord], sentences: Sequence[Sentence], clusters: Clusters, query: str, focus: int
) -> dict[str, Any]:
    """Return the data of the component: sections with paragraphs of sentences.

    Matches of ``query`` are highlighted, and the sentence ``focus`` is scrolled into view, else the first match.
    """

    def shown(sentence: Sentence) -> dict[str, Any]:
        found: dict[str, Any] = {"text": sentence.text}
        found |= {"focus": True} if sentence.id == focus else {}
        return found | ({"cluster": clusters.of.get(sentence.id, -1)} if clusters.legend else {})

    by_section: dict[int, list[list[dict[str, Any]]]] = {}
    for (section, _), group in groupby(sentences, key=lambda s: (s.section, s.paragraph)):
        by_section.setdefault(section, []).append([*map(shown, group)])
    parts = [{"title": s.title, "level": s.level, "paragraphs": by_section.get(s.position, [])} for s in sections]
    return {"sections": parts, "query": query, "legend": clusters.legend}


_LISTED = 500
_PART = 1_000
"""Most sentences of a text that are sent to the browser at once."""
_UNSPACED_NOTE = (
    "words are not separated by spaces. Chinese and Japanese sentences are split, and themes are named by pairs of "
    "characters. Thai, Lao, Khmer and Burmese text is split only at line breaks and spaces. Word overlap and tf-idf "
    "find little; use a multilingual model."
)


def report(corpus: CorpusRecord) -> None:
    """Draw the import settings of a corpus and the counts of skipped items by reason."""
    if not corpus.report.get(REPORTED):
        st.caption(f"Language: {plain(language_name(corpus.language))}, as stated at the import.")
    else:
        shares = corpus_shares(corpus)
        st.markdown(f"**Languages:** {plain(shares_text(shares))}")
        main = splitting_language(shares)
        listed = corpus.report.get("settings", {}).get("rows") == SENTENCES
        if main != corpus.language and not listed and corpus.unit is CodingUnit.SENTENCE:
            st.warning(
                f"Sentences were split by the rules of {plain(language_name(corpus.language))}. Import the files again "
                f"with the language {plain(language_name(main))}.",
                icon=":material/translate:",
            )
        if unspaced := [code for code in frequent(shares) if code in UNSPACED]:
            st.info(f"{plain(language_name(unspaced[0]))}: {_UNSPACED_NOTE}", icon=":material/translate:")
    counted = {name: _counts(corpus.report.get(name)) for name in ("skipped", "changed")}
    apart = (*counted, REPORTED, REMOVED_WAVES, IMPORTED_DIGEST)
    rest = {key: value for key, value in corpus.report.items() if key not in apart and value}
    totals = {name: sum(reasons.values()) for name, reasons in counted.items()}
    stored = count(corpus.sentences, "unit") + ("" if is_list(corpus) else f" in {count(corpus.articles, 'text')}")
    st.markdown(f"{stored} stored, {count(totals['skipped'], 'part')} left out, {totals['changed']:,} changed.")
    entries = queries.read(lambda r: r.corpora.entries(corpus.id))
    rows = [
        (name.capitalize(), reason, number, _first_places(entries, name == "changed", reason))
        for name, reasons in counted.items()
        for reason, number in reasons.items()
    ]
    if rows:
        draw_table(dict(zip(("What", "Reason", "Count", "First places"), zip(*rows, strict=True), strict=True)))
    if entries:
        listed = [("changed" if e.change else "skipped", e.reason, e.place, e.text) for e in entries]
        download(
            f"All {count(len(entries), 'place')} (CSV)",
            lambda: csv_text(("what", "reason", "place", "text"), listed),
            f"{corpus.name} skipped.csv",
        )
    if rest:
        with st.expander("Import settings", icon=":material/tune:"):
            forms.facts_table(rest)
    overview(corpus)
    _topics(queries.topic_counts(corpus.id, corpus.created))


def _topics(counts: Mapping[tuple[str, str], int]) -> None:
    topics = sorted({topic for topic, _ in counts}, key=lambda t: (t == "", t))
    if any(topics):
        st.markdown("**Topics**")
        names = {"train": "Train", "test": "Test", "": "No split"}
        parts = [part for part in PARTS if any(p == part for _, p in counts)]
        clusters = {names[part]: [counts.get((topic, part), 0) for topic in topics] for part in parts}
        draw_table({"Topic": [topic or "none" for topic in topics], **clusters})


def _first_places(entries: Sequence[ReadEntry], change: bool, reason: str) -> str:
    found = [entry for entry in entries if (entry.change, entry.reason) == (change, reason)][:3]
    return "; ".join(f"{entry.place}: {shorten(entry.text, 60)}".strip(": ") for entry in found)


def _counts(value: Any) -> dict[str, int]:
    return {str(k): int(v) for k, v in value.items() if v} if isinstance(value, Mapping) else {}


def browse(corpus: CorpusRecord, menu: Callable[[], None]) -> None:
    """Draw search and titles on the left, and the text on the right; the only text of a project alone.

    Above them is the newest edit that was not undone.
    """
    edits = [edit for edit in queries.read(lambda r: r.corpus_edits.list(corpus.id)) if edit.undone is None]
    if edits and may(Right.MANAGE):
        _draw(corpus, edits[-1])
    if corpus.articles == 1:
        _show(corpus, queries.articles(corpus.id, limit=1)[0], menu)
        return
    side, main = st.columns([1, 3], gap="medium")
    with side:
        search = st.text_input(
            "Find a text",
            key=state.SEARCH,
            bind="query-params",
            placeholder="part of a title",
            icon=":material/search:",
            label_visibility="collapsed",
        )
        total = queries.read(lambda r: r.corpora.count_articles(corpus.id, search=search))
        found = queries.articles(corpus.id, search, limit=_LISTED)
        more = f"Showing {_LISTED} of " if total > _LISTED else ""
        st.caption(f"{more}{count(total, 'text')}" + (" found" if search else ""))
        chosen = _listed(corpus, found) if found else None
    with main:
        if chosen is not None:
            _show(corpus, chosen, menu)
            return
        nothing("No text matches.", "Try a shorter search term.")
        menu()


def _listed(corpus: CorpusRecord, found: Sequence[ArticleRecord]) -> ArticleRecord:
    """Draw the titles; return the text of the address or the one that was clicked, at first the first."""
    wanted = st.query_params.get(state.ARTICLE, "")
    event = st.dataframe(
        pd.DataFrame({"Text": [a.title for a in found]}),
        hide_index=True,
        height=min(500, 35 * (len(found) + 1) + 2),  # of rows of 35 pixels
        on_select="rerun",
        selection_mode="single-cell",
        key=f"texts_articles_{corpus.id}-{hash(tuple(a.id for a in found))}",
    )
    if cells := event["selection"]["cells"]:
        clicked = found[cells[0][0]]
        if wanted != clicked.title:
            st.query_params.pop(state.SENTENCE, None)
        st.query_params[state.ARTICLE] = clicked.title
        return clicked
    if focus := _wanted_sentence():  # several articles may have the same title
        for sentence in queries.sentences(np.array([focus])).values():
            for article in queries.articles_by_id(np.array([sentence.article_id])).values():
                if (article.corpus_id, article.title) == (corpus.id, wanted):
                    return article
    named = next((a for a in found if a.title == wanted), None)
    return named or (queries.article_titled(corpus.id, wanted) if wanted else None) or found[0]


def _show(corpus: CorpusRecord, article: ArticleRecord, menu: Callable[[], None]) -> None:
    sections, sentences = queries.article_text(article.id, corpus.created)
    plain_list = is_list(corpus)
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        st.header(plain(corpus.name if plain_list and corpus.articles == 1 else article.title), anchor=False)
        st.space("stretch")
        edit_menu(corpus, article, sentences, _wanted_sentence())
        menu()
    with st.container(horizontal=True, vertical_alignment="center"):
        if not plain_list:
            st.badge(article.split.value, color="gray", help="The split depends only on the title")
        if article.topic:
            origin = f", in the {article.part} part of its source" if article.part else ""
            st.badge(plain(article.topic), color="primary", help=f"Topic given by the source{origin}")
        parts = "" if plain_list else f"{count(article.sections, 'section')}, "
        st.caption(parts + count(article.sentences, "unit"), width="content")
        if article.url.startswith(("https://", "http://")):
            st.link_button("Source", article.url, icon=":material/open_in_new:", type="tertiary")
        st.space("stretch")
        typed = st.text_input(
            "Find in text", key="texts_find_in_text", placeholder="find in text", label_visibility="collapsed"
        )
        inside = (typed or "").strip()
        _selectable(corpus, article, sections, sentences, inside)
    of_article(corpus, article, sentences)
    clusters = actions(corpus, article, sentences)
    units = _part(corpus, article, sentences, inside)
    drawn = {unit.section for unit in units}
    shown = sections if len(units) == len(sentences) else [s for s in sections if s.position in drawn]
    data = reader_data(shown, units, clusters, inside, _wanted_sentence())
    draw_component("reader", _ASSETS, data=data, key="texts_reader")


def _part(corpus: CorpusRecord, article: ArticleRecord, sentences: list[Sentence], inside: str) -> list[Sentence]:
    """Return what is drawn: all of a text, or of a long one a part, at first that of the sentence in the address."""
    if len(sentences) > _PART and inside:
        found = {*queries.read(lambda r: r.corpora.sentences_with(corpus.id, inside)).tolist()}
        sentences = [sentence for sentence in sentences if sentence.id in found]
    if len(sentences) <= _PART:
        return sentences
    focus, key, parts = _wanted_sentence(), f"texts_part_{article.id}", -(-len(sentences) // _PART)
    if st.session_state.get(f"{key}_of") != (inside, focus):
        place = next((place for place, sentence in enumerate(sentences) if sentence.id == focus), 0)
        st.session_state[key], st.session_state[f"{key}_of"] = place // _PART + 1, (inside, focus)
    st.session_state[key] = min(st.session_state[key], parts)  # the text may have become shorter
    with st.container(horizontal=True, vertical_alignment="bottom"):
        number = int(st.number_input("Part", 1, parts, key=key, width=140))
        start, end = (number - 1) * _PART, min(number * _PART, len(sentences))
        st.caption(f"Units {start + 1:,} to {end:,} of {len(sentences):,}{' found' if inside else ''}")
    return sentences[start:end]


def _selectable(
    corpus: CorpusRecord,
    article: ArticleRecord,
    sections: Sequence[SectionRecord],
    sentences: Sequence[Sentence],
    inside: str,
) -> None:
    opened = st.popover("Select", icon=":material/select_all:", key="texts_selectable", on_change="rerun")
    if not opened.open:
        return
    with opened:
        if inside:
            everywhere = queries.read(lambda r: r.corpora.sentences_with(corpus.id, inside))
            here = np.intersect1d(everywhere, [s.id for s in sentences])
            for ids, where in ((here, f"in {article.title}"), (everywhere, "in the project")):
                origin = Origin("search", (f"search “{inside}”", where))
                selections.offer_button(f"Select {len(ids):,} found {plain(where)}", corpus.id, ids.tolist, origin)
        every, whole = [s.id for s in sentences], Origin("article", (article.title,))
        if is_list(corpus):
            selections.offer_button(f"Select all ({len(every):,})", corpus.id, lambda: every, whole)
            return
        titles = {s.position: s.title or LEAD for s in sections}
        position = st.selectbox("Section", list(titles), format_func=titles.__getitem__, key="texts_selected_section")
        own = [s.id for s in sentences if s.section == position]
        origin = Origin("section", (f"section {titles[position]}", article.title))
        selections.offer_button(f"Select section ({len(own):,})", corpus.id, lambda: own, origin)
        selections.offer_button(f"Select text ({len(every):,})", corpus.id, lambda: every, whole)


def _wanted_sentence() -> int:
    """Return the id of the sentence in the address; 0 for none."""
    text = st.query_params.get(state.SENTENCE, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0


# Removal of waves and articles, correction of texts, and their history with undo

_LEAVE = (
    "They leave maps, themes, search, tables, codings and estimates; triplets, benchmarks and collected errors "
    "keep them. You can undo this: the codes come back, too."
)


def edit_menu(corpus: CorpusRecord, article: ArticleRecord, sentences: Sequence[Sentence], wanted: int) -> None:
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
            remove = partial(corpus_edits.remove_articles, queries.store(), corpus.id, [article.id], current_person())
            confirm("Remove this text?", about, "Remove", lambda: _done(remove))
        if wave is not None and st.button(f"Remove {plain(wave)} …", icon=":material/layers_clear:", type="tertiary"):
            total = sum(w["sentences"] for w in waves_of(corpus) if w["name"] == wave)
            about = f"**{plain(wave)}** with {count(total, 'unit')}. {_LEAVE}"
            confirm(
                "Remove this wave?",
                about,
                "Remove",
                lambda: _done(lambda: corpus_edits.remove_wave(queries.store(), corpus.id, wave, current_person())),
            )


def _done(change: Callable[[], CorpusEditRecord]) -> bool:
    """Make a change and tell of it, or of its error; return whether it was made."""

    def tell() -> None:
        edit = change()
        kept = "stay" if edit.kind is EditKind.TEXT else "left with it"
        labels = f" {count(edit.labels, 'label')} {kept}." if edit.labels else ""
        what = plain(shorten(edit.summary, 160))
        said = f"{what[:1].upper()}{what[1:]}.{labels} The button Undo is above the text."
        st.toast(said, icon=":material/done:", duration="long")

    return succeeds(tell)


def _correction(corpus: CorpusRecord, sentences: Sequence[Sentence], wanted: int) -> None:
    by_id = {s.id: s for s in sentences}
    chosen = st.selectbox(
        corpus.unit.value.capitalize(),
        list(by_id),
        index=list(by_id).index(wanted) if wanted in by_id else 0,
        format_func=lambda id: shorten(by_id[id].text, 80),
        key=f"texts_edit_sentence_{wanted}",
        help="Type to search.",
    )
    text = st.text_area("Corrected text", by_id[chosen].text, key=f"texts_edit_text_{chosen}")

    def save() -> None:
        _done(lambda: corpus_edits.correct_text(queries.store(), corpus.id, chosen, text, current_person()))

    st.button(
        "Correct text",
        type="primary",
        icon=":material/check:",
        disabled=text.split() == by_id[chosen].text.split(),
        on_click=save,
        help="Labels stay. Vectors are computed anew with the next map or themes.",
    )


def history(corpus: CorpusRecord) -> None:
    """Draw what was removed and corrected, newest first, each with a button that undoes it; admins only."""
    edits = queries.read(lambda r: r.corpus_edits.list(corpus.id))[::-1]
    if not edits:
        nothing("No edits since the import.", "Texts that are corrected or removed are listed here and can be undone.")
    if closed("Editing"):
        return
    if len(edits) > 200:
        st.caption(f"The newest 200 of {len(edits):,}; all of them: `themescope edit`.")
    for edit in edits[:200]:
        _draw(corpus, edit)


def _draw(corpus: CorpusRecord, edit: CorpusEditRecord) -> None:
    def undo() -> None:
        if lost := corpus_edits.undo(queries.store(), corpus.id, edit.id, current_person()).unassigned:
            st.toast(f"{count(lost, 'label')} did not come back: their clusters no longer exist.", duration="long")

    with st.container(horizontal=True, vertical_alignment="center"):
        by = f" · {edit.person}" if edit.person else ""
        labels = f" · {count(edit.labels, 'label')}" if edit.labels else ""
        st.markdown(plain(edit.summary), width="stretch")
        st.caption(plain(f"{ago(edit.created)}{by}{labels}"), width="content")
        if edit.undone is not None:
            st.caption(f"undone {ago(edit.undone)}", width="content")
        else:
            key = f"texts_undo_{edit.id}"
            st.button("Undo", icon=":material/undo:", key=key, type="tertiary", on_click=toast_error, args=(undo,))


# Exports of a project as a bundle and as a Hugging Face dataset

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
                "Models with their vectors",
                [model.name for model in able],
                disabled=not able,
                width=420,
                placeholder="none" if able else "no model has vectors of this project",
                key=f"texts_bundle_models_{corpus.id}",
            )
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
                "Labels",
                [_NONE, *([_THEMES] if themes else []), *names],
                width=420,
                format_func=lambda choice: str(names.get(choice, choice)),
                key=f"texts_dataset_labels_{corpus.id}",
            )
            args = {"labelling": names.get(labels, ""), "themes": labels == _THEMES}
            _create("dataset", "Create dataset", ":material/dataset:", corpus, args)
        _fetch(corpus, "dataset", bundles.DATASETS, "sentence")


def _create(what: str, label: str, icon: str, corpus: CorpusRecord, args: dict[str, Any]) -> None:
    st.space("stretch")
    clicked = st.button(label, icon=icon, key=f"texts_{what}_create_{corpus.id}")
    title = f"{what.capitalize()} of “{corpus.name}”"
    if clicked and submit(f"export-{what}", {"corpus": corpus.name, **args}, title):
        st.rerun()


def _fetch(corpus: CorpusRecord, what: str, folder: str, counted: str) -> None:
    below = queries.store().settings.home / folder
    for job in queries.read(lambda r: r.jobs.list(limit=500, status=JobStatus.DONE)):
        path = Path(str(job.result.get("file", "")))
        about = job.kind == f"export-{what}" and job.args.get("corpus") == corpus.name
        if about and path.parent == below and path.is_file() and (job.ended or datetime.now(UTC)) > corpus.created:
            with st.container(horizontal=True, vertical_alignment="center"):
                label, file = f"Download ({path.stat().st_size / 1e6:,.1f} MB)", f"{safe_name(corpus.name)}.zip"
                download(label, path.read_bytes, file, type="primary", key=f"{job.kind}_{job.id}")
                content = count(int(job.result.get(f"{counted}s", 0)), counted)
                st.caption(f"created {ago(job.ended)} with {content}; deleted after a week")
            return
