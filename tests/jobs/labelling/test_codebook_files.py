"""REFI-QDA: a labelling comes back with its codebook and clusters, and projects of other programs are read."""

from __future__ import annotations

import io
import random
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.db.texts import add_articles
from tests.jobs.helpers import partition_of
from themescope.core.errors import DataError, ReadError
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import ClusterChange
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import CodebookEntry, codes
from themescope.core.labelling.partition import UNASSIGNED, Partition, code_names, free_name
from themescope.core.records.stored import LabellingRecord
from themescope.core.types import Article, Paragraph, ReadAccount, Section
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.common import reading
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services.importing import plan_codings
from themescope.jobs.services.labelling import codebook, files, qda_projects, starts
from themescope.jobs.services.labelling.session import LabellingSession

TEXTS = [
    "Ana wrote: “<b>& it rained</b>”.",
    "It rained.",
    "😀 It rained\u2028again ]]>.",
    "=1+1",
    "It rained.",
    "\ufeffEnd \x0b.",
]


def stored(store: Store, *titles: str) -> int:
    """A corpus whose articles have two sections each, with texts that XML could spoil."""
    sections = (
        Section("", 1, (Paragraph("", tuple(TEXTS[:2])),)),
        Section("It rained.", 2, (Paragraph("", (TEXTS[2],)), Paragraph("", tuple(TEXTS[3:])))),
    )
    return add_articles(store, "Weather & <rain>", [Article(title, sections) for title in titles])


def session_of(store: Store, corpus_id: int, name: str = "first") -> LabellingSession:
    record = starts.begin(store, NewLabelling(corpus_id, name, "lea"), starts.from_nothing)
    return LabellingSession(store, record.id, "lea")


def labelled(store: Store, *titles: str) -> LabellingSession:
    """Three clusters on two levels, entries, examples, a note and a mark, in a corpus of articles."""
    session = session_of(store, stored(store, *titles))
    ids = session.partition.ids
    session.do(op.create(session.partition, 1, "Rain & <snow>", ids[:4], 11))
    session.do(op.create(session.partition, 2, "Numbers", ids[3:4], 35))
    session.do(op.create(session.partition, 3, "Empty", ids[:0], 3))
    cluster = session.partition.clusters[2]
    session.do(
        op.Operation(op.OperationKind.RENAME, "", op.ChangeSet((ClusterChange(cluster, replace(cluster, parent=1)),)))
    )
    entry = CodebookEntry(
        "About rain.\n\nExamples:\n- x", "wet\nNotes:", "dry", "ask Ana", (int(ids[1]),), (int(ids[4]), int(ids[2]))
    )
    session.do(book.write(session.partition, 1, entry))
    session.do(book.write(session.partition, 2, CodebookEntry(exclude="words")))
    session.do(op.note(session.partition, ids[2:3], "why \x01?\r\nbecause"))
    session.do(op.mark(session.partition, ids[4:6], True))
    return session


def project(store: Store, labelling: LabellingRecord, path: Path) -> Path:
    path.write_bytes(qda_projects.qdpx(store, labelling.id))
    return path


def facts(partition: Partition) -> tuple[Any, ...]:
    """What a labelling says, with names in place of the numbers of clusters."""
    names = {number: cluster.name for number, cluster in partition.clusters.items()} | {UNASSIGNED: ""}
    shown = {
        names[c.cluster.number]: (names.get(c.cluster.parent or UNASSIGNED), c.cluster.colour, c.entry)
        for c in codes(partition)
    }
    placed = [names[number] for number in partition.numbers.tolist()]
    return shown, partition.ids.tolist(), placed, dict(partition.notes), partition.uncertain.tolist()


def imported(store: Store, corpus_id: int, path: Path) -> tuple[qda_projects.ProjectPlan, LabellingRecord]:
    plan = qda_projects.plan_project(store, corpus_id, path)
    new = NewLabelling(corpus_id, plan.name, "ben", article_id=plan.article_id)
    (record,) = qda_projects.begin(store, new, plan, path.name)
    return plan, record


