"""Estimates from labels of a sample and from predictions, and the report of a project with them."""

import json
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from docx import Document
from docx.oxml.ns import qn

from tests.homes import CopyHome, MakeHome
from tests.jobs.estimates.survey import DRAWN, ROWS, label, survey, topic
from tests.jobs.helpers import sentences_of_item
from tests.jobs.test_kinds import do
from themescope.core.errors import DataError
from themescope.core.estimates.shares import COUNTED, NOT_RANDOM, composition, share, shares
from themescope.core.labelling import coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.markup import Block, HeadingBlock, ParagraphBlock, Picture, Table, as_html, as_markdown
from themescope.core.metrics.statistics import share_intervals
from themescope.core.records.stored import CorpusRecord
from themescope.db.records import MapPoints, NewLabelling, TaskRecord
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.services import corpus_edits
from themescope.jobs.services.estimates import Study, columns_of, groups_of, open_study
from themescope.jobs.services.labelling import agreement, starts
from themescope.jobs.services.labelling.codebook import methods_section
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.report import as_docx, numbered_picture, project_report


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answers")

    def fill(store: Store) -> None:
        survey(folder, predicted=True)(store)
        with store.reading() as r:
            corpus, model = r.corpora.by_name("C"), r.models.by_name("words")
        do(store, "find-themes", corpus="C", model="words", settings={"k": 3})
        with store.writing() as w:
            ids = w.corpora.sentence_ids(corpus.id)
            points = np.random.default_rng(0).random((len(ids), 2), np.float32)
            w.maps.add(
                corpus_id=corpus.id, model_id=model.id, name="map", config={}, seed=0, digest="m", faithfulness=0.5,
                sampled_from=len(ids), points=MapPoints(ids, points),
            )  # fmt: skip

    return make_home(fill)


@pytest.fixture
def store(copy_home: CopyHome, home: Path) -> Store:
    return copy_home(home)


@pytest.fixture
def corpus(store: Store) -> CorpusRecord:
    with store.reading() as r:
        return r.corpora.by_name("C")


def written(store: Store, long: bool = True) -> list[Block]:
    with store.reading() as r:
        corpus = r.corpora.by_name("C")
        return project_report(store, corpus.id, r.labellings.list(corpus.id), long)


def table(blocks: list[Block], column: str) -> Table:
    return next(block for block in blocks if isinstance(block, Table) and column in block.header)


def headings(blocks: list[Block]) -> list[str]:
    return [block.text for block in blocks if isinstance(block, HeadingBlock)]


def test_shares_of_themes_and_codes_are_those_of_the_store(store: Store, corpus: CorpusRecord) -> None:
    blocks = written(store)
    themes = table(blocks, "Theme").rows
    with store.reading() as r:
        run = r.runs.themes(corpus.id, whole=True)[-1]
        study = open_study(r, [r.labellings.by_name("gold")])
    assert [row[1] for row in themes] == [theme["name"] for theme in run.config["themes"]]
    size = run.config["themes"][0]["size"]
    value, low, high = (100 * float(one[0]) for one in share_intervals([size], [ROWS]))
    assert themes[0][2:4] == (f"{size:,}", f"{value:.1f} ({low:.1f} to {high:.1f})")
    codes = {row[0]: row for row in table(blocks, "Corrected").rows}
    corrected = share(study.units("Housing")).corrected
    assert corrected is not None
    value, low, high = (100 * x for x in (corrected.value, corrected.low, corrected.high))
    assert codes["Housing"][3] == f"{value:.1f} ({low:.1f} to {high:.1f})"
    assert headings(blocks) == [
        "Report of C", "Question", "Data", "Themes", "Themes by party",
        "Shares of the codes in all 240 units of the project", "Codes by party", "Codings", "Method", "Limits",
    ]  # fmt: skip
    text = " ".join(block.text for block in blocks if isinstance(block, ParagraphBlock))
    assert "prediction-powered inference" in text and "There are no codes" not in text


def test_the_short_report_is_two_pages_of_the_same_numbers(store: Store, corpus: CorpusRecord) -> None:
    short, long = written(store, long=False), written(store)
    assert headings(short) == [
        "Report of C", "Question", "Data", "Shares of the codes in all 240 units of the project", "Agreement",
        "Method", "Limits",
    ]  # fmt: skip
    assert table(short, "Corrected") == table(long, "Corrected")
    assert table(short, "Alpha").rows[0][-1].startswith("0.")
    text = as_markdown(short)
    assert "Krippendorff's alpha" in text and "prediction-powered inference" in text and "party" in text
    assert len(text.split()) < 700 < len(as_markdown(long).split())
    themes = project_report(store, corpus.id, [])
    assert headings(themes) == ["Report of C", "Question", "Data", "Themes", "Limits"]


