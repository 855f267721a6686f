"""Waves and articles are removed, texts corrected, and both undone: everything is then as it was before."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.homes import CopyHome, MakeHome
from tests.jobs.test_kinds import do
from tests.jobs.test_placed_waves import MODEL, fill_with_wave, fill_without_wave, listed, write
from themescope.core.errors import ConflictError, DataError, UnknownNameError
from themescope.core.labelling import operations as op
from themescope.core.labelling.codebook.entries import CodebookEntry, change, entry_of
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.records.stored import CorpusEditRecord, EditKind, Role
from themescope.db import tables as t
from themescope.db.access import Actor
from themescope.db.repositories.corpora import Where
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.api.problems import Caller
from themescope.jobs.api.routes import corpora, runs
from themescope.jobs.bundles.labellings import export_document
from themescope.jobs.cli.main import main
from themescope.jobs.common.columns import waves_of
from themescope.jobs.common.labelled import provenance_of
from themescope.jobs.services import corpus_edits, search, table_files
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.report import project_report


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A list "C" of 180 sentences with vectors, map, themes and a labelling, and a placed wave of 50."""
    folder = tmp_path_factory.mktemp("files")

    def fill(store: Store) -> None:
        fill_with_wave(store, folder)
        do(store, "place-wave", corpus="C")
        session = opened(store)
        session.extend()
        with store.reading() as r:
            wave = r.corpora.sentence_ids(session.record.corpus_id, 1)
        session.do(op.assign(session.partition, wave[:10], 1))
        session.do(op.mark(session.partition, wave[:2], True))
        session.do(op.note(session.partition, wave[:3], "a note"))
        entry = CodebookEntry("about rents", examples=(int(wave[0]), int(session.partition.ids[0])))
        session.do(op.entries(op.OperationKind.CODEBOOK, "text", [change(session.partition, 1, entry)]))

    return make_home(fill)


@pytest.fixture
def store(copy_home: CopyHome, home: Path) -> Store:
    return copy_home(home)


def remove(store: Store, wave: str = "spring") -> CorpusEditRecord:
    return corpus_edits.remove_wave(store, corpus_of(store).id, wave, "ann")


def undo(store: Store, edit: CorpusEditRecord) -> corpus_edits.Undone:
    return corpus_edits.undo(store, edit.corpus_id, edit.id, "ann")


def opened(store: Store, person: str = "") -> LabellingSession:
    with store.reading() as r:
        (record,) = r.labellings.list()
    return LabellingSession(store, record.id, person)


def corpus_of(store: Store) -> Any:
    with store.reading() as r:
        return r.corpora.by_name("C")


def contents(store: Store) -> dict[str, list[Any]]:
    """All that undo must bring back: rows of every table but the edits, the history and indexes."""
    with store.reading() as r:
        tables = (t.article, t.section, t.sentence, t.corpus_column, t.column_block, t.map_, t.run, t.assignment)
        tables += (t.embedding, t.triplet_set, t.benchmark)
        found = {table.name: [tuple(row) for row in r.corpora.connection.execute(sa.select(table))] for table in tables}
    corpus = corpus_of(store)
    report = {k: v for k, v in corpus.report.items() if k not in ("digest_without_edits", "removed_waves")}
    return found | {"corpus": [corpus.articles, corpus.sections, corpus.paragraphs, corpus.sentences, report]}