@pytest.mark.parametrize("titles", [["One"], ["One", "Two <&>"]])
def test_a_project_comes_back_identical(store: Store, tmp_path: Path, titles: list[str]) -> None:
    session = labelled(store, *titles)
    corpus = session.record.corpus_id
    plan, again = imported(store, corpus, project(store, session.record, tmp_path / "first.qdpx"))
    assert facts(partition_of(store, again.id)) == facts(session.partition)
    assert (plan.matched, plan.unmatched, plan.several, plan.missing) == (len(titles), (), 0, 0)
    assert (again.article_id is None) is (len(titles) > 1)
    twice = project(store, again, tmp_path / "again.qdpx")
    assert facts(partition_of(store, imported(store, corpus, twice)[1].id)) == facts(session.partition)


def test_a_large_project_is_planned_apart(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = labelled(store, "One")
    corpus, path = session.record.corpus_id, project(store, session.record, tmp_path / "first.qdpx")
    monkeypatch.setattr(reading, "SMALL_BYTES", 0)
    assert facts(partition_of(store, imported(store, corpus, path)[1].id)) == facts(session.partition)
    assert qda_projects.write_texts(path, tmp_path / "texts.jsonl") == 1
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ReadError, match="not a REFI-QDA project"):
        qda_projects.plan_project(store, corpus, path)


names = st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn"]), min_size=1, max_size=6)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_labelling_comes_back_identical(sqlite_store: Store, tmp_path: Path, data: st.DataObject) -> None:
    with sqlite_store.reading() as r:
        known = r.corpora.list()
    corpus = known[0].id if known else stored(sqlite_store, "One", "Two")
    session = session_of(sqlite_store, corpus, f"{data.draw(st.uuids())}")
    ids = session.partition.ids
    some = st.lists(st.sampled_from(ids.tolist()), max_size=5).map(tuple)
    for number in range(1, data.draw(st.integers(1, 4)) + 1):
        name = free_name(session.partition, " ".join(data.draw(names).split()))
        session.do(op.create(session.partition, number, name, data.draw(st.permutations(ids.tolist()))[:3], None))
        text = st.text(max_size=20)
        entry = CodebookEntry(*(data.draw(text) for _ in range(4)), data.draw(some), data.draw(some))
        session.do(book.write(session.partition, number, entry))
    session.do(op.note(session.partition, ids[:1], data.draw(st.text(max_size=20))))
    plan = qda_projects.plan_project(sqlite_store, corpus, project(sqlite_store, session.record, tmp_path / "any.qdpx"))
    assert facts(plan.codings[0].partition) == facts(session.partition)


@pytest.mark.parametrize("suffix", ["qdc", "json", "csv"])
def test_a_file_of_codes_comes_back_in_a_new_labelling(store: Store, tmp_path: Path, suffix: str) -> None:
    session = labelled(store, "One")
    path, content = tmp_path / f"codes.{suffix}", codebook.written(store, session.record.id, suffix)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    other = session_of(store, session.record.corpus_id, "second")
    listed = codebook.read_codes(path)
    found = codebook.finder(store, other.partition.ids, listed)
    other.do(book.adopt(other.partition, listed, found, other.next_number).operation)
    mine, theirs = facts(session.partition)[0], facts(other.partition)[0]
    if suffix == "csv":  # which has no colours
        mine, theirs = ({k: (v[0], v[2]) for k, v in shown.items()} for shown in (mine, theirs))
    assert theirs == mine
    other.undo()
    assert not other.partition.clusters and not other.partition.entries


def test_texts_that_are_nowhere_yet_are_imported_first(sqlite_store: Store, tmp_path: Path) -> None:
    sections = (
        Section("", 1, (Paragraph("", ("Ana lives in Rome.", "She likes rain.")),)),
        Section("Weather", 2, (Paragraph("", ("It rained in May.",)), Paragraph("", ("Nobody knew why it did.",)))),
    )
    session = session_of(sqlite_store, add_articles(sqlite_store, "First", [Article("Ana & rain", sections)]))
    ids = session.partition.ids
    session.do(op.create(session.partition, 1, "Rain", ids[1:3]))
    session.do(op.create(session.partition, 2, "Rome", ids[:1]))
    session.do(book.write(session.partition, 1, CodebookEntry("wet")))
    path, articles = project(sqlite_store, session.record, tmp_path / "first.qdpx"), tmp_path / "texts.jsonl"
    assert qda_projects.write_texts(path, articles) == 1
    run_here(sqlite_store, "import-corpus", {"files": [str(articles)], "corpus": "Second"}, quiet=True)
    with sqlite_store.reading() as r:
        second = r.corpora.by_name("Second")
        (article,) = r.corpora.articles(second.id)
        assert [(s.title, s.level) for s in r.corpora.sections(article.id)] == [("", 1), ("Weather", 2)]
    plan, again = imported(sqlite_store, second.id, path)
    shown, _, placed, *_ = facts(partition_of(sqlite_store, again.id))
    assert placed == ["Rome", "Rain", "Rain", ""] and (plan.matched, plan.missing) == (1, 0)
    assert {name: entry.definition for name, (_, _, entry) in shown.items()} == {"Rain": "wet", "Rome": ""}