def test_what_cannot_be_reported_is_said(store: Store, corpus: CorpusRecord) -> None:
    blocks = project_report(store, corpus.id, [], long=True)
    assert "There are no codes of people" in as_html(blocks, "t") and "Codings" not in headings(blocks)
    reasons = {row[0]: row[2] for row in table(written(store), "Left out, because").rows}
    assert reasons == {
        "Codes": "nobody coded a unit in it", "Pilot · Ada": "", "Pilot · Ben": "",
        "gold": "nobody coded a unit in it",
    }  # fmt: skip


def test_word_and_html_have_the_same_content(store: Store) -> None:
    blocks = written(store)
    document = Document(BytesIO(as_docx(blocks, "Report")))
    tables = [[[cell.text for cell in row.cells] for row in found.rows] for found in document.tables]
    assert tables == [
        [list(block.header), *(list(row) for row in block.rows)] for block in blocks if isinstance(block, Table)
    ]
    styles = {f"Heading {level}" for level in (1, 2, 3)}
    assert [p.text for p in document.paragraphs if p.style.name in styles] == headings(blocks)
    assert len(document.element.findall(f".//{qn('w:drawing')}")) == sum(isinstance(b, Picture) for b in blocks) == 1
    hostile = "<w:p>&\x00\ud800 *x*"  # texts of users are text
    document = Document(BytesIO(as_docx([ParagraphBlock(hostile), Table((hostile,), [(hostile,)])], hostile)))
    assert document.paragraphs[0].text == "<w:p>&\ufffd\ufffd *x*" == document.tables[0].rows[1].cells[0].text


def test_the_picture_shows_every_group() -> None:
    from PIL import Image

    points = np.array([[0, 0], [0, 1], [5, 5], [9, 0]], np.float32)
    with Image.open(BytesIO(numbered_picture(points, np.array([0, 0, 1, -1], np.int32)))) as image:
        colours = {colour for _, colour in image.getcolors(1_000_000) or ()}
    assert {(27, 127, 121), (194, 84, 45), (185, 188, 192)} <= colours
    assert numbered_picture(points[:1], np.zeros(1, np.int32))[:4] == b"\x89PNG"


def test_the_command_writes_each_format(store: Store, tmp_path: Path) -> None:
    for suffix, begin in ((".html", b"<!doctype html>"), (".docx", b"PK"), (".md", b"# Report of")):
        out = tmp_path / f"report{suffix}"
        run(store, "report", "C", "--out", str(out), "--labelling", "gold")
        assert out.read_bytes().lower().startswith(begin.lower())
    long = tmp_path / "long.md"
    run(store, "report", "C", "--out", str(long), "--long")
    assert "## Codings" in long.read_text("utf-8") and "## Codings" not in (tmp_path / "report.md").read_text("utf-8")
    assert "not .pdf" in refused(store, "report", "C", "--out", str(tmp_path / "report.pdf"))


# --- studies: what counts, and the same numbers from the replication --------------------------------------------------


def study_of(store: Store, *names: str) -> Study:
    with store.reading() as r:
        return open_study(r, [r.labellings.by_name(name) for name in names])


def test_labels_of_a_sample_count_with_its_probability_and_others_are_left_out(store: Store) -> None:
    study = study_of(store, "Pilot · Ada", "Pilot · Ben")
    given = ~np.isnan(study.labels[:, 0])
    assert len(study.ids) == ROWS and given.sum() == DRAWN and study.machine is None
    assert study.probabilities is not None and np.allclose(study.probabilities, DRAWN / ROWS)
    halves = (study.labels[given] == 0.5).any(axis=1)
    assert halves.sum() == DRAWN // 10, "what two people see differently counts half for each code"
    assert len(np.unique(study.documents)) == ROWS, "rows of a list are documents of their own"
    session = session_of(store, "Codes")
    outside = int(study.ids[~given][0])
    session.do(op.assign(session.partition, np.array([outside]), 1))
    with_other = study_of(store, "Pilot · Ada", "Codes")
    units = with_other.units("Housing")
    assert (units.weights > 0).sum() == DRAWN
    assert any("1 label was not sampled at random" in note for note in share(units).warnings)