def test_a_removed_wave_is_out_of_everything_and_undo_brings_all_of_it_back(store: Store) -> None:
    corpus, before, state = corpus_of(store), contents(store), opened(store).partition
    with store.reading() as r:
        wave = r.corpora.sentence_ids(corpus.id, 1)
        (map_record,) = r.maps.list()
        column = next(c for c in r.columns.list(corpus.id) if c.name == "wave")
        run = r.runs.themes()[-1]
        made = provenance_of(r, opened(store).record, state)
    edit = remove(store)
    assert (edit.kind, edit.sentences, edit.labels, edit.person) == (EditKind.WAVE, 50, 10, "ann")
    now, session = corpus_of(store), opened(store)
    assert (now.sentences, now.articles) == (180, 1) and now.report["digest"] != corpus.report["digest"]
    assert not np.isin(wave, session.partition.ids).any() and len(session.new_sentences()) == 0
    assert entry_of(session.partition, 1).examples == (int(state.ids[0]),)
    with store.reading() as r:
        assert len(r.maps.points(map_record.id).sentence_ids) == r.maps.get(map_record.id).sampled_from == 180
        assert r.columns.get(column.id).about["counts"] == [1]
        assert len(r.runs.labels(run.id)) == 1
        listed = r.runs.get(run.id)
        assert listed.config["sentences"] == sum(theme["size"] for theme in listed.config["themes"]) == 180
        assert not {id for theme in listed.config["themes"] for id in theme["central"]} & {*wave.tolist()}
        assert r.text_search.sentences([["vaccine"]], corpus.id, Where.HERE, 5) == []
    found = search.find_similar(store, corpus.id, "the vaccine and the epidemic", limit=10)
    assert len(found.items) == 10 and not np.isin([match.sentence.id for match in found.items], wave).any()
    words, alike = search.units_about(store, corpus.id, "vaccine OR virus")
    assert len(alike) and not np.isin(alike, [*wave, *words]).any()
    undone = undo(store, edit)
    assert undone.unassigned == 0 and undone.edit.undone is not None
    assert contents(store) == before
    assert opened(store).partition.to_bytes() == state.to_bytes()
    with store.reading() as r:
        again = provenance_of(r, opened(store).record, state)
    assert [again.cells(row) for row in range(len(state.ids))] == [made.cells(row) for row in range(len(state.ids))]
    with pytest.raises(ConflictError, match="undone already"):
        undo(store, edit)


def facts(store: Store) -> dict[str, Any]:
    """What the API, exports, the search, the report and the commands say of "C", without ids, times and edits."""
    caller, corpus = Caller(store, Actor("ann", Role.ADMIN)), corpus_of(store)
    listed = runs.list_theme_runs(caller, corpus.id)
    with store.reading() as r:
        record = r.maps.list(corpus.id)[0]
        (labelling,) = r.labellings.list(corpus.id)
        predictions = [(one.wave, len(r.predictions.values(one.id)[0])) for one in r.predictions.list(labelling.id)]
        report = [repr(b) for long in (False, True) for b in project_report(store, corpus.id, [labelling], long)[2:]]
        done = ("Since the import", "People made ")  # the work, and what was removed
        report = [block for block in report if not any(text in block for text in done)]
    command = CliRunner().invoke(main, ["list", "maps"]).stdout
    return {
        "corpus": {name: getattr(corpus, name) for name in ("articles", "sections", "paragraphs", "sentences")},
        "waves": (waves_of(corpus), corpus.report.get("waves")),
        "themes": [[(t.number, t.name, t.size, t.central, t.subtitle) for t in run.themes] for run in listed],
        "counts": [(run.sentences, run.reason) for run in listed],
        "one by one": [runs.get_theme_run(caller, run.id) == run for run in listed],
        "members": [runs.list_theme_members(caller, run.id, limit=1_000).items for run in listed],
        "kinds": sorted(run.kind for run in runs.list_runs(caller, limit=1_000).items),
        "columns": [(c.name, c.level, c.about) for c in corpora.list_columns(caller, corpus.id)],
        "map": (runs.list_points(caller, record.id, 0, 1_000).sentence_ids, record.sampled_from, command),
        "table": [c.name for c in table_files.file_columns(store, corpus.id, np.array([1, 2]))],
        "search": search.find_everything(store, "vaccine"),
        "predictions": predictions,
        "report": report[:-1],
    }  # fmt: skip


