"""Estimates from labels of a sample and from predictions: what counts, and the same numbers from the replication."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.homes import CopyHome, MakeHome
from tests.jobs.estimates.survey import DRAWN, ROWS, label, survey, topic
from tests.jobs.helpers import sentences_of_item
from tests.jobs.test_kinds import do
from themescope.core.errors import DataError
from themescope.core.estimates.shares import COUNTED, NOT_RANDOM, composition, share, shares
from themescope.core.labelling import coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.markup import Table, as_html
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.services import corpus_edits
from themescope.jobs.services.estimates import Study, columns_of, groups_of, open_study
from themescope.jobs.services.labelling import agreement, starts
from themescope.jobs.services.labelling.codebook import methods_section
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.report import project_report


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_home(survey(tmp_path_factory.mktemp("answers"), predicted=True))


@pytest.fixture
def store(copy_home: CopyHome, home: Path) -> Store:
    return copy_home(home)


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
    with store.reading() as r:
        other = r.labellings.by_name("Codes")
    session = LabellingSession(store, other.id, "Ada")
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


def test_a_later_wave_is_outside_of_what_estimates_hold_for_until_it_is_drawn_from(
    store: Store, tmp_path: Path
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
        (corpus,) = r.corpora.list()
        blocks = project_report(store, corpus.id, [r.labellings.by_name("gold")])
    report = as_html(blocks, "t")
    assert told in report and "Codes by wave" not in report
    with store.reading() as r:
        ada = r.labellings.by_name("Pilot · Ada")
    section = methods_section(store, [ada.id])
    assert "60 of 240 units at random, which stand for the 240 units of “wave 1”" in section
    # Now from the rest: both samples together are one of all.
    run(store, "sample", "C", "More", "--number", "20", "--person", "Ada", "--outside", "--codes", "Codes")
    assert study_of(store, "gold").holds == (told,), "nothing of it is labelled yet"
    with store.reading() as r:
        (more,) = (task for task in r.tasks.list(corpus.id) if task.name == "More")
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


def test_removed_and_changed_sentences_are_outside_too(store: Store) -> None:
    second_wave(store, predict=False)
    run(store, "sample", "C", "All", "--number", "100", "--person", "Ada", "--codes", "Codes")
    with store.reading() as r:
        (corpus,) = r.corpora.list()
        task = next(task for task in r.tasks.list(corpus.id) if task.name == "All")
        drawn = {s.id for item in r.tasks.items(task.id) for s in sentences_of_item(r, item.range)}
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
        f"{gone + 1} of {len(drawn | pilot(store))} sampled units removed or changed since.",
    )
    for edit in edits:
        corpus_edits.undo(store, corpus.id, edit.id, "Ada")
    assert len(study_of(store, "All · Ada").ids) == ROWS


def pilot(store: Store) -> set[int]:
    with store.reading() as r:
        task = next(task for task in r.tasks.list() if task.name == "Pilot")
        return {s.id for item in r.tasks.items(task.id) for s in sentences_of_item(r, item.range)}


def test_the_frame_travels_in_a_bundle_without_the_removed_wave(store: Store, tmp_path: Path) -> None:
    second_wave(store, predict=False)
    run(store, "sample", "C", "All", "--number", "100", "--person", "Ada", "--codes", "Codes")
    with store.reading() as r:
        corpus = r.corpora.by_name("C")
        task = next(task for task in r.tasks.list(corpus.id) if task.name == "All")
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
    assert "“wave 1”" in after.holds[0] and "80 added since (“summer”)" in after.holds[0]


def test_sampled_sentences_without_a_label_that_counts_are_open(store: Store, tmp_path: Path) -> None:
    with store.reading() as r:
        record = r.labellings.by_name("gold")
    session = LabellingSession(store, record.id, "Ada")
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
    script = [sys.executable, "-I", str(folder / "replicate.py")]
    printed = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    assert f"all units\tleast\t{100 * found.least.value:.4f}" in printed
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


def test_a_sentence_with_two_codes_counts_for_both(store: Store) -> None:
    before = study_of(store, "Pilot · Ada")
    with store.reading() as r:
        record = r.labellings.by_name("Pilot · Ada")
    session = LabellingSession(store, record.id, "Ada")
    session.do(coding.allow_several(session.partition, True))
    numbers = {cluster.name: number for number, cluster in session.partition.clusters.items()}
    some = session.partition.members(numbers["Housing"])[:5]
    session.do(coding.add_code(session.partition, some, numbers["Transport"], session.next_number))
    after = study_of(store, "Pilot · Ada")
    assert after.codes == before.codes == ("Housing", "Transport")
    both = np.isin(after.ids, some)
    assert (after.labels[both] == 1).all() and np.nansum(after.labels, axis=0)[0] == np.nansum(before.labels, axis=0)[0]


def test_groups_are_categories_and_periods(store: Store) -> None:
    study = study_of(store, "Pilot · Ada")
    with store.reading() as r:
        columns = columns_of(r, study.corpus.id)
        assert {*groups_of(r, study, columns["party"])} == {"A", "B"}
        assert {*groups_of(r, study, columns["day"], "year")} == {"2020", "2021", "2022"}


def test_labels_that_nobody_sampled_are_said_to_be(store: Store) -> None:
    with store.reading() as r:
        codes = r.labellings.by_name("Codes")
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
    assert (
        "12 of 20 units" in report
        and "60.0" not in report
        and "100.0" not in report
        and "Only 10 units were checked" in report
    )
    session.do(op.mark(session.partition, session.partition.ids[10:14], False))
    session.do(op.create(session.partition, 2, "Other", session.partition.ids[12:]))
    whole = share(study_of(store, "D").units("Housing"))
    assert whole.people is not None and whole.people.value == pytest.approx(0.6) and not whole.warnings
    with store.reading() as r, pytest.raises(DataError, match="one project"):
        open_study(r, [codes, r.labellings.by_name("D")])


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


def test_moves_in_a_coding_of_themes_are_no_sample(store: Store) -> None:
    with store.reading() as r:
        (corpus, *_), model = r.corpora.list(), r.models.list()[-1]
    do(store, "find-themes", corpus=corpus.name, model=model.name, settings={"k": 2})
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
        done = CliRunner(env={"THEMESCOPE_HOME": str(store.settings.home)}).invoke(main, [*command, *more])
        assert done.exit_code == 0, done.output
        listed = json.loads(done.stdout)["codes"]["Housing"]
        rows |= {named.format(one["name"]) if one["name"] else "all units": one for one in listed}
    script = [sys.executable, "-I", str(folder / "replicate.py")]
    printed = subprocess.run(script, capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    assert len(printed) == 18
    for group, way, *numbers in (line.split("\t") for line in printed):
        expected = [100 * rows[group][way][key] for key in ("value", "low", "high")]
        assert [float(number) for number in numbers] == pytest.approx(expected, abs=1e-3)


def test_the_command_says_what_is_unknown(store: Store) -> None:
    def said(*args: str) -> str:
        done = CliRunner(env={"THEMESCOPE_HOME": str(store.settings.home)}).invoke(main, ["estimate", *args])
        assert done.exit_code
        return done.output

    assert "Known: day, party" in said("Pilot · Ada", "--by", "region")
    assert "Known: Housing, Transport" in said("Pilot · Ada", "--code", "Health")
    assert "one code" in said("Pilot · Ada", "--replication", "x")
    assert "Known: A, B" in said("Pilot · Ada", "--by", "party", "--difference", "A", "C")