def test_predictions_cover_everything_and_make_the_interval_narrower(store: Store) -> None:
    study = study_of(store, "gold")
    assert study.machine is not None and study.machine.shape == (ROWS, 2) and not study.notes
    found = share(study.units("Housing"))
    assert found.people is not None and found.corrected is not None
    assert found.corrected.high - found.corrected.low < 0.7 * (found.people.high - found.people.low)
    with store.reading() as r:
        texts = r.corpora.sentences_by_id(study.ids)
    truth = np.mean([topic(texts[int(id)].text) == "Housing" for id in study.ids])
    assert found.corrected.low < truth < found.corrected.high


def second_wave(store: Store, name: str = "spring", predict: bool = True) -> None:
    file = Path(store.settings.home) / "wave.csv"
    file.write_text(
        "text,party,day\n" + "".join(f"Reply {i} of {name} on buses.,C,2023-01-01\n" for i in range(80)), "utf-8"
    )
    do(
        store, "append-corpus", files=[str(file)], corpus="C", wave=name, reader="table",
        settings={"text": "text", "rows": "sentences"},
    )  # fmt: skip
    if predict:
        do(store, "embed", corpus="C", model="words")
        do(store, "predict-labels", labelling="gold")


def run(store: Store, *args: str) -> str:
    done = CliRunner(env={"THEMESCOPE_HOME": str(store.settings.home)}).invoke(main, [*args])
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(store: Store, *args: str) -> str:
    done = CliRunner(env={"THEMESCOPE_HOME": str(store.settings.home)}).invoke(main, [*args])
    assert done.exit_code == 2
    return done.output


def session_of(store: Store, name: str) -> LabellingSession:
    with store.reading() as r:
        return LabellingSession(store, r.labellings.by_name(name).id, "Ada")


def sampled(store: Store, name: str) -> tuple[TaskRecord, set[int]]:
    """A task, and the sentences that were drawn for it."""
    with store.reading() as r:
        task = next(task for task in r.tasks.list() if task.name == name)
        return task, {s.id for item in r.tasks.items(task.id) for s in sentences_of_item(r, item.range)}


def replicated(folder: Path) -> str:
    script = [sys.executable, "-I", str(folder / "replicate.py")]
    return subprocess.run(script, capture_output=True, text=True, check=True).stdout


def test_a_later_wave_is_outside_of_what_estimates_hold_for_until_it_is_drawn(
    store: Store, corpus: CorpusRecord, tmp_path: Path
) -> None:
    before = share(study_of(store, "gold").units("Housing"))
    second_wave(store)
    study = study_of(store, "gold")
    told = (
        "The estimates hold for the 240 units of “wave 1” that the sample could draw; "
        "outside of it: 80 added since (“spring”)."
    )
    assert study.holds == (told,) and study.outside == 80 and len(study.ids) == ROWS
    assert study.probabilities is not None and np.allclose(study.probabilities, DRAWN / ROWS)
    after = share(study.units("Housing"))
    assert after.units == ROWS and after.people == before.people
    folder = tmp_path / "files"
    text = run(store, "estimate", "gold", "--code", "Housing", "--methods", "--replication", str(folder))
    assert text.count("for the 240 units of “wave 1”") == 2, "beside the table, and in the methods section"
    assert told in (folder / "replicate.py").read_text("utf-8")
    units = (folder / "units.csv").read_text("utf-8").splitlines()
    assert len(units) == 1 + ROWS and all(line.split(",")[5] for line in units)
    with store.reading() as r:
        blocks = project_report(store, corpus.id, [r.labellings.by_name("gold")])
    report = as_html(blocks, "t")
    assert told in report and "Codes by wave" not in report
    section = methods_section(store, [session_of(store, "Pilot · Ada").record.id])
    assert "60 of 240 units at random, which stand for the 240 units of “wave 1”" in section
    # Now from the rest: both samples together are one of all.
    run(store, "sample", "C", "More", "--number", "20", "--person", "Ada", "--outside", "--codes", "Codes")
    assert study_of(store, "gold").holds == (told,), "nothing of it is labelled yet"
    more, _ = sampled(store, "More")
    with store.reading() as r:
        assert {item.article_id for item in r.tasks.items(more.id)} == {int(r.corpora.article_ids(corpus.id)[-1])}
    label(store, more.id, "Ada")
    study = study_of(store, "Pilot · Ada", "More · Ada")
    assert study.holds == ("The estimates hold for all 320 units of the project.",) and study.outside == 0
    p = study.probabilities
    assert p is not None and np.allclose(p[:ROWS], DRAWN / ROWS) and np.allclose(p[ROWS:], 20 / 80)
    with store.reading() as r:
        column = next(one for one in columns_of(r, corpus.id).values() if one.name == "wave")
        waves = groups_of(r, study, column)
    by_wave = {one.name: one for one in shares(study.units("Transport"), waves)}
    assert by_wave["spring"].labels == 20 and by_wave["spring"].people is not None
    for id in study.ids[~np.isnan(study.labels[:, 0]) & (np.arange(320) >= ROWS)].tolist():
        corpus_edits.correct_text(store, corpus.id, id, f"Another text {id}", "Ada")
    with pytest.raises(DataError, match="20 of 20 sampled units removed or changed since"):
        study_of(store, "More · Ada")


