"""Themes: cards, levels, names, other computations, and columns."""

import csv
import io
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.db.texts import add_texts
from tests.webapp.columned import add, add_columns
from tests.webapp.filled import CORPUS, HOSTILE, MODEL, add_map, add_themes
from tests.webapp.hands import Open, jobs_of, listed, listing, plain_words_of, press, sent, words_of
from themescope.core.columns import ColumnLevel, ColumnType
from themescope.core.errors import DataError, DuplicateNameError, UnknownNameError
from themescope.core.labelling import operations as op
from themescope.core.records.stored import JobStatus, Role
from themescope.core.types import Article, Paragraph, Section
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.selections import theme_table
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features import themes as state
from themescope.webapp.features.themes import results
from themescope.webapp.shared import by_column, compare_queries, selections


@pytest.fixture
def analysed(filled_store: Store) -> Store:
    return with_list(filled_store)


def with_list(filled_store: Store) -> Store:
    """Add a list of twelve sentences, its two themes and its map to a store."""
    texts = [f"={i} {HOSTILE}" if i == 0 else f"Sentence {i} of the list." for i in range(12)]
    with filled_store.writing() as w:
        section = Section("talks", 2, tuple(Paragraph("", (t,)) for t in texts), ("talks",))
        corpus, ids = add_texts(w, "My list", [Article("My list", (section,))])
        frequent = [{"id": int(ids[i]), "count": n, "theme": 0} for i, n in ((2, 3), (0, 2))]
        about = {"settings": {"shared": 2.0}, "reason": "At 2 clusters.", "distinct": 9, "usual": 9, "compared": 9}
        margins = np.linspace(-0.1, 0.5, 12)
        add_themes(w, corpus, "th1", (HOSTILE, "two"), [0] * 7 + [1] * 5, margins, frequent=frequent, **about)
        add_map(w, corpus, "m", ids)
    return filled_store


@pytest.fixture
def levelled(analysed: Store) -> Store:
    """The themes with a level that divides the first one."""
    with analysed.writing() as w:
        (run,) = w.runs.themes()
        names, level = ("four", "three", "two"), {"level": 1, "level_of": run.id}
        add_themes(w, run.config["corpus_id"], "th1-1", names, [0] * 4 + [1] * 3 + [2] * 5, **level)
    return analysed


def cards(at: AppTest) -> list[dict[str, Any]]:
    return list(sent(at, "themescope_theme_cards")["themes"])


@pytest.mark.usefixtures("analysed")
def test_a_card_shows_a_theme_letter_by_letter(open_page: Open) -> None:
    at = open_page("themes", corpus="My list")
    assert not at.error
    assert "**12 units** in **2 themes**" in words_of(at)
    assert "Low confidence: 17%" in [button.label for button in at.button]
    first, second = cards(at)
    assert (first["name"], first["size"], second["size"]) == (HOSTILE, "7 units · 58%", "5 units · 42%")
    assert first["texts"] == [f"=0 {HOSTILE}", "Sentence 1 of the list.", "Sentence 2 of the list."]
    assert first["notes"][0].startswith("3 × “Sentence 2 of the list.” and 2 × “=0")
    assert first["colour"] != second["colour"]
    said = at.info[0].value.replace("\\", "")
    assert said.startswith("25% of the units have the same text: “Sentence 2 of the list.” (3 of 12). Next: “=0 ")
    assert said.endswith("There are 9 different texts.")


@pytest.mark.usefixtures("analysed")
def test_a_theme_opens_its_units(open_page: Open) -> None:
    at = open_page("themes", corpus="My list", theme="two")
    assert "5 units · 42%" in plain_words_of(at)
    assert listing(at)["total"] == 5 and [row["note"] for row in listed(at)] == ["0.50", "0.45", "0.39", "0.34", "0.28"]
    press(at, "All themes")
    assert len(cards(at)) == 2
    at = open_page("themes", corpus="My list", view=state.HOW)
    assert "At 2 clusters." in plain_words_of(at) and "plus word overlap" in plain_words_of(at)
    assert len(cards(press(at, "Back to the themes"))) == 2
    assert listing(open_page("themes", corpus="My list", theme="2. two"))["total"] == 5, "as in links of 0.3.0"
    press(at, "Low confidence: 17%")
    assert [row["note"] for row in listed(at)] == ["-0.10", "-0.05"] and listed(at)[0]["tag"]["name"] == HOSTILE
    gone = open_page("themes", corpus="My list", theme="nothing")
    assert "There is no theme “nothing” at this level." in plain_words_of(gone) and len(cards(gone)) == 2


