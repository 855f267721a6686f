"""Files added to a corpus as a wave: nothing that is stored changes, columns are mapped, duplicates are found."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import run_job, write_articles
from tests.jobs.test_kinds import do
from tests.jobs.test_table_files import columns_of
from themescope.core.errors import ConfigError, DataError, DuplicateNameError, ReadError
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import StaleChangeError
from themescope.core.types import CodingUnit
from themescope.db import tables as t
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.bundles.labellings import export_document, from_lines, store_document, to_lines
from themescope.jobs.cli.main import main
from themescope.jobs.common.columns import normalised, waves_of
from themescope.jobs.common.labelled import provenance_of
from themescope.jobs.kinds.append_corpus import AppendConfig, coming
from themescope.jobs.queue.control import enqueue
from themescope.jobs.queue.worker import LEFTOVER_AGE, remove_leftovers
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession

OLD = [
    ("1", "Rents are too high.", "A", "2020-01-05", "4"),
    ("2", "The trains are late.", "B", "2020-02-01", "2"),
    ("3", "Schools need teachers.", "A", "2020-02-02", "3"),
    ("4", "Rents keep rising.", "B", "2020-03-01", "1"),
]
NEW = [
    ("5", "Buses never come.", "C", "2021-01-01", "5"),
    ("2", "The trains are on time now.", "A", "2021-01-02", "many"),
    ("6", "rents are  TOO high", "C", "yesterday", "2"),
    ("7", "Heat pumps are expensive.", "C", "2021-01-04", ""),
]


def write(folder: Path, name: str, rows: list[tuple[str, ...]], header: str = "id text party day score") -> str:
    path = folder / name
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header.split(), *rows])
    return str(path)


TABLE = {"reader": "table", "settings": {"text": "text", "rows": "sentences"}}


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the list of answers "C" and a labelling of it."""
    file = write(tmp_path_factory.mktemp("old"), "answers.csv", OLD)

    def fill(store: Store) -> None:
        types = {"party": "category", "id": "number"}
        do(store, "import-corpus", files=[file], corpus="C", types=types, **TABLE)
        with store.reading() as r:
            corpus = r.corpora.by_name("C")
        starts.begin(store, NewLabelling(corpus.id, "L", "ann"), starts.from_nothing)

    return make_home(fill)


@pytest.fixture
def survey(copy_home: CopyHome, home: Path) -> Store:
    return copy_home(home)


def append(store: Store, file: str, **args: Any) -> dict[str, Any]:
    return do(store, "append-corpus", **{"files": [file], "corpus": "C", "wave": "spring", **TABLE, **args})


_TEXT = (t.article, t.section, t.sentence, t.column_block, t.label, t.labelling, t.label_step, t.embedding, t.map_)