def test_removed_and_changed_sentences_are_outside_too(store: Store, corpus: CorpusRecord) -> None:
    second_wave(store, predict=False)
    run(store, "sample", "C", "All", "--number", "100", "--person", "Ada", "--codes", "Codes")
    task, drawn = sampled(store, "All")
    label(store, task.id, "Ada")
    study = study_of(store, "All · Ada")
    assert study.holds[0] == "The estimates hold for all 320 units of the project."
    with store.reading() as r:
        blocks = project_report(store, corpus.id, [r.labellings.by_name("All · Ada")], long=True)
    (by_table,) = (
        block for block in blocks if isinstance(block, Table) and block.header[0] == "Code" and "spring" in block.header
    )
    assert by_table.rows and not any("–" in row for row in by_table.rows)
    run(store, "sample", "C", "Spring", "--number", "5", "--person", "Ada", "--where", "wave=spring")
    first = study.ids[:ROWS]
    corrected = [int(first[np.isin(first, [*drawn])][0]), int(first[~np.isin(first, [*drawn])][0])]
    edits = [corpus_edits.correct_text(store, corpus.id, id, f"Another text {id}", "Ada") for id in corrected]
    corpus_edits.remove_wave(store, corpus.id, "spring", "Ada")
    gone = len(drawn - {*first.tolist()})
    study = study_of(store, "All · Ada")
    assert not np.isin(corrected, study.ids).any() and len(study.ids) == ROWS - 2
    assert study.holds == (
        "The estimates hold for the 238 units that the sample could draw; outside of it: 2 with a text changed "
        "since, 80 removed since.",
        "1 code of units outside of it left out.",
        f"{gone + 1} of {len(drawn | sampled(store, 'Pilot')[1])} sampled units removed or changed since.",
    )
    for edit in edits:
        corpus_edits.undo(store, corpus.id, edit.id, "Ada")
    assert len(study_of(store, "All · Ada").ids) == ROWS


def test_the_frame_travels_in_a_bundle_without_the_removed_wave(
    store: Store, corpus: CorpusRecord, tmp_path: Path
) -> None:
    second_wave(store, predict=False)
    run(store, "sample", "C", "All", "--number", "100", "--person", "Ada", "--codes", "Codes")
    task, _ = sampled(store, "All")
    label(store, task.id, "Ada")
    corpus_edits.remove_wave(store, corpus.id, "spring", "Ada")
    second_wave(store, "summer", predict=False)
    before = study_of(store, "All · Ada")
    assert "“wave 1”" in before.holds[0] and "80 added since (“summer”)" in before.holds[0]
    path = tmp_path / "project.zip"
    do(store, "export-bundle", corpus="C", file=str(path))
    with store.writing() as w:
        w.corpora.delete(corpus.id)
    do(store, "import-bundle", file=str(path))
    after = study_of(store, "All · Ada")
    assert after.outside == before.outside == 80 and len(after.ids) == len(before.ids) == ROWS
    assert after.probabilities is not None and np.array_equal(after.probabilities, before.probabilities)
    assert "“wave 1”" in after.holds[0] and "80 added since (“summer”)" in after.holds[0]