def test_levels_join_and_divide(levelled: Store, open_page: Open) -> None:
    at = open_page("themes", corpus="My list")
    (found,) = [one for one in at.button_group if str(one.key).startswith(f"{state.LEVEL}_choice_")]
    assert [option.replace("\\", "") for option in found.options] == ["Suggested: 2", "More: 3"]
    found.set_value("more").run()
    assert "**12 units** in **3 themes**" in words_of(at)
    assert [(card["name"], card["notes"]) for card in cards(at)] == [
        ("four", [f"Part of {HOSTILE}"]), ("three", [f"Part of {HOSTILE}"]), ("two", []),
    ]  # fmt: skip
    more = cards(open_page("themes", corpus="My list", level="more"))
    assert [card["name"] for card in more] == ["four", "three", "two"]
    assert len(compare_queries.analyses()) == 1, "a level is no other result"
    with levelled.writing() as w:
        first, second = w.runs.levels(w.runs.themes()[0])
        w.runs.rename_theme(second.id, 2, "Second *theme*")
    wrong = [(2, "", DataError), (2, "four", DuplicateNameError), (2, "x" * 201, DataError), (3, "x", UnknownNameError)]
    for place, name, error in wrong:
        with levelled.writing() as w, pytest.raises(error):
            w.runs.rename_theme(second.id, place, name)
    assert [card["name"] for card in cards(open_page("themes", corpus="My list"))] == [HOSTILE, "Second *theme*"]
    header, parts = theme_table(levelled, first.id)
    rows = [dict(zip(header, row, strict=True)) for part in parts() for row in part]
    assert {(row["theme"], row["level_0"], row["level_1"]) for row in rows} == {
        (HOSTILE, HOSTILE, "four"), (HOSTILE, HOSTILE, "three"), ("Second *theme*", "Second *theme*", "Second *theme*"),
    }  # fmt: skip


def acted(analysis: compare_queries.Analysis, monkeypatch: pytest.MonkeyPatch, **event: Any) -> dict[str, Any]:
    """What the session holds after an action on a card."""
    session: dict[str, Any] = {"themes_cards": {"act": {"digest": "th1", "place": 1, "value": "", **event}}}
    monkeypatch.setattr("themescope.webapp.features.themes.results.st.session_state", session)
    monkeypatch.setattr("themescope.webapp.shared.navigation.write_parameter", lambda name, values: None)
    results._act(analysis)
    return session