def test_documents_can_be_read_and_a_project_of_other_texts_is_refused(store: Store, tmp_path: Path) -> None:
    session = labelled(store, "One")
    path = project(store, session.record, tmp_path / "first.qdpx")
    other = add_articles(store, "Other", [])
    plan = qda_projects.plan_project(store, other, path)
    assert (plan.matched, plan.unmatched, len(plan.codings[0].partition.ids)) == (0, ("One",), 0)
    with pytest.raises(DataError, match="no sentences"):
        qda_projects.begin(store, NewLabelling(other, "x", "lea"), plan, "x")
    page, text = (codebook.written(store, session.record.id, suffix) for suffix in ("html", "md"))
    assert "<b>" not in page and "Rain &amp; &lt;snow&gt;" in page and "ask Ana" in page
    assert "## Rain" in text and "### Numbers (1 sentence)" in text and "sentence 2" in text
    empty = session_of(store, session.record.corpus_id, "empty")
    with pytest.raises(DataError, match="needs one"):
        codebook.written(store, empty.record.id, "qdc")
    with zipfile.ZipFile(path) as archive:
        assert all(name == "project.qde" or name.startswith("sources/") for name in archive.namelist())


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("maxqda.csv", "Color;Parent code;Code;Code memo\n#ff0000;;Bus;About buses\n#00ff00;Bus;Late;\n",
         [("Bus", "", "About buses"), ("Late", "Bus", "")]),
        ("taguette.csv", "tag,description,number of highlights\nbus,About buses,3\nbus.late,,2\n",
         [("bus", "", "About buses"), ("bus.late", "", "")]),
        ("qualcoder.txt", "late\tA memo\nbus>>late\nbus>>slow\n",
         [("bus", "", ""), ("late", "", "A memo"), ("late", "bus", ""), ("slow", "bus", "")]),
    ],
)  # fmt: skip
def test_lists_of_codes_of_others(
    tmp_path: Path, name: str, content: str, expected: list[tuple[str, str, str]]
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    found = codebook.read_codes(tmp_path / name)
    assert [(code.name, code.theme, code.texts.get("definition", "")) for code in found] == expected


def test_sets_of_a_codebook_are_counted(tmp_path: Path) -> None:
    path, account = tmp_path / "a.qdc", ReadAccount()
    path.write_text('<CodeBook><Codes><Code name="Bus"/></Codes><Sets><Set name="S"/></Sets></CodeBook>')
    assert [code.name for code in codebook.read_codes(path, account)] == ["Bus"]
    assert account.skipped == {"set of codes": 1} and account.entries[0].place == "S"


# --- projects of other programs: every coded passage is found where it was, or listed as lost -------------------------

LINES = "A: the bus is late\nB: trains are full\nA: we walk\n"
WORDS = (
    "the bus train ferry is late full slow we walk now price ticket café 😀 👩\u200d👩\u200d👧 naïve street rain A: B:"
)


class Program(NamedTuple):
    """How a program writes texts and counts positions."""

    unit: Callable[[str], int]
    crlf: bool = False
    """Whether lines of the file end in two characters."""
    counted_as_one: bool = False
    mark: bool = False
    """Whether the file begins with a byte order mark."""
    mark_counts: bool = False
    quotes: bool = False
    """Whether the name of a passage is its text."""


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


PROGRAMS: Mapping[str, Program] = {
    "NVivo for Windows": Program(utf16, crlf=True, mark=True),
    "NVivo for Mac": Program(utf16),
    "ATLAS.ti": Program(len, crlf=True, counted_as_one=True, mark=True, quotes=True),
    "MAXQDA": Program(len, crlf=True, mark=True),
    "QualCoder": Program(len, mark=True, mark_counts=True, quotes=True),
    "qc": Program(len),
    "counts CRLF as one in UTF-16": Program(utf16, crlf=True, counted_as_one=True),
    "counts bytes": Program(lambda text: len(text.encode()), crlf=True),
}


def whole_project(path: Path, sources: Mapping[str, tuple[str, list[tuple[int, int]]]], program: Program) -> None:
    """Write a project in which passage n of all has the code n; positions are given in texts with LF."""
    xml, files, number = [], dict[str, str](), 0
    for at, (name, (text, passages)) in enumerate(sources.items()):
        shown = "\ufeff" * program.mark + (text.replace("\n", "\r\n") if program.crlf else text)

        def counted(place: int, text: str = text) -> int:
            before = text[:place]
            before = before.replace("\n", "\r\n") if program.crlf and not program.counted_as_one else before
            return program.unit("\ufeff" * program.mark_counts + before)

        inner = ""
        for start, end in passages:
            quote = quoteattr(text[start:end]) if program.quotes else '""'
            inner += (
                f'<PlainTextSelection name={quote} startPosition="{counted(start)}" endPosition="{counted(end)}">'
                f'<Coding><CodeRef targetGUID="c{number}"/></Coding></PlainTextSelection>'
            )
            number += 1
        xml.append(f'<TextSource name="{name}" plainTextPath="internal://{at}.txt">{inner}</TextSource>')
        files[f"Sources\\{at}.txt"] = shown
    codes = "".join(f'<Code guid="c{n}" name="code {n}"/>' for n in range(number))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        head = '<Project xmlns="urn:QDA-XML:project:1.0" name="Made" origin="other">'
        body = f"<CodeBook><Codes>{codes}</Codes></CodeBook><Sources>{''.join(xml)}</Sources></Project>"
        archive.writestr("project.qde", f"{head}{body}")


def interview(number: int) -> tuple[str, list[tuple[int, int]]]:
    """A text with an emoji in most lines, and passages that are one or two lines or the first sentence of a line."""
    random_ = random.Random(number)
    lines = []
    for _ in range(30):
        sentences = ["Then " + " ".join(random_.choices(WORDS.split(), k=random_.randint(3, 9))) for _ in range(2)]
        lines.append(". ".join(sentences) + random_.choice([".", "", " 😀", "!"]))
    text, starts = "\n".join(lines), [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    passages = []
    for row in random_.sample(range(29), 6 if number else 1):
        kind = random_.randrange(3)
        end = starts[row] + len(lines[row].split(". ")[0]) + 1 if kind == 2 else starts[row + 1 + kind] - 1
        passages.append((starts[row], end))
    return text, passages


def planned(store: Store, path: Path, name: str) -> qda_projects.ProjectPlan:
    """Import the texts of a project, and plan the import of its labels."""
    articles = path.with_suffix(".jsonl")
    qda_projects.write_texts(path, articles)
    run_here(store, "import-corpus", {"files": [str(articles)], "corpus": name, "language": "en"}, quiet=True)
    with store.reading() as r:
        corpus = r.corpora.by_name(name)
    return qda_projects.plan_project(store, corpus.id, path)


def coded(store: Store, plan: qda_projects.ProjectPlan) -> set[tuple[str, str]]:
    with store.reading() as r:
        sentences = r.corpora.sentences_by_id(plan.codings[0].partition.ids)
    names = code_names(plan.codings[0].partition)
    rows = zip(plan.codings[0].partition.ids.tolist(), plan.codings[0].partition.numbers.tolist(), strict=True)
    return {(sentences[id].text, code) for id, number in rows for code in names[number]}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_passage_is_found_whatever_the_program_counts(sqlite_store: Store, tmp_path: Path, name: str) -> None:
    sources = {f"Interview {number}": interview(number) for number in range(10)}
    passages = [" ".join(text[start:end].split()) for text, found in sources.values() for start, end in found]
    whole_project(tmp_path / "made.qdpx", sources, PROGRAMS[name])
    plan = planned(sqlite_store, tmp_path / "made.qdpx", name)
    shifted = [
        (sentence, code)
        for sentence, code in coded(sqlite_store, plan)
        if sentence not in passages[int(code.removeprefix("code "))]
    ]
    assert (plan.matched, plan.passages, plan.partly, plan.lost) == (10, len(passages), 0, 0) and not shifted
    assert len({code for _, code in coded(sqlite_store, plan)}) == len(passages)


def written(path: Path, source: str, text: str = "The bus is late.\nTrains are full.\n", users: str = "") -> Path:
    """Write a project with two codes and one source."""
    codes = '<CodeBook><Codes><Code guid="1" name="Bus"/><Code guid="2" name="Train"/></Codes></CodeBook>'
    head = '<Project xmlns="urn:QDA-XML:project:1.0" name="Study" origin="other">'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sources/t.txt", text)
        archive.writestr("project.qde", f"{head}{users}{codes}<Sources>{source}</Sources></Project>")
    return path


def coding(code: int, user: str = "") -> str:
    by = f' creatingUser="{user}"' if user else ""
    return f'<Coding{by}><CodeRef targetGUID="{code}"/></Coding>'


def selection(start: int, end: int, *codings: int | str) -> str:
    inner = "".join(one if isinstance(one, str) else coding(one) for one in codings)
    return f'<PlainTextSelection startPosition="{start}" endPosition="{end}">{inner}</PlainTextSelection>'


def text_source(inner: str, name: str = "One") -> str:
    return f'<TextSource name="{name}" plainTextPath="internal://t.txt">{inner}</TextSource>'


def test_lines_are_paragraphs_and_a_source_needs_no_name(sqlite_store: Store, tmp_path: Path) -> None:
    inner = selection(0, 18, 1) + selection(19, 37, 2)
    source = f'<TextSource plainTextPath="internal://t.txt">{inner}</TextSource>'
    path = written(tmp_path / "a.qdpx", source, LINES)
    plan = planned(sqlite_store, path, "study")
    assert coded(sqlite_store, plan) == {("A: the bus is late", "Bus"), ("B: trains are full", "Train")}


@pytest.mark.parametrize("space", [" ", "\n", "\t"])
def test_a_text_with_another_title_is_found_by_its_sentences(sqlite_store: Store, tmp_path: Path, space: str) -> None:
    named = text_source(selection(0, 16, 1))
    planned(sqlite_store, written(tmp_path / "a.qdpx", named), "study")
    text = f"The bus is{space}late.\nTrains are full.\n"
    other = written(tmp_path / "b.qdpx", named.replace("One", "Another title"), text)
    with sqlite_store.reading() as r:
        corpus = r.corpora.by_name("study")
    plan = qda_projects.plan_project(sqlite_store, corpus.id, other)
    assert coded(sqlite_store, plan) == {("The bus is late.", "Bus")}


def test_what_is_lost_or_found_in_part_is_counted_and_listed(sqlite_store: Store, tmp_path: Path) -> None:
    source = (
        text_source(coding(2) + selection(4, 7, 1) + selection(500, 520, 1), "Ana")
        + f'<TextSource name="Gone" plainTextPath="internal://gone.txt">{selection(0, 5, 1)}</TextSource>'
        '<AudioSource name="Tape"><AudioSelection name="x"><Coding/></AudioSelection></AudioSource>'
    )
    plan = planned(sqlite_store, written(tmp_path / "a.qdpx", source), "study")
    assert coded(sqlite_store, plan) == {("The bus is late.", "Bus"), ("Trains are full.", "Train")}
    assert (plan.passages, plan.partly, plan.lost) == (2, 1, 1)
    assert plan.account.skipped == {
        "recording": 1,
        "coded passage of a picture, recording or page": 1,
        "text that is not in the archive": 1,
        "coded passage of a text that is not read": 1,
        "passage without a sentence": 1,
    }
    assert ("passage found in part", "Ana, 4–7", "Bus: bus") in [entry[1:] for entry in plan.account.entries]
    assert ("passage without a sentence", "Ana, 34–34", "Bus: ") in [entry[1:] for entry in plan.account.entries]
    whole = "code of a whole text, given to its sentences that have no other"
    assert plan.account.changed[whole] == 1


@pytest.mark.parametrize("place", ["absolute:///C:/Interviews/Ana.txt", "relative:///Ana.txt", "internal://ana.txt"])
def test_texts_beside_a_project_are_named(sqlite_store: Store, tmp_path: Path, place: str) -> None:
    inside = text_source(selection(0, 16, 1))
    planned(sqlite_store, written(tmp_path / "a.qdpx", inside), "study")
    outside = f'<TextSource name="Ana" plainTextPath="{place}">{selection(0, 5, 1)}</TextSource>'
    missing = rf"Not in its archive: “Ana” \({place}\). Export it with its sources."
    with sqlite_store.reading() as r:
        corpus = r.corpora.by_name("study")
    with pytest.raises(DataError, match=missing):
        plan_codings(sqlite_store, corpus, written(tmp_path / "b.qdpx", outside))
    with pytest.raises(DataError, match=missing):
        qda_projects.write_texts(tmp_path / "b.qdpx", tmp_path / "b.jsonl")
    lost = written(tmp_path / "c.qdpx", inside.replace("16", "16000").replace('"0"', '"15999"') + outside)
    with pytest.raises(DataError, match=rf"None of the 1 passages of c.qdpx has a unit here: {missing}"):
        plan_codings(sqlite_store, corpus, lost)
    with pytest.raises(DataError, match="has codes without texts"):
        plan_codings(sqlite_store, corpus, tmp_path / "x.qdc")


def test_notes_have_a_time_and_stand_where_qualcoder_reads_them(sqlite_store: Store, tmp_path: Path) -> None:
    plan = planned(sqlite_store, written(tmp_path / "a.qdpx", text_source(selection(0, 16, 1))), "study")
    noted = replace(plan.codings[0].partition, notes={1: "A note."}, uncertain=np.ones(2, np.bool_))
    plan = replace(plan, codings=(replace(plan.codings[0], partition=noted),))
    (record,) = qda_projects.begin(sqlite_store, NewLabelling(1, "L", "ada"), plan, "a.qdpx")
    with zipfile.ZipFile(io.BytesIO(qda_projects.qdpx(sqlite_store, record.id))) as archive:
        notes = re.findall("<Note [^>]*>", project := archive.read("project.qde").decode())
    assert len(notes) == 2 and all("creationDateTime=" in note for note in notes) and "<Description>A note.<" in project


def test_positions_that_fit_no_way_of_counting_are_not_guessed(sqlite_store: Store, tmp_path: Path) -> None:
    text = "\n".join(f"Passengers{n} complained yesterday about overcrowded vehicles" for n in range(40))
    inner = "".join(selection(n * 61 + 3, n * 61 + 7, 1) for n in range(12))
    plan = planned(sqlite_store, written(tmp_path / "a.qdpx", text_source(inner), text), "study")
    assert not coded(sqlite_store, plan)
    assert plan.account.skipped["coded passage whose position does not fit the text"] == 12


def test_coders_of_one_passage_stay_apart(sqlite_store: Store, tmp_path: Path) -> None:
    """Two users code one passage, in one selection and in one each; none of their codes gets the other's name."""
    text = "The bus is late. Trains are full. We walk."
    each = "".join(selection(17, 33, 1).replace(">", f' creatingUser="u{n}">', 1) for n in (1, 2))
    inner = selection(0, 16, coding(1, "u1"), coding(2, "u2")) + each + selection(34, 42, coding(2, "u2"))
    users = '<Users><User guid="u1" name="Ana"/><User guid="u2" name="Ben"/></Users>'
    path = written(tmp_path / "two.qdpx", text_source(inner), text, users=users)
    plan = planned(sqlite_store, path, "two")
    with sqlite_store.reading() as r:
        corpus = r.corpora.by_name("two").id
    made = qda_projects.begin(sqlite_store, NewLabelling(corpus, "L", "lea"), plan, path.name)
    at = [files.HEADER.index(name) for name in ("cluster", "coder")]
    for _ in range(2):  # as imported, and after a round trip
        assert {
            record.name.removeprefix("again "): [
                tuple(row[n] for n in at) for row in files.rows(sqlite_store, record.id)
            ]
            for record in made
        } == {
            "L (Ben)": [("Train", "Ben"), ("Bus", "Ben"), ("Train", "Ben")],
            "L (Ana)": [("Bus", "Ana"), ("Bus", "Ana"), ("", "")],
        }
        again = []
        for record in made:
            path.write_bytes(qda_projects.qdpx(sqlite_store, record.id))
            plan = qda_projects.plan_project(sqlite_store, corpus, path)
            again += qda_projects.begin(sqlite_store, NewLabelling(corpus, f"again {record.name}", "lea"), plan, "x")
        made = again