def test_a_project_with_a_removed_wave_says_what_one_says_that_never_had_it(
    store: Store, make_home: MakeHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(of: Store) -> dict[str, Any]:
        monkeypatch.setenv("THEMESCOPE_HOME", str(of.settings.home))
        return facts(of)

    other = Store(Settings.in_folder(make_home(lambda empty: fill_without_wave(empty, tmp_path))))
    never = said(other)
    other.close()
    before, edit = said(store), remove(store)
    now = said(store)
    for fact in never:
        assert now[fact] == never[fact], fact
        assert before[fact] != never[fact] or fact == "search", fact
    undo(store, edit)
    assert said(store) == before


def test_the_name_of_a_removed_wave_can_be_used_again(store: Store, tmp_path: Path) -> None:
    edit = remove(store)
    file = write(tmp_path / "more.csv", ["The tenant left the flat.", "No train came to the station."])
    done = listed(store, "append-corpus", file, wave="spring")
    assert (done["wave"], [w["sentences"] for w in waves_of(corpus_of(store))]) == ("spring", [180, 2])
    with store.reading() as r:
        column = next(c for c in r.columns.list(edit.corpus_id) if c.name == "wave")
        assert column.about["categories"] == ["wave 1", "spring"] and column.about["counts"] == [1, 1]
    with pytest.raises(ConflictError, match="A wave called 'spring' was added since"):
        undo(store, edit)
    assert corpus_of(store).sentences == 182
    again = remove(store)
    undo(store, edit)
    assert [w["sentences"] for w in waves_of(corpus_of(store))] == [180, 50]
    with pytest.raises(ConflictError):
        undo(store, again)


def test_names_are_kept_and_labels_whose_code_is_gone_come_back_unassigned_and_counted(store: Store) -> None:
    with store.writing() as w:
        run = w.runs.themes()[-1]
        w.runs.rename_theme(run.id, 0, "Homes")
    edit, session = remove(store), opened(store)
    session.do(op.merge(session.partition, [1, 2], 2))
    with store.writing() as w:
        kept = w.runs.themes()[-1]
        assert kept.id == run.id and kept.config["themes"][0]["name"] == "Homes" and len(kept.config["themes"]) == 3
        w.runs.rename_theme(run.id, 1, "Trains")
    undone, partition = undo(store, edit), opened(store).partition
    with store.reading() as r:
        names = [theme["name"] for theme in r.runs.get(run.id).config["themes"]]
        wave = r.corpora.sentence_ids(edit.corpus_id, 1)
    assert names[:2] == ["Homes", "Trains"] and len(names) == len(run.config["themes"]) > 3
    assert undone.unassigned == 10 and (partition.numbers[partition.rows(wave)] == UNASSIGNED).all()
    assert partition.uncertain[partition.rows(wave[:2])].all() and partition.notes[int(wave[0])] == "a note"


def test_removal_is_no_step_of_a_person_and_going_back_does_not_bring_removed_sentences_back(store: Store) -> None:
    session = opened(store, "ann")
    before, edit = session.steps[-1].id, remove(store)
    session.sync()
    assert session.steps[-1].operation == op.OperationKind.WITHDRAW and session.undo_state.undoable == ()
    assert session.undo() is None
    session.back_to(before)
    with store.reading() as r:
        wave = np.setdiff1d(r.corpora.sentence_ids(edit.corpus_id), session.partition.ids)
    assert len(wave) == 0 and len(session.partition.ids) == 180
    assert len(export_document(store, session.record.id).end().ids) == 180


def test_a_wave_can_be_added_after_one_was_removed_and_both_are_there_after_undo(store: Store, tmp_path: Path) -> None:
    edit = remove(store)
    file = write(tmp_path / "more.csv", ["The tenant left the flat.", "No train came to the station."])
    listed(store, "append-corpus", file, wave="summer")
    placed = do(store, "place-wave", corpus="C")
    assert (placed["wave"], placed["sentences"]) == ("summer", 2)
    with pytest.raises(UnknownNameError, match="spring"):
        remove(store)
    with pytest.raises(UnknownNameError):
        do(store, "place-wave", corpus="C", wave="spring")
    undo(store, edit)
    with store.reading() as r:
        column = next(c for c in r.columns.list(edit.corpus_id) if c.name == "wave")
        found = r.columns.values(column, r.corpora.article_ids(edit.corpus_id))
    assert [column.categories[code] for code in found] == ["wave 1", "spring", "summer"]
    assert column.about["counts"] == [1, 1, 1] and corpus_of(store).sentences == 232


def test_only_articles_of_the_corpus_are_removed_and_some_must_stay(store: Store) -> None:
    corpus = corpus_of(store)
    with store.reading() as r:
        first, second = r.corpora.article_ids(corpus.id).tolist()
    with pytest.raises(DataError, match="not in 'C'"):
        corpus_edits.remove_articles(store, corpus.id, [first, 10_000], "")
    with pytest.raises(DataError, match="Nothing would be left"):
        corpus_edits.remove_articles(store, corpus.id, [first, second], "")
    edit = corpus_edits.remove_articles(store, corpus.id, [first], "")
    assert edit.sentences == 180 and edit.articles == 1
    with pytest.raises(DataError, match="Nothing would be left"):
        remove(store)


def test_a_corrected_text_is_found_and_its_article_is_embedded_again(store: Store) -> None:
    corpus, session = corpus_of(store), opened(store)
    assert session.texts
    with store.reading() as r:
        sentence = r.corpora.sentences_by_id(r.corpora.sentence_ids(corpus.id, 1)[:1]).popitem()[1]
        labelling = r.labellings.snapshot(session.record.id).partition.to_bytes()
    edit = corpus_edits.correct_text(store, corpus.id, sentence.id, "  Rents are\ttoo high. ", "ann")
    assert (edit.before, edit.after, edit.labels) == (sentence.text, "Rents are too high.", 1)
    session.sync()
    assert session.texts[sentence.id] == "Rents are too high." and session.partition.to_bytes() == labelling
    assert do(store, "embed", corpus="C", model=MODEL)["embedded"] == 1
    again = corpus_edits.correct_text(store, corpus.id, sentence.id, "Rents are high.", "ann")
    with pytest.raises(ConflictError, match="Undo the later correction first"):
        undo(store, edit)
    undo(store, again)
    undo(store, edit)
    with store.reading() as r:
        assert r.corpora.sentences_by_id([sentence.id])[sentence.id] == sentence
    assert corpus_of(store).report["digest"] == corpus.report["digest"]
    for text, problem in ((" ", "empty"), (sentence.text, "same as before"), ("x" * 200_000, "may have")):
        with pytest.raises(DataError, match=problem):
            corpus_edits.correct_text(store, corpus.id, sentence.id, text, "ann")


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_edited_undo_in_the_other_order_restores_everything(data: st.DataObject, store: Store) -> None:
    """Corrections and removals in any order, taken back last first."""
    corpus, state = corpus_of(store), opened(store).partition.to_bytes()
    before = contents(store) | {"embedding": []}
    done = []
    for edit in data.draw(st.lists(st.sampled_from(["wave", "text", "other text"]), max_size=4)):
        with store.reading() as r:
            ids = r.corpora.sentence_ids(corpus.id)
        try:
            if edit == "wave":
                done.append(remove(store))
            else:
                place = data.draw(st.integers(0, len(ids) - 1))
                done.append(corpus_edits.correct_text(store, corpus.id, int(ids[place]), f"An {edit}.", ""))
        except (UnknownNameError, DataError):  # removed already; the same text
            continue
    for one in reversed(done):
        undo(store, one)
    assert contents(store) | {"embedding": []} == before and opened(store).partition.to_bytes() == state


def test_the_command_lists_edits_and_undoes_them(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEMESCOPE_HOME", str(store.settings.home))

    def command(*args: str) -> Result:
        return CliRunner().invoke(main, ["edit", "C", *args])

    assert "Nothing was edited" in command().output
    removed = command("--remove-wave", "spring", "--person", "ann")
    assert "wave “spring” removed: 50 sentences" in removed.output and "ann" in removed.output
    assert command("--undo", "1").exit_code == 0 and corpus_of(store).sentences == 230
    wrong = command("--undo", "1", "--remove-wave", "spring")
    assert wrong.exit_code == 2 and "Give one of" in wrong.output
    assert "has no article 'x'" in command("--remove-article", "x").output


def test_a_bundle_has_the_corpus_as_it_is_now(store: Store, tmp_path: Path) -> None:
    remove(store)
    state, file = opened(store).partition, str(tmp_path / "c.themescope")
    do(store, "export-bundle", corpus="C", file=file)
    do(store, "import-bundle", file=file, corpus="D")
    with store.reading() as r:
        other = r.corpora.by_name("D")
        (record,) = r.labellings.list(other.id)
        again = r.labellings.snapshot(record.id).partition
    assert (other.sentences, len(again.ids)) == (180, 180)
    assert again.numbers.tolist() == state.numbers.tolist()
