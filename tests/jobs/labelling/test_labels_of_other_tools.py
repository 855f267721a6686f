"""Labels of other programs: the right column is taken, cells are divided, and what does not match is a file."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.db.texts import add_articles
from tests.jobs.helpers import only_plan
from tests.jobs.test_cli import call, call_json
from themescope.core.errors import DataError, ReadError
from themescope.core.labelling.agreement import agreement_on_codes
from themescope.core.readers.tables import Sheet, read_sheet
from themescope.core.records.stored import LabellingRecord
from themescope.core.types import Article, Paragraph, Section
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services.labelling import files, starts, tables
from themescope.jobs.services.labelling.agreement import coded_text, left_out
from themescope.jobs.services.labelling.codebook import methods_section

TEXTS = (
    "The bus is late.",
    "Trains are full.",
    "The ferry was cancelled.",
    "Tickets cost too much.",
    "It’s “his” café…",
)
LABELS = ("bus", "train", "ferry", "price", "bus")


def corpus_of(store: Store, *texts: str) -> int:
    section = Section("", 1, (Paragraph("", texts or TEXTS),))
    return add_articles(store, "study", [Article("A", (section,))])


Planned = Callable[[str, "str | bytes"], tuple[tables.Plan, dict[str, str]]]


@pytest.fixture
def corpus(sqlite_store: Store) -> int:
    return corpus_of(sqlite_store)


@pytest.fixture
def planned(sqlite_store: Store, corpus: int, tmp_path: Path) -> Planned:
    return partial(plan_of, sqlite_store, corpus, tmp_path)


def plan_of(
    store: Store, corpus: int, folder: Path, name: str, content: str | bytes
) -> tuple[tables.Plan, dict[str, str]]:
    """Plan an import; return also text → name of its cluster."""
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    sheet = files.read_labels(folder / name)
    plan = only_plan(store, corpus, None, sheet, tables.likely_columns(sheet))
    with store.reading() as r:
        found = r.corpora.sentences_by_id([*plan.placed])
    return plan, {found[id].text: ", ".join(plan.names[n] for n in sorted(s)) for id, s in plan.placed.items()}


def cells(*rows: tuple[object, ...]) -> str:
    return "".join(",".join('"' + str(cell).replace('"', '""') + '"' for cell in row) + "\n" for row in rows)


def choices(label: str) -> dict[str, object]:
    return {"value": {"choices": [label]}, "from_name": "topic", "to_name": "text", "type": "choices"}


PAIRS = tuple(zip(TEXTS, LABELS, strict=True))
EXPORTS = Path(__file__).with_name("exports")
"""Files as other programs write them: by one annotator, by two, and with labels of parts of a text."""


def exported(folder: str) -> pytest.MarkDecorator:
    paths = sorted((EXPORTS / folder).iterdir())
    return pytest.mark.parametrize("path", paths, ids=[path.name for path in paths])


@exported("one-annotator")
def test_exports_of_other_programs_are_recognised(planned: Planned, path: Path) -> None:
    plan, found = planned(path.name, path.read_bytes())
    assert found == dict(PAIRS) and not plan.problems and not plan.several


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.jsonl", '{"text": "The bus is late.", "label": ["bus", "delay"]}\n'
         '{"text": "Trains are full.", "label": []}\n'),
        ("d.csv", "id,text,label\n1,The bus is late.,bus#delay\n2,Trains are full.,\n"),
        ("l.csv", cells(("id", "text", "topic"), (1, TEXTS[0], '{"choices": ["bus", "delay"]}'), (2, TEXTS[1], ""))),
        ("a.csv", cells(("text", "annotation", "status"), (TEXTS[0], "['bus', 'delay']", "x"), (TEXTS[1], "[]", "x"))),
        ("q.csv", cells(("Quotation Content", "Codes"), (TEXTS[0], "bus\ndelay"), (TEXTS[1], ""))),
        ("p.jsonl", '{"text": "The bus is late.", "accept": ["bus", "delay"], "answer": "accept"}\n'
         '{"text": "Trains are full.", "accept": ["bus"], "answer": "reject"}\n'),
    ],
)  # fmt: skip
def test_several_labels_are_several_codes(planned: Planned, name: str, content: str) -> None:
    plan, found = planned(name, content)
    assert found == {"The bus is late.": "bus, delay", "Trains are full.": ""} and plan.names == ("bus", "delay")
    assert plan.several == 1 and not plan.problems


def test_numbers_and_blanks(planned: Planned) -> None:
    rows = list(zip(TEXTS, ("1.0", "-1", "2.0", "", "NA"), strict=True))
    plan, found = planned("a.csv", cells(("text", "cluster"), *rows))
    assert [*found.values()] == ["1", "", "2", "", ""]
    assert plan.remarks == ("1 × “NA” is read as no code", "1 × “-1” is read as no code")
    for names in (["C#", "-1", "none"], ["1.0", "a", "2"]):
        assert [*planned("b.csv", cells(("text", "cluster"), *zip(TEXTS, names, strict=False)))[1].values()] == names
    text = cells(("annotation_id", "text", "codes"), (1, BUS, "NA"), (2, TRAIN, "a; b|c"))
    assert planned("d.csv", text)[0].names == ("NA", "a; b|c")  # Label Studio has lists of several
    text = cells(("annotation_id", "text", "codes"), (1, TEXTS[4], '{"choices": ["say \\"no\\""]}')).replace(",", "\t")
    own = [{"text": BUS, "sentence_id": 1, "theme": ["Wheels"], "codes": "Bus / tram", "annotator": 1}]
    assert planned("min.json", json.dumps(own))[0].themes == {"Bus / tram": "Wheels"}
    assert planned("e.tsv", text)[1] == {TEXTS[4]: 'say "no"'}


@pytest.mark.parametrize("text", ['It\'s "his" cafe\u0301...', "IT’S «HIS» CAFÉ…", "it's  'his'\u00a0café..."])
def test_forms_of_signs_and_letters_do_not_prevent_a_match(planned: Planned, text: str) -> None:
    _, found = planned("a.csv", cells(("text", "cluster"), (text.replace("'his'", '"his"'), "a")))
    assert found == {TEXTS[-1]: "a"}


def test_equal_sentences_are_assigned_one_by_one(sqlite_store: Store, tmp_path: Path) -> None:
    corpus = corpus_of(sqlite_store, "Same.", "Other.", "Same.")
    rows = [("text", "cluster"), ("Same.", "a"), ("Other.", "b"), ("Same.", "c")]
    plan, _ = plan_of(sqlite_store, corpus, tmp_path, "a.csv", cells(*rows))
    placed = [plan.names[place] for id in sorted(plan.placed) for place in plan.placed[id]]
    assert placed == ["a", "b", "c"] and not plan.problems
    fewer, _ = plan_of(sqlite_store, corpus, tmp_path, "b.csv", cells(*rows[:3]))
    assert [one.why.partition(":")[0] for one in fewer.problems] == ["2 sentences have this text"]
    assert "--together" in fewer.problems[0].why


def test_what_does_not_match_is_a_file_to_correct_and_bring_again(sqlite_store: Store, tmp_path: Path) -> None:
    corpus_of(sqlite_store)
    rows, path, wrong = [*PAIRS[:2], ("The bus was late.", "ferry")], tmp_path / "a.csv", tmp_path / "wrong.csv"
    path.write_text(cells(("text", "cluster"), *rows), encoding="utf-8")
    common = ("--corpus", "study", "--problems", str(wrong))
    refused = call("labels", "import", path, *common)
    assert refused.exit_code == 2 and "row 4: no sentence has this text" in refused.stderr
    assert "--problems" in refused.stderr
    with wrong.open(encoding="utf-8", newline="") as stream:
        header, *left = csv.reader(stream)
    assert header == ["place", "text", "cluster", "reason"]
    assert left == [["row 4", "The bus was late.", "ferry", "no sentence has this text"]]
    corrected = wrong.read_text(encoding="utf-8").replace("The bus was late.", TEXTS[2])
    wrong.write_text(corrected, encoding="utf-8")
    again = call_json("labels", "import", wrong, "--corpus", "study")
    assert (again["rows"], again["clusters"], again["left_out"]) == (1, 1, [])


# --- annotators -------------------------------------------------------------------------------------------------------


def lines(*records: dict[str, object]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@exported("two-annotators")
def test_each_annotator_has_a_labelling(sqlite_store: Store, corpus: int, path: Path) -> None:
    sheet = files.read_labels(path)
    how = tables.LabelReading(together=False, several=False)
    found = tables.plans(sqlite_store, corpus, None, sheet, tables.likely_columns(sheet), how)
    assert [plan.coder for plan in found] == ["ada", "bea"] and tables.differing(found) == 1
    assert not any(plan.problems or plan.several for plan in found)
    new = NewLabelling(corpus, "L", "lea")
    records = starts.begin_each(sqlite_store, new, [(one.coder, tables.from_plan(one, path.name)) for one in found])
    assert [record.name for record in records] == ["L (ada)", "L (bea)"]
    rows = [{row[6]: (row[7], row[12], row[13]) for row in files.rows(sqlite_store, record.id)} for record in records]
    assert [row[TEXTS[0]] for row in rows] == [("bus", "imported", "ada"), ("delay", "imported", "bea")]
    assert [row[TEXTS[1]] for row in rows] == [("train", "imported", "ada"), ("train", "imported", "bea")]
    assert [row[TEXTS[2]] for row in rows] == [("", "", "")] * 2
    notes = {row[11] for record in records for row in files.rows(sqlite_store, record.id)}
    assert notes == {"", "check"} and {name for plan in found for name in plan.names} == {"bus", "delay", "train"}


def test_disagreement_of_annotators_is_measured(sqlite_store: Store) -> None:
    corpus_of(sqlite_store)
    path = EXPORTS / "two-annotators" / "label-studio.json"
    told = call_json("labels", "import", path, "--corpus", "study", "--name", "L")
    assert (told["annotators"], told["differing"], told["labelling"]) == (2, 1, "L (ada), L (bea)")
    with sqlite_store.reading() as r:
        text = coded_text(r, r.labellings.list())
        assert not left_out(r, text.coders)
    section = methods_section(sqlite_store, [record.id for record in labellings(sqlite_store)])
    assert "2 people made 2 codings" in section
    judged, names = [coder.judged for coder in text.coders], [coder.names for coder in text.coders]
    measured = agreement_on_codes(judged, names, text.articles)
    assert measured is not None and (measured.sentences, measured.observed) == (2, 0.5)


BUS, TRAIN = "The bus is late.", "Trains are full."
BOTH = "text,{}\nThe bus is late.,{}\nTrains are full.,{}\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (f"{BOTH.format('bus,train,delay', '1,0,1', '0,1,0')}Tickets cost too much.,0,0,0\n",
         {BUS: "bus, delay", TRAIN: "train", TEXTS[3]: ""}),
        ("text;topic_bus;topic_train\nThe bus is late.;x;\nTrains are full.;;x\n", {BUS: "bus", TRAIN: "train"}),
        (BOTH.format("place,late,full", "N,TRUE,FALSE", "N,FALSE,TRUE"), {BUS: "late", TRAIN: "full"}),
        (BOTH.format("late", "yes", "no"), {BUS: "late", TRAIN: ""}),
        (BOTH.format("label", "1", "0"), {BUS: "1", TRAIN: "0"}),
        (BOTH.format("bus,train", "✓,", ",✓"), {BUS: "bus", TRAIN: "train"}),
        (BOTH.format("Bus,Zug", "ja,nein", "nein,ja"), {BUS: "Bus", TRAIN: "Zug"}),
        (BOTH.format("bus,train,total", "2,0,2", "0,1,1"), {BUS: "bus", TRAIN: "train"}),
        (BOTH.format("bus,train", "1,-1", "-1,1"), {BUS: "bus", TRAIN: "train"}),
        (BOTH.format("Code: Bus Applied,Code: Train Applied", "True,False", "False,True"),
         {BUS: "Bus", TRAIN: "Train"}),
        (BOTH.format("Code: Bus Applied,Code: Train Applied,Codes Combined", "True,False,Bus", "False,True,Train"),
         {BUS: "Bus", TRAIN: "Train"}),
        (f'text,codes\n{BUS},"bus, delay"\n{TRAIN},bus\n{TEXTS[3]},delay\n',
         {BUS: "bus, delay", TRAIN: "bus", TEXTS[3]: "delay"}),
        (f'text,codes\n{BUS},"bus, always late"\n{TRAIN},bus\n', {BUS: "bus, always late", TRAIN: "bus"}),
        (BOTH.format("codes", "bus; delay", "train"), {BUS: "bus, delay", TRAIN: "train"}),
    ],
)  # fmt: skip
def test_columns_of_marks_are_codes(planned: Planned, content: str, expected: object) -> None:
    plan, found = planned("a.csv", content)
    assert found == expected
    assert any("place" in remark for remark in plan.remarks) == ("place" in content)


TRANSPORT = {"Bus": "Transport", "Train": "Transport"}
PATHS = [BOTH.format("code", f"Transport{sign}Bus", f"Transport{sign}Train")
         for sign in (" > ", ">", ">>", " → ", "/", " / ", "\\", "::", ".")]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "themes"),
    [
        *((f"{n}.csv", content, TRANSPORT) for n, content in enumerate(PATHS)),
        *(("b.csv", BOTH.format(names, "Transport,Bus", "Transport,Train"), TRANSPORT)
          for names in ("category,subcategory", "parent code,code", "theme,sub-theme", "Level 1,Level 2",
                        "Ebene 1,Ebene 2", "Category,Codename", "category,label", "theme,code",
                        "Oberkategorie,Kategorie")),
        ("c.csv", BOTH.format("bus.Bus,train.Train", "1,0", "0,1").replace("bus.", "Transport:::").replace(
            "train.", "Transport:::"), {}),
        ("d.csv", BOTH.format("a:::Bus,b:::Train", "1,0", "0,1"), {"Bus": "a", "Train": "b"}),
        ("e.csv", BOTH.format("l1 level 1,l level 2,level 3", "Transport,Road,Bus", "Transport,Rail,Train"),
         {"Road > Bus": "Transport", "Rail > Train": "Transport"}),
        ("f.csv", BOTH.format("code", "Transport > Other", "Money > Other"),
         {"Other (Transport)": "Transport", "Other (Money)": "Money"}),
        ("g.json", json.dumps([
            {"data": {"text": text}, "annotations": [
                {"result": [{"type": "taxonomy", "value": {"taxonomy": [["Transport", name]]}}]}]}
            for text, name in ((BUS, "Bus"), (TRAIN, "Train"))]), TRANSPORT),
        ("h.json", json.dumps([{"text": BUS, "tax": [["Transport", "Bus"]], "annotator": 1},
                               {"text": TRAIN, "tax": [["Transport", "Train"]], "annotator": 1}]), TRANSPORT),
        ("i.json", json.dumps([{"data": {"text": text}, "annotations": [{"result": [
            {**choices("Bus"), "from_name": "topic"}, {**choices(name), "from_name": "mood"}]}]}
            for text, name in ((BUS, "bad"), (TRAIN, "Bus"))]),
         {"Bus (topic)": "topic", "bad": "mood", "Bus (mood)": "mood"}),
        *((f"k{n}.csv", BOTH.format("code", one, two), {}) for n, (one, two) in enumerate((
            ("bus/tram", "train"), ("2024/01/02", "2024/01/03"), ("p>0.5", "n >10"), ("2.50.10", "2.50.20")))),
    ],
)  # fmt: skip
def test_levels_are_kept(
    sqlite_store: Store, planned: Planned, name: str, content: str, themes: dict[str, str]
) -> None:
    plan, found = planned(name, content)
    assert plan.themes == themes and {*found} == {BUS, TRAIN} and all(found.values())
    record = starts.begin(sqlite_store, NewLabelling(1, "L", "lea"), tables.from_plan(plan, name))
    kept = {row[7]: row[9] for row in files.rows(sqlite_store, record.id) if row[9] and row[7][0] != "["}
    assert kept.items() <= themes.items() and bool(kept) == (bool(themes) and name != "i.json")


@exported("parts")
def test_labels_of_parts_are_those_of_the_units_they_are_in(planned: Planned, path: Path) -> None:
    plan, found = planned(path.name, path.read_bytes())
    assert found == {BUS: "vehicle", TRAIN: "vehicle, state"} and not plan.problems
    assert f"{1 if 'document' in path.name else 2} units have labels of a part of them" in plan.remarks


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.json", json.dumps([{"fields": {"text": BUS}, "responses": {}, "suggestions": {"topic": {"value": "bus"}}}]),
         "with suggestions of a program only, which are not read, without a label: 1"),
        ("b.json", json.dumps([{"data": {"text": BUS}, "annotations": [], "predictions": [{"result": []}]}]),
         "with suggestions of a program only, which are not read, without a label: 1"),
        ("c.jsonl", lines({"text": BUS, "label": "bus", "answer": "reject"}), "skipped or rejected, without a label"),
        ("d.json", json.dumps([{"id": 1, "data": {"text": BUS}}]), "tasks of Label Studio without annotations"),
        ("e.csv", BOTH.format("bus,train", "0,0", "0,0"), "has a label. columns of marks, read as codes: bus, train"),
        ("f.csv", BOTH.format("bus,train", "0.9,0.1", "0.2,0.8"), "has numbers such as 0.9, not codes"),
        ("g.csv", BOTH.format("comment", "check", "why?"), "this file has “text”, “comment”. Choose them"),
        ("h.csv", "instance_id,user_id,topic.bus\n1,ada,true\n2,ada,\n", "file has “instance_id”, “user_id”, “label”"),
        ("i.ann", "T1\tvehicle 4 7\tbus\n", "export a table .CSV, JSON. with a text and its label in each row"),
        ("k.jsonl", lines({"text": BUS, "label": []}), "No row of the column 'label' has a label"),
        ("j.csv", "text,label\nThe bus is late.,\nElsewhere,bus\n", "row 3, 'Elsewhere': no sentence has this text"),
    ],
)  # fmt: skip
def test_nothing_placed_is_no_success(planned: Planned, name: str, content: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        planned(name, content)


def test_what_has_no_label_is_counted_with_its_reason(sqlite_store: Store, tmp_path: Path) -> None:
    corpus_of(sqlite_store)
    records = [
        {"fields": {"text": BUS}, "responses": {"topic": [{"value": "bus", "user_id": "a"}]}},
        {"fields": {"text": TRAIN}, "responses": {}, "suggestions": {"topic": {"value": "train"}}},
    ]
    (tmp_path / "a.json").write_text(json.dumps(records))
    told = call_json("labels", "import", tmp_path / "a.json", "--corpus", "study")
    assert (told["placed"], told["without a label"], told["clusters"]) == (1, 1, 1)
    assert told["remarks"] == ["text with suggestions of a program only, which are not read, without a label: 1"]
    first = [{"text": t, "annotation": "bus", "status": s} for t, s in ((BUS, "Validated"), (TRAIN, "Discarded"))]
    (tmp_path / "b.json").write_text(json.dumps(first))
    told = call_json("labels", "import", tmp_path / "b.json", "--corpus", "study")
    assert (told["placed"], told["without a label"]) == (1, 1)
    assert told["remarks"] == ["text that an annotator skipped or rejected, without a label: 1"]


def test_lines_of_fast_text(planned: Planned) -> None:
    content = (
        "__label__bus The bus is late. \n__label__train __label__full Trains are full. __comment__check\n"
        '"__label__ferry The ferry was cancelled. "\n Tickets cost too much. \n"__label__q It\'s ""his"" café... "\n'
    )
    plan, found = planned("doccano.txt", content)
    assert found == {BUS: "bus", TRAIN: "train, full", TEXTS[2]: "ferry", TEXTS[3]: "", TEXTS[4]: "q"}
    assert [*plan.notes.values()] == ["check"]


@pytest.mark.parametrize(
    ("comments", "note"), [("[]", ""), ('["check"]', "check"), ('["one", "two"]', "one\ntwo"), ('{"text": ["a"]}', "a")]
)
def test_comments_are_notes(planned: Planned, comments: str, note: str) -> None:
    plan, _ = planned("d.jsonl", f'{{"id": 1, "text": "{BUS}", "label": ["bus"], "Comments": {comments}}}\n')
    assert [*plan.notes.values()] == [note] * bool(note) and plan.names == ("bus",)


@pytest.mark.parametrize(
    "line",
    [
        '{"data": {"text": "a"}, "annotations": 3}', '{"text": "a", "answer": "accept", "spans": 1}',
        '{"fields": {"text": "a"}, "responses": [{"user_id": "b", "values": "c"}]}',
    ],
)  # fmt: skip
def test_damaged_exports_are_refused_with_the_row(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.jsonl").write_text(line)
    with pytest.raises(DataError, match="Row 1 is not what another program exports"):
        files.read_labels(tmp_path / "a.jsonl")


@pytest.mark.parametrize("kind", ["label-studio", "doccano", "csv", "jsonl", "xlsx", "parquet"])
def test_what_is_exported_comes_back_with_its_coders(sqlite_store: Store, tmp_path: Path, kind: str) -> None:
    corpus_of(sqlite_store, *TEXTS, "Same.", "Same.")
    table = cells(
        ("text", "label", "coder", "source", "probability", "note", "theme"),
        (TEXTS[0], '["bus / tram", "late, > 5", "“x” #1"]', "ada", "human", "", "check", '["Wheels", "", ""]'),
        (TEXTS[1], "train; rail", "bea", "human", "", "", "Wheels"),
        (TEXTS[2], "ferry", "model", "machine", "0.75", "", ""),
        ("Same.", "bus / tram", "ada", "human", "", "", "Wheels"), ("Same.", "bus / taxi", "bea", "human", "", "", ""),
    )  # fmt: skip
    (tmp_path / "a.csv").write_text(table)
    call_json("labels", "import", tmp_path / "a.csv", "--corpus", "study", "--name", "L")
    foreign = ("--format", kind) if "-" in kind or kind == "doccano" else ()
    out = tmp_path / f"out.{ {'label-studio': 'json', 'doccano': 'jsonl'}.get(kind, kind) }"
    call_json("labels", "export", "L", out, *foreign)
    call_json("labels", "import", out, "--corpus", "study", "--name", "again")
    first, again = (files.rows(sqlite_store, record.id) for record in labellings(sqlite_store))
    assert [(*row[6:8], *row[9:15]) for row in first] == [(*row[6:8], *row[9:15]) for row in again]


def test_two_people_code_our_export_in_doccano(sqlite_store: Store, tmp_path: Path) -> None:
    """Its database refuses NaN, which a key makes that a line lacks; it sorts labels, and has comments of its own."""
    corpus_of(sqlite_store)
    row = BUS, '["z", "a"]', "eve", "human", "", "two\nlines", '["Top", ""]'
    (tmp_path / "a.csv").write_text(cells(("text", "label", "coder", "source", "uncertain", "note", "theme"), row))
    call_json("labels", "import", tmp_path / "a.csv", "--corpus", "study", "--name", "L")
    lines = [json.loads(line) for line in files.doccano(sqlite_store, 1).splitlines()]
    assert len({frozenset(line) for line in lines}) == 1 and not any(None in line.values() for line in lines)
    with zipfile.ZipFile(tmp_path / "l.zip", "w") as archive:
        for who, changed in (("ada", ["a", "z"]), ("ben", ["NA"])):
            lines[0] |= {"label": changed, "Comments": [f"{who} asks"]}
            archive.writestr(f"{who}.jsonl", "\n".join(map(json.dumps, lines)))
    call_json("labels", "import", tmp_path / "l.zip", "--corpus", "study", "--name", "x")
    found = [files.rows(sqlite_store, record.id)[0] for record in labellings(sqlite_store)]
    ada, ben = sorted((row[13], row[7], row[9], row[11]) for row in found[1:])
    assert ada == ("ada", '["a", "z"]', '["", "Top"]', "two\nlines\nada asks")
    assert ben == ("ben", "NA", "", "two\nlines\nben asks")


def labellings(store: Store) -> list[LabellingRecord]:
    with store.reading() as r:
        return r.labellings.list()


# --- topics of BERTopic (docs/other-tools.md makes them with the package) ---------------------------------------------

TOPICS = ("Rivers flood.", "Streams run.", "An orchestra plays.", "Nothing fits.")


def saved_model(folder: Path, **changes: object) -> Path:
    labels = {"-1": "-1_nothing", "0": "0_river_flood", "12": "12_play_"}
    content = {"topics": [0, 0, 12, -1], "topic_labels": labels, "custom_labels": None, **changes}
    (folder / files.TOPICS).write_text(json.dumps(content), "utf-8")
    return folder


def test_topics_of_a_table_of_documents_and_of_a_saved_model(sqlite_store: Store, tmp_path: Path) -> None:
    corpus, file = corpus_of(sqlite_store, *TOPICS), EXPORTS / "bertopic" / "documents.csv"
    assert files.is_saved(saved_model(tmp_path))
    for sheet in (files.as_labels(read_sheet(file)), files.saved_labels(sqlite_store, corpus, None, tmp_path)):
        found = only_plan(sqlite_store, corpus, None, sheet, tables.likely_columns(sheet))
        record = starts.begin(sqlite_store, NewLabelling(corpus, "topics", "lea"), tables.from_plan(found, "x"))
        rows = [(row[6], row[7]) for row in files.rows(sqlite_store, record.id)]
        assert rows == [*zip(TOPICS, ("river, flood", "river, flood", "play", ""), strict=True)]
    saved_model(tmp_path, custom_labels=["Rest", "Water", "Music"])
    sheet = files.saved_labels(sqlite_store, corpus, None, tmp_path)
    assert sheet.column("cluster") == ["Water", "Water", "Music", ""]
    with pytest.raises(DataError, match="3 documents, but there are 4 sentences"):
        files.saved_labels(sqlite_store, corpus, None, saved_model(tmp_path, topics=[0, 0, 12]))
    for damaged in ({"topics": "x"}, {"topic_labels": []}, {"custom_labels": ["one"]}):
        with pytest.raises(ReadError, match="no topics of BERTopic"):
            files.saved_labels(sqlite_store, corpus, None, saved_model(tmp_path, **damaged))


def test_names_of_topics_by_a_person_are_preferred_and_made_different() -> None:
    columns = ("Document", "Topic", "Name", "CustomName")
    rows = [(TOPICS[0], "0", "0_x", "Water"), (TOPICS[1], "1", "1_x", "Water"), (TOPICS[2], "2", "2_x", "")]
    sheet = files.as_labels(Sheet(columns, tuple(rows), numbers=(2, 3, 4)))
    assert sheet.column("cluster") == ["Water", "Water (1)", "topic 2"]
    other = Sheet(("sentence", "cluster"), (("x", "y"),))
    assert files.as_labels(other) is other