def test_sampled_sentences_without_a_label_that_counts_are_open(store: Store, tmp_path: Path) -> None:
    session = session_of(store, "gold")
    whole = study_of(store, "gold")
    doubtful = whole.ids[~np.isnan(whole.labels[:, 0])][:6]
    session.do(op.mark(session.partition, doubtful, True))
    study = study_of(store, "gold")
    assert study.holds[1].startswith("6 of 60 sampled units open: not coded, uncertain or disputed.")
    found = share(study.units("Housing"))
    assert found.labels == DRAWN - 6 and found.open == 6 and found.least is not None and found.most is not None
    assert found.least.value < found.corrected.value < found.most.value
    folder = tmp_path / "files"
    text = run(store, "estimate", "gold", "--code", "Housing", "--methods", "--replication", str(folder))
    assert "least" in text and "whatever the labels of 6 open units are" in text
    assert f"all units\tleast\t{100 * found.least.value:.4f}" in replicated(folder)
    assert sum(line.endswith(",1") for line in (folder / "units.csv").read_text("utf-8").splitlines()) == 6


def test_what_two_people_dispute_is_open_in_their_gold_labelling(store: Store) -> None:
    with store.reading() as r:
        two = [r.labellings.by_name(f"Pilot · {person}") for person in ("Ada", "Ben")]
    begin = agreement.from_adjudication([record.id for record in two], placed_only=True)
    starts.begin(store, NewLabelling(two[0].corpus_id, "agreed", "Ada"), begin)
    study = study_of(store, "agreed")
    assert any(note.startswith("6 of 60 sampled units open") for note in study.holds)
    found, ada = share(study.units("Housing")), share(study_of(store, "Pilot · Ada").units("Housing"))
    assert (found.labels, found.open) == (DRAWN - 6, 6)
    assert found.least.value <= ada.corrected.value <= found.most.value


def test_a_sentence_with_two_codes_counts_for_both_and_groups_are_categories_and_periods(store: Store) -> None:
    before = study_of(store, "Pilot · Ada")
    session = session_of(store, "Pilot · Ada")
    session.do(coding.allow_several(session.partition, True))
    numbers = {cluster.name: number for number, cluster in session.partition.clusters.items()}
    some = session.partition.members(numbers["Housing"])[:5]
    session.do(coding.add_code(session.partition, some, numbers["Transport"], session.next_number))
    after = study_of(store, "Pilot · Ada")
    assert after.codes == before.codes == ("Housing", "Transport")
    both = np.isin(after.ids, some)
    with store.reading() as r:
        columns = columns_of(r, after.corpus.id)
        assert {*groups_of(r, after, columns["party"])} == {"A", "B"}
        assert {*groups_of(r, after, columns["day"], "year")} == {"2020", "2021", "2022"}
    assert (after.labels[both] == 1).all() and np.nansum(after.labels, axis=0)[0] == np.nansum(before.labels, axis=0)[0]


def test_labels_that_nobody_sampled_are_said_to_be(store: Store) -> None:
    with pytest.raises(DataError, match="Nobody has coded a unit yet"):
        study_of(store, "Codes")
    file = {"files": [str(Path(store.settings.home) / "more.csv")], "corpus": "D"}
    Path(file["files"][0]).write_text("text\n" + "".join(f"Sentence {i} of rents.\n" for i in range(20)), "utf-8")
    do(store, "import-corpus", **file)
    with store.reading() as r:
        corpus = r.corpora.by_name("D")
    made = starts.begin(store, NewLabelling(corpus.id, "D", "Ada"), starts.from_nothing)
    session = LabellingSession(store, made.id, "Ada")
    session.do(op.create(session.partition, 1, "Housing", session.partition.ids[:12]))
    study = study_of(store, "D")
    assert study.holds == (
        "Only 12 units were checked, not at random: no estimate for all.", "8 units without a code.",
    )  # fmt: skip
    found = share(study.units("Housing"))
    assert (found.people, found.corrected, found.warnings) == (None, None, (COUNTED,))
    assert (found.coded, found.checked, found.units) == (12, 12, 20)
    session.do(op.mark(session.partition, session.partition.ids[10:14], True))
    assert study_of(store, "D").holds[0] == "4 units marked as uncertain or disputed left out."
    assert run(store, "estimate", "D").count("12 of 20 units") == 1
    with store.reading() as r:
        report = as_html(project_report(store, corpus.id, [r.labellings.by_name("D")]), "t")
    assert "12 of 20 units" in report and "Only 10 units were checked" in report
    assert "60.0" not in report and "100.0" not in report
    session.do(op.mark(session.partition, session.partition.ids[10:14], False))
    session.do(op.create(session.partition, 2, "Other", session.partition.ids[12:]))
    whole = share(study_of(store, "D").units("Housing"))
    assert whole.people is not None and whole.people.value == pytest.approx(0.6) and not whole.warnings
    with pytest.raises(DataError, match="one project"):
        study_of(store, "Codes", "D")