def test_a_card_acts_on_the_theme_that_it_shows(analysed: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    (analysis,) = compare_queries.analyses()
    assert acted(analysis, monkeypatch, kind="open")["themes_theme"] == "two"
    assert acted(analysis, monkeypatch, kind="map")["themes_to_map"]
    for wrong in ({"digest": "other"}, {"place": 2}, {"place": "1"}):
        assert "themes_theme" not in acted(analysis, monkeypatch, kind="open", **wrong)
    monkeypatch.setattr(results, "may", lambda right: False)
    acted(analysis, monkeypatch, kind="rename", value="Mine")
    assert compare_queries.analyses()[0].themes[1]["name"] == "two", "labellers do not rename what others see"
    monkeypatch.setattr(results, "may", lambda right: True)
    acted(analysis, monkeypatch, kind="rename", value=" Mine ")
    assert compare_queries.analyses()[0].themes[1]["name"] == "Mine"


def test_a_topic_that_no_theme_has_is_made_of_its_words_and_examples(analysed: Store, open_page: Open) -> None:
    with analysed.reading() as r:
        corpus = r.corpora.by_name("My list")
    starts.begin(analysed, NewLabelling(corpus.id, "Without themes", "ada"), starts.from_nothing)
    at = press(open_page("themes", person="ada", corpus="My list"), "Add a missing theme")
    words = next(field for field in at.text_input if field.label.startswith("Words"))
    words.set_value('"Sentence 7" OR "Sentence 9"').run()
    assert not at.error
    (listed,) = (one.value for one in at.dataframe)
    assert listed["In it"].tolist() == [True, True], "no vectors, so none alike"
    assert listed["Unit"].tolist() == ["Sentence 7 of the list.", "Sentence 9 of the list."]
    next(field for field in at.text_input if field.label == "Name").set_value("Odd ones").run()
    press(at, "Create theme")
    assert not at.error
    with analysed.reading() as r:
        record = r.labellings.by_name("My list themes")
        now = r.labellings.snapshot(record.id).partition
        texts = r.corpora.sentences_by_id(now.ids)
    (number,) = (n for n, cluster in now.clusters.items() if cluster.name == "Odd ones")
    assert sorted(texts[i].text[:10] for i in now.members(number).tolist()) == ["Sentence 7", "Sentence 9"]
    assert len(now.clusters) == 3, "beside those of the machine"


def test_labellers_see_no_way_to_rename_or_compute(analysed: Store, open_page: Open) -> None:
    with analysed.writing() as w:
        w.people.set_role("root", Role.ADMIN, "")
    at = open_page("themes", person="lea", corpus="My list", view=state.AGAIN)
    assert "Finding themes requires the admin role." in words_of(at) and not at.number_input


@pytest.mark.usefixtures("analysed")
def test_files_are_safe_for_spreadsheets() -> None:
    (analysis,) = compare_queries.analyses()
    header, parts = theme_table(results.queries.store(), analysis.run.id)
    rows = [row for part in parts() for row in part]
    written = list(csv.DictReader(io.StringIO(csv_text(header, rows), newline="")))
    assert written[0]["sentence"].startswith("'=0") and rows[0][header.index("sentence")].startswith("=0")
    assert {row["section"] for row in written} == {"talks"}
    assert {"article", "position", "paragraph", "start", "theme", "theme_number", "margin", "level_0"} < set(written[0])
    assert results.summary(analysis)[1] == (1, "two", 5, 0.4167, "Sentence 7 of the list.")


def test_another_computation_is_asked_for_and_shown(analysed: Store, open_page: Open) -> None:
    at = open_page("themes", corpus="My list", view=state.AGAIN)
    at.number_input(key="themes_number").set_value(3).run()
    press(at, "Find themes")
    (asked,) = jobs_of(analysed, "find-themes")
    assert (asked["corpus"], asked["model"], asked["settings"]) == ("My list", MODEL, {"k": 3})
    assert "**12 units** in **2 themes**" in words_of(at)
    with analysed.reading() as r:
        job = max(job.id for job in r.jobs.list(status=JobStatus.QUEUED) if job.kind == "find-themes")
    before = at._tree.get_widget_states()
    for pressed in [one for one in before.widgets if one.WhichOneof("value") == "trigger_value"]:
        before.widgets.remove(pressed)  # a browser sends a button once, when it is clicked
    with analysed.writing() as w:
        (run,) = w.runs.themes()
        names = [*(theme["name"] for theme in run.config["themes"]), "three"]
        labels, about = [0] * 7 + [1] * 5, {"k": 3, "shared": 2.0}
        made = add_themes(w, run.config["corpus_id"], "th2", names, labels, settings=about)
        for one in range(w.jobs.get(job).after or job, job + 1):
            w.jobs.claim(one, "worker")
            w.jobs.finish(one, "worker", JobStatus.DONE, result={"run_id": made.id, "sentences": 12})
    at.run()
    assert "in **3 themes**" in words_of(at)
    at._run(before)  # a timer of a fragment sends what the browser showed before
    assert "in **3 themes**" in words_of(at)
    at = press(open_page("themes", corpus="My list", view=state.RESULTS), "Show")
    assert len(cards(at)) in (2, 3)


def test_an_empty_place_leads_to_themes(filled_store: Store, open_page: Open) -> None:
    at = press(open_page("themes", corpus=CORPUS), "Find themes")
    assert jobs_of(filled_store, "find-themes")[0]["corpus"] == CORPUS
    assert "waiting" in words_of(at) and "Find themes" not in [button.label for button in at.button]


@pytest.fixture
def themed(filled_store: Store) -> Store:
    """Two themes of all sentences of the corpus, which has columns."""
    add_columns(filled_store)
    with filled_store.writing() as w:
        add_themes(w, 1, "th2", ("a", "b"), [int(i % 4 == 0) for i in range(72)], np.linspace(-0.1, 0.5, 72))
    return filled_store


def test_themes_are_compared_with_columns(themed: Store, open_page: Open) -> None:
    with themed.reading() as r:
        texts = np.array([a.id for a in r.corpora.articles(1)])
    add(themed, 1, "a wave", ColumnType.CATEGORY, texts, ["first"] * len(texts), ColumnLevel.ARTICLE)
    at = open_page("themes", corpus=CORPUS, view=state.BY_COLUMN)
    assert any(box.label == "Column" and box.value == "side" and "a wave (text)" in box.options for box in at.selectbox)
    said = "\n".join(caption.value for caption in at.caption)
    assert "54 units. Cramér’s V 1.00; chi-square 54.0 with 2 degrees of freedom, p < 0.001." in said
    assert "depend on each other" in said
    for shown in (by_column.OF_THEMES, by_column.RESIDUALS):
        at.session_state["themes_cells"] = shown
        at.run()
    at = open_page("themes", corpus=CORPUS, view=state.OVER_TIME)
    assert any(box.label == "Period" and box.value == "day" for box in at.selectbox)
    at.session_state["themes_time_values"] = True
    at.run()
    assert any("share" in frame.value.columns for frame in at.dataframe)
    notes = [note for card in cards(open_page("themes", corpus=CORPUS)) for note in card["notes"]]
    assert any(" % of this theme, " in note and note.endswith(" % of all") for note in notes)


@pytest.mark.parametrize(
    ("cell", "told"), [((0, "All"), 36), ((0, "left"), None), ((1, "left"), 18), ((2, "left"), None), (("x", []), None)]
)
def test_a_cell_of_the_table_leads_to_its_units(
    themed: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch, cell: tuple[Any, Any], told: int | None
) -> None:
    draw = by_column.st.dataframe
    monkeypatch.setattr(by_column.st, "dataframe", lambda *a, **k: draw(*a, **k) and {"selection": {"cells": [cell]}})
    at = open_page("themes", corpus=CORPUS, view=state.BY_COLUMN)
    offers = [button for button in at.button if button.label.startswith("Select")]
    assert [button.label for button in offers] == ([] if told is None else [f"Select {told} units"])
    asked: list[Any] = []
    monkeypatch.setattr(selections, "offer", lambda *offered: asked.extend(offered))
    if told:
        offers[0].click().run()
        corpus, ids, origin = asked
        assert (corpus, len(ids)) == (1, told) and str(origin) == ("a" if cell[1] == "All" else "b, side: left")


def test_a_coding_is_counted_by_a_column_as_themes_are(themed: Store, open_page: Open) -> None:
    with themed.reading() as r:
        run = r.runs.themes(1, whole=True)[-1]
    made = starts.begin(themed, NewLabelling(1, "mine", ""), starts.from_themes(run.id))
    at = open_page("themes", corpus=CORPUS, view=state.BY_COLUMN)
    assert not any(box.label == "Themes of" for box in at.selectbox), "nobody has changed the coding"
    session = LabellingSession(themed, made.id, "")
    session.do(op.create(session.partition, session.next_number, "Picked", session.partition.ids[:6:2]))
    at = open_page("themes", corpus=CORPUS, view=state.BY_COLUMN)
    box = next(box for box in at.selectbox if box.label == "Themes of")
    assert box.value == box.options[0] == "mine (3)" and box.options[1] == "machine (2)", "one's own coding first"
    frame = next(frame.value for frame in at.dataframe if "Theme" in frame.value.columns)
    picked = frame[frame["Theme"] == "Picked"].iloc[0]
    assert picked["All"] == 3 and frame["Theme"].iloc[-1] == "All units"
    assert frame["All"].iloc[-1] == frame["All"].iloc[:-1].sum()
    whole = frame.iloc[-1]
    box.set_value("machine (2)").run()
    frame = next(frame.value for frame in at.dataframe if "Theme" in frame.value.columns)
    assert "Picked" not in [*frame["Theme"]] and (frame.iloc[-1] == whole).all()
    at = open_page("counts", corpus=CORPUS)
    frame = next(frame.value for frame in at.dataframe if "Theme" in frame.value.columns)
    assert "Picked" in [*frame["Theme"]] and (frame.iloc[-1] == whole).all(), "the same table in Results"
    session.do(op.unassign(session.partition, session.partition.ids[:10]))
    at = open_page("counts", corpus=CORPUS)
    assert "62 of 72 units have a code or theme." in words_of(at)