def stored(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of everything that a wave must not change."""
    with store.reading() as r:
        return {table.name: [tuple(row) for row in r.corpora.connection.execute(sa.select(table))] for table in _TEXT}


def test_a_wave_has_the_unit_of_its_corpus(survey: Store, tmp_path: Path) -> None:
    file = tmp_path / "minutes.txt"
    file.write_text("Rents rise. Nobody acts.\n\nTrains are late. Buses, too.\n", encoding="utf-8")
    do(survey, "import-corpus", files=[str(file)], corpus="C2", unit="paragraph")
    with pytest.raises(DataError, match="The units of 'C2' are paragraphs"):
        do(survey, "append-corpus", files=[str(file)], corpus="C2", wave="w", unit="sentence")
    do(survey, "append-corpus", files=[str(file)], corpus="C2", wave="w")
    with survey.reading() as r:
        corpus = r.corpora.by_name("C2")
        found = [s.text for _, _, sentences in r.corpora.iterate(corpus.id) for s in sentences]
    assert corpus.unit is CodingUnit.PARAGRAPH
    assert found == ["Rents rise. Nobody acts.", "Trains are late. Buses, too."] * 2


LONG = "The council says one thing. It does another. Nobody understands why the money is spent in this way. " * 4


@pytest.mark.parametrize("rows", ["sentences", "documents"])
def test_rows_of_a_wave_are_what_those_of_its_corpus_are(rows: str, sqlite_store: Store, tmp_path: Path) -> None:
    """By length alone, the rows of the second table would be of the other kind."""
    short, long = [(i, f"Rents rise {i} times.", "A") for i in "123"], [(i, f"{i} {LONG}", "B") for i in "4567"]
    first, second = (short, long) if rows == "sentences" else (long, short)
    old = write(tmp_path, "old.csv", first, "id answer party")
    new = write(tmp_path, "new.csv", second, "id answer party")
    do(sqlite_store, "import-corpus", files=[old], corpus="C", unit="sentence" if rows == "sentences" else "document")
    command = CliRunner().invoke(main, ["append", new, "--corpus", "C", "--wave", "spring", "--then", "nothing"])
    assert command.exit_code == 0, command.output
    unit = "units" if rows == "sentences" else f"units in {len(second)} documents"
    assert f"Adds {len(second)} {unit} to the {len(first)} of “C”.\n" in command.stderr
    with sqlite_store.reading() as r:
        corpus = r.corpora.by_name("C")
        columns = [(c.name, c.level.value, c.about["missing"]) for c in r.columns.list(corpus.id)]
    assert corpus.sentences == 7 and [wave["sentences"] for wave in waves_of(corpus)] == [len(first), len(second)]
    level = "sentence" if rows == "sentences" else "article"
    found = [column for column in columns if not column[0].startswith("wave")]
    assert sorted(found) == [("id", level, 0), ("party", level, 0), ("row", level, 0)]


def test_what_does_not_fit_is_said_before_a_wave_is_added(survey: Store, tmp_path: Path) -> None:
    """The text column has another name, one column is new, one is missing, and rows are documents by choice."""
    file = write(tmp_path, "new.csv", [("1", "Rents. Rents!", "A", "x")], "id text party extra")
    told = coming(survey, AppendConfig(files=(file,), corpus="C", wave="w"))
    assert told == "Adds 1 unit to the 4 of “C”. New columns: extra. Columns without values: day, score."
    settings = {"text": "text", "rows": "documents"}
    told = coming(survey, AppendConfig(files=(file,), corpus="C", wave="w", settings=settings))
    assert told.startswith("Adds 2 units to the 4 of “C”. New columns: extra.")
    assert "Columns of sentences here and of documents there, which stay two: id, party, row." in told


def texts(store: Store) -> list[str]:
    with store.reading() as r:
        corpus = r.corpora.by_name("C")
        return [s.text for _, _, sentences in r.corpora.iterate(corpus.id) for s in sentences]


def test_nothing_that_is_stored_changes(survey: Store, tmp_path: Path) -> None:
    before, old_columns = stored(survey), columns_of(survey, "C")
    result = append(survey, write(tmp_path, "new.csv", NEW), date="2021-05-01")
    after = stored(survey)
    for table, rows in before.items():
        assert after[table][: len(rows)] == rows or set(rows) <= set(after[table]), table
    assert after["label"] == before["label"]
    assert (result["articles"], result["sentences"], result["wave"]) == (1, 4, "spring")
    assert texts(survey) == [" ".join(text.split()) for _, text, *_ in OLD + NEW]
    for name, (level, type, values) in columns_of(survey, "C").items():
        if name in old_columns:
            assert (level, type, values[:4]) == old_columns[name]


def test_columns_are_mapped_by_name_and_keep_their_types(survey: Store, tmp_path: Path) -> None:
    rows = [(*row, "x") for row in NEW]
    file = write(tmp_path, "new.csv", rows, "id text Partei day score extra")
    result, found = append(survey, file, columns={"Partei": "party"}, date="2021-05-01"), columns_of(survey, "C")
    assert found["party"] == ("sentence", "category", ["A", "B", "A", "B", "C", "A", "C", "C"])
    assert found["score"][1:] == ("number", [4, 2, 3, 1, 5, None, 2, None])
    assert found["extra"][2] == [None] * 4 + ["x"] * 4
    assert found["wave"] == ("article", "category", ["wave 1", "spring"])
    assert [value and value.year for value in found["wave date"][2]] == [None, 2021]
    assert result["skipped"] == {"value of “day” that is no date": 1, "value of “score” that is no number": 1}
    assert (result["new_columns"], result["missing_columns"]) == (["extra"], [])
    with survey.reading() as r:
        corpus = r.corpora.by_name("C")
        assert {entry.text for entry in r.corpora.entries(corpus.id)} == {"yesterday", "many"}
        party, score = (next(c for c in r.columns.list(corpus.id) if c.name == name) for name in ("party", "score"))
        assert dict(zip(party.categories, party.about["counts"], strict=True)) == {"A": 3, "B": 2, "C": 3}
        assert (score.about["low"], score.about["high"], score.about["missing"]) == (1, 5, 2)
        assert corpus.sentences == 8 and corpus.articles == 2
        waves = [(wave["name"], wave["first"], wave["sentences"]) for wave in waves_of(corpus)]
        assert waves == [("wave 1", 0, 4), ("spring", 1, 4)]


def test_duplicates_are_reported_and_left_out_only_if_asked(survey: Store, tmp_path: Path) -> None:
    file = write(tmp_path, "new.csv", NEW)
    kept = append(survey, file)
    assert kept["duplicates"] == {"id": 1, "text": 1, "rows": 4, "either": 2}
    assert kept["left_out"] == 0 and len(texts(survey)) == 8
    with pytest.raises(DataError, match="Nothing was added"):
        append(survey, file, wave="again", duplicates="omit")
    with survey.reading() as r:
        assert [c.name for c in r.corpora.list(include_unready=True)] == ["C"]


def test_left_out_rows_leave_no_gap(survey: Store, tmp_path: Path) -> None:
    result = append(survey, write(tmp_path, "new.csv", NEW), duplicates="omit")
    assert result["left_out"] == 2 and result["skipped"]["duplicate"] == 2
    assert texts(survey)[4:] == [NEW[0][1], NEW[3][1]]
    with survey.reading() as r:
        corpus = r.corpora.by_name("C")
        article = r.corpora.articles(corpus.id)[-1]
        assert [s.position for s in r.corpora.sentences(article.id)] == [0, 1] and article.sentences == 2
        assert (corpus.sentences, corpus.paragraphs) == (6, 6)
    assert columns_of(survey, "C")["score"][2] == [4, 2, 3, 1, 5, None]


def test_documents_are_compared_as_a_whole(sqlite_store: Store, tmp_path: Path) -> None:
    old, new = write_articles(tmp_path, 3), write_articles(tmp_path, 5)
    do(sqlite_store, "import-corpus", files=[str(old)], corpus="C")
    result = do(sqlite_store, "append-corpus", files=[str(new)], corpus="C", wave="two", duplicates="omit")
    assert result["duplicates"] == {"id": 0, "text": 3, "rows": 5, "either": 3}
    with sqlite_store.reading() as r:
        corpus = r.corpora.by_name("C")
        assert [a.title for a in r.corpora.articles(corpus.id)] == [f"Article {n}" for n in range(5)]
        assert [a.position for a in r.corpora.articles(corpus.id)] == [*range(5)]
        assert (corpus.articles, corpus.paragraphs) == (5, 5 * 25)


def test_a_killed_job_goes_on(survey: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after the articles are stored, and again after the wave is: it is added once."""
    args = {"files": [write(tmp_path, "new.csv", NEW)], "corpus": "C", "wave": "spring", **TABLE}
    job = enqueue(survey, "append-corpus", args)

    def killed(*_: object, **__: object) -> None:
        raise SystemExit

    for place in ("typed_column", "_result"):
        with monkeypatch.context() as patched:
            patched.setattr(f"themescope.jobs.kinds.append_corpus.{place}", killed)
            with pytest.raises(SystemExit):
                run_job(survey, job.id)
        if place == "typed_column":
            with survey.reading() as r:
                ready = {c.name: c.ready for c in r.corpora.list(include_unready=True)}
            assert ready == {"C": True, f"wave of job {job.id}": False}
            monkeypatch.setattr("themescope.jobs.queue.worker.LEFTOVER_AGE", LEFTOVER_AGE * 0)
            assert remove_leftovers(survey) == []
        with survey.writing() as w:
            w.jobs.requeue(job.id)
    run_job(survey, job.id)
    with survey.reading() as r:
        assert r.jobs.get(job.id).result["sentences"] == 4
        assert [wave["name"] for wave in waves_of(r.corpora.by_name("C"))] == ["wave 1", "spring"]
    assert len(texts(survey)) == 8


def test_what_fails_leaves_the_corpus_as_it_was(survey: Store, tmp_path: Path) -> None:
    before, file = stored(survey), write(tmp_path, "new.csv", NEW)
    with pytest.raises(DataError, match="no column 'Partei'"):
        append(survey, file, columns={"Partei": "party"})
    with pytest.raises(DataError, match="no column 'key'"):
        append(survey, file, id_column="key")
    with pytest.raises(DataError, match="would be 'party'"):
        append(survey, file, columns={"day": "party"})
    with pytest.raises(ReadError):
        append(survey, str(tmp_path / "none.csv"))
    with pytest.raises(ConfigError, match="date"):
        append(survey, file, date="yesterday")
    assert stored(survey) == before
    append(survey, file)
    with pytest.raises(DuplicateNameError):
        append(survey, file)
    with pytest.raises(DataError, match="keeps the waves"):
        append(survey, write(tmp_path, "w.csv", [("Text.", "3")], "text wave"), wave="next")


@pytest.mark.parametrize(("one", "other"), [("Rents  ARE high!", "rents are high"), ("ﬁne", "FINE"), ("…", "…")])
def test_equal_texts(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)
    assert normalised("…") != normalised("!")


def test_new_sentences_enter_a_labelling_by_a_step(survey: Store, tmp_path: Path) -> None:
    with survey.reading() as r:
        labelling = r.labellings.list()[0]
    session, other = (LabellingSession(survey, labelling.id, person) for person in ("ann", "ann"))
    old = session.partition
    assert session.extend() is None
    append(survey, write(tmp_path, "new.csv", NEW))
    assert session.new_sentences().tolist() == [5, 6, 7, 8]
    step = session.extend()
    assert step is not None and step.summary == "4 units of “spring” added, without a code"
    with survey.reading() as r:
        assert r.labellings.get(labelling.id).sentences == 8
        assert r.labellings.snapshot(labelling.id).partition.to_bytes() == session.partition.to_bytes()
    with pytest.raises(StaleChangeError):
        other.extend()
    other.sync()
    assert other.partition.to_bytes() == session.partition.to_bytes() and other.extend() is None
    session.do(op.create(session.partition, session.next_number, "Prices", np.array([1, 7])))
    assert len(session.texts) == 8
    with pytest.raises(StaleChangeError):
        session.undo(step.id)
    document = export_document(survey, labelling.id)
    read = from_lines(to_lines(document))
    assert read.end().to_bytes() == session.partition.to_bytes() and read.start.to_bytes() == old.to_bytes()
    assert read.places == document.places
    session.back_to(0)
    assert session.partition.to_bytes() == old.to_bytes()
    session.undo()
    session.undo()
    session.undo()
    assert session.partition.to_bytes() == old.to_bytes()
    read = from_lines(to_lines(export_document(survey, labelling.id)))
    with survey.writing() as w:
        copy = store_document(w, labelling.corpus_id, read, None)
    with survey.reading() as r:
        assert (copy.sentences, r.labellings.get(copy.id).sentences) == (4, 4)
    session.redo()
    with survey.reading() as r:
        found = provenance_of(r, r.labellings.get(labelling.id), session.partition)
    assert len(session.partition.ids) == 8 and (found.maker == -1).all()