def test_labels_of_a_file_may_be_those_of_a_sample(store: Store) -> None:
    texts = [f"{what} {number} of the {party} party." for party in "AB" for what in "xy" for number in range(40)]
    rows = [(text, text[-8]) for text in texts]
    home = Path(store.settings.home)
    (home / "d.csv").write_text("text,party\n" + "".join(f"{t},{p}\n" for t, p in rows), "utf-8")
    checked = [(text, "Fares" if party == "A" else "Other") for text, party in rows if text.split()[1] < "20"]
    (home / "labels.csv").write_text("text,label\n" + "".join(f"{t},{c}\n" for t, c in checked), "utf-8")
    do(store, "import-corpus", files=[str(home / "d.csv")], corpus="D", types={"party": "category"})
    run(store, "labels", "import", str(home / "labels.csv"), "--corpus", "D", "--name", "L")
    study = study_of(store, "L")
    with store.reading() as r:
        party_of = np.array(groups_of(r, study, columns_of(r, study.corpus.id)["party"]))
    for party, low, high in (("A", 0.5, 1.0), ("B", 0.0, 0.5)):
        found = share(study.units("Fares"), party_of == party)
        assert found.people is not None and low <= found.people.low < found.people.high <= high
        assert found.people.value == (party == "A") and NOT_RANDOM in found.warnings
    assert study.frame.endswith("if the imported codes are those of a random sample")


def test_moves_in_a_coding_of_themes_are_no_sample(store: Store, corpus: CorpusRecord) -> None:
    do(store, "find-themes", corpus="C", model="words", settings={"k": 2})
    with store.reading() as r:
        themes = r.runs.themes(corpus.id, whole=True)[-1]
    made = starts.begin(store, NewLabelling(corpus.id, "Sorted", "Ada"), starts.from_themes(themes.id))
    session = LabellingSession(store, made.id, "Ada")
    session.do(op.create(session.partition, session.next_number, "Rents", session.partition.ids[:8:2]))
    study = study_of(store, "Sorted")
    assert study.counted.startswith("Only 4 units were checked")
    assert "236 units with the theme of the machine, unchecked." in study.holds
    assert len(study.codes) == 3 and share(study.units("Rents")).coded == 4
    with store.reading() as r:
        groups = groups_of(r, study, columns_of(r, corpus.id)["party"])
    assert [(one.coded, one.units) for one in shares(study.units("Rents"), groups)] == [(4, 120), (0, 120)]
    part = composition(study.units("Rents"), np.array(groups) == "A")
    assert (part.coded, part.units) == (4, 4), "of the units with the code, not of all"


def test_the_command_prints_what_the_replication_computes(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    command = ["estimate", "gold", "--code", "Housing", "--by", "party", "--replication", str(folder), "--json"]
    rows = {}
    for more, named in (([], "{}"), (["--composition"], "of the code, {}"), (["--difference", "A", "B"], "A – B")):
        listed = json.loads(run(store, *command, *more))["codes"]["Housing"]
        rows |= {named.format(one["name"]) if one["name"] else "all units": one for one in listed}
    printed = replicated(folder).splitlines()[1:]
    assert len(printed) == 18
    for group, way, *numbers in (line.split("\t") for line in printed):
        expected = [100 * rows[group][way][key] for key in ("value", "low", "high")]
        assert [float(number) for number in numbers] == pytest.approx(expected, abs=1e-3)


def test_the_command_says_what_is_unknown(store: Store) -> None:
    ada = ("estimate", "Pilot · Ada")
    assert "Known: day, party" in refused(store, *ada, "--by", "region")
    assert "Known: Housing, Transport" in refused(store, *ada, "--code", "Health")
    assert "one code" in refused(store, *ada, "--replication", "x")
    assert "Known: A, B" in refused(store, *ada, "--by", "party", "--difference", "A", "C")
