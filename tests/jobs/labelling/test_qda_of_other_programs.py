"""Projects of other programs: every coded passage is found where it was, or listed as lost."""

from __future__ import annotations

import io
import random
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np
import pytest

from themescope.core.errors import DataError
from themescope.core.labelling.partition import code_names
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services.importing import plan_codings
from themescope.jobs.services.labelling import files, qda_projects

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


def project(path: Path, sources: Mapping[str, tuple[str, list[tuple[int, int]]]], program: Program) -> None:
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


def imported(store: Store, path: Path, name: str) -> qda_projects.ProjectPlan:
    """Import the texts of a project, and plan the import of its labels."""
    articles = path.with_suffix(".jsonl")
    qda_projects.write_texts(path, articles)
    run_here(store, "import-corpus", {"files": [str(articles)], "corpus": name, "language": "en"}, quiet=True)
    with store.reading() as r:
        corpus = r.corpora.by_name(name)
    return qda_projects.plan_project(store, corpus.id, path)


def coded(store: Store, plan: qda_projects.ProjectPlan) -> set[tuple[str, str]]:
    """Return the sentences, each with each of its codes."""
    with store.reading() as r:
        sentences = r.corpora.sentences_by_id(plan.codings[0].partition.ids)
    names = code_names(plan.codings[0].partition)
    rows = zip(plan.codings[0].partition.ids.tolist(), plan.codings[0].partition.numbers.tolist(), strict=True)
    return {(sentences[id].text, code) for id, number in rows for code in names[number]}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_passage_is_found_whatever_the_program_counts(sqlite_store: Store, tmp_path: Path, name: str) -> None:
    sources = {f"Interview {number}": interview(number) for number in range(10)}
    passages = [" ".join(text[start:end].split()) for text, found in sources.values() for start, end in found]
    project(tmp_path / "made.qdpx", sources, PROGRAMS[name])
    plan = imported(sqlite_store, tmp_path / "made.qdpx", name)
    shifted = [
        (sentence, code)
        for sentence, code in coded(sqlite_store, plan)
        if sentence not in passages[int(code.removeprefix("code "))]
    ]
    assert (plan.matched, plan.passages, plan.partly, plan.lost) == (10, len(passages), 0, 0) and not shifted
    assert len({code for _, code in coded(sqlite_store, plan)}) == len(passages)


def written(
    path: Path, source: str, text: str = "The bus is late.\nTrains are full.\n", file: str = "sources/t.txt"
) -> Path:
    """Write a project with two codes and one source."""
    codes = '<Code guid="1" name="Bus"/><Code guid="2" name="Train"/>'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(file, text)
        archive.writestr(
            "project.qde",
            '<Project xmlns="urn:QDA-XML:project:1.0" name="Study" origin="other"><CodeBook><Codes>'
            f"{codes}</Codes></CodeBook><Sources>{source}</Sources></Project>",
        )
    return path


def selection(start: int, end: int, code: int) -> str:
    return (
        f'<PlainTextSelection startPosition="{start}" endPosition="{end}"><Coding>'
        f'<CodeRef targetGUID="{code}"/></Coding></PlainTextSelection>'
    )


def test_lines_are_paragraphs_and_a_source_needs_no_name(sqlite_store: Store, tmp_path: Path) -> None:
    inner = selection(0, 18, 1) + selection(19, 37, 2)
    source = f'<TextSource plainTextPath="internal://t.txt">{inner}</TextSource>'
    path = written(tmp_path / "a.qdpx", source, LINES, "Sources\\t.txt")
    plan = imported(sqlite_store, path, "study")
    assert coded(sqlite_store, plan) == {("A: the bus is late", "Bus"), ("B: trains are full", "Train")}


@pytest.mark.parametrize("space", [" ", "\n", "\t"])
def test_a_text_with_another_title_is_found_by_its_sentences(sqlite_store: Store, tmp_path: Path, space: str) -> None:
    named = f'<TextSource name="One" plainTextPath="internal://t.txt">{selection(0, 16, 1)}</TextSource>'
    imported(sqlite_store, written(tmp_path / "a.qdpx", named), "study")
    text = f"The bus is{space}late.\nTrains are full.\n"
    other = written(tmp_path / "b.qdpx", named.replace("One", "Another title"), text)
    with sqlite_store.reading() as r:
        corpus = r.corpora.by_name("study")
    plan = qda_projects.plan_project(sqlite_store, corpus.id, other)
    assert coded(sqlite_store, plan) == {("The bus is late.", "Bus")}


def test_what_is_lost_or_found_in_part_is_counted_and_listed(sqlite_store: Store, tmp_path: Path) -> None:
    inner = '<Coding><CodeRef targetGUID="2"/></Coding>' + selection(4, 7, 1) + selection(500, 520, 1)
    source = (
        f'<TextSource name="Ana" plainTextPath="internal://t.txt">{inner}</TextSource>'
        f'<TextSource name="Gone" plainTextPath="internal://gone.txt">{selection(0, 5, 1)}</TextSource>'
        '<AudioSource name="Tape"><AudioSelection name="x"><Coding/></AudioSelection></AudioSource>'
    )
    plan = imported(sqlite_store, written(tmp_path / "a.qdpx", source), "study")
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
    inside = f'<TextSource name="One" plainTextPath="internal://t.txt">{selection(0, 16, 1)}</TextSource>'
    imported(sqlite_store, written(tmp_path / "a.qdpx", inside), "study")
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


def test_notes_have_a_time_without_which_qualcoder_reads_nothing(sqlite_store: Store, tmp_path: Path) -> None:
    source = f'<TextSource name="One" plainTextPath="internal://t.txt">{selection(0, 16, 1)}</TextSource>'
    plan = imported(sqlite_store, written(tmp_path / "a.qdpx", source), "study")
    noted = replace(plan.codings[0].partition, notes={1: "A note."}, uncertain=np.ones(2, np.bool_))
    plan = replace(plan, codings=(replace(plan.codings[0], partition=noted),))
    (record,) = qda_projects.begin(sqlite_store, NewLabelling(1, "L", "ada"), plan, "a.qdpx")
    with zipfile.ZipFile(io.BytesIO(qda_projects.qdpx(sqlite_store, record.id))) as archive:
        notes = re.findall("<Note [^>]*>", archive.read("project.qde").decode())
    assert len(notes) == 2 and all("creationDateTime=" in note for note in notes)


def test_positions_that_fit_no_way_of_counting_are_not_guessed(sqlite_store: Store, tmp_path: Path) -> None:
    text = "\n".join(f"Passengers{n} complained yesterday about overcrowded vehicles" for n in range(40))
    inner = "".join(selection(n * 61 + 3, n * 61 + 7, 1) for n in range(12))
    source = f'<TextSource name="Ana" plainTextPath="internal://t.txt">{inner}</TextSource>'
    plan = imported(sqlite_store, written(tmp_path / "a.qdpx", source, text), "study")
    assert not coded(sqlite_store, plan)
    assert plan.account.skipped["coded passage whose position does not fit the text"] == 12


def test_coders_of_one_passage_stay_apart(sqlite_store: Store, tmp_path: Path) -> None:
    """Two users code one passage, in one selection and in one each; none of their codes gets the other's name."""
    text = "The bus is late. Trains are full. We walk."
    both = '<Coding creatingUser="u1"><CodeRef targetGUID="c1"/></Coding>' * 2
    coding = both.replace("u1", "u2", 1).replace("c1", "c2", 1)
    inner = (
        f'<PlainTextSelection startPosition="0" endPosition="16">{coding}</PlainTextSelection>'
        + "".join(
            f'<PlainTextSelection startPosition="17" endPosition="33" creatingUser="u{n}">'
            f'<Coding><CodeRef targetGUID="c1"/></Coding></PlainTextSelection>'
            for n in (1, 2)
        )
        + '<PlainTextSelection startPosition="34" endPosition="42"><Coding creatingUser="u2">'
        '<CodeRef targetGUID="c2"/></Coding></PlainTextSelection>'
    )
    users = '<Users><User guid="u1" name="Ana"/><User guid="u2" name="Ben"/></Users>'
    codes = '<CodeBook><Codes><Code guid="c1" name="bus"/><Code guid="c2" name="delay"/></Codes></CodeBook>'
    source = f'<Sources><TextSource name="T" plainTextPath="internal://t.txt">{inner}</TextSource></Sources>'
    path = tmp_path / "two.qdpx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sources/t.txt", text)
        archive.writestr(
            "project.qde", f'<Project xmlns="urn:QDA-XML:project:1.0" name="P">{users}{codes}{source}</Project>'
        )
    plan = imported(sqlite_store, path, "two")
    with sqlite_store.reading() as r:
        corpus = r.corpora.by_name("two").id
    made = qda_projects.begin(sqlite_store, NewLabelling(corpus, "L", "lea"), plan, path.name)
    found = {}
    for _ in range(2):  # as imported, and after a round trip
        for record in made:
            at = [files.HEADER.index(name) for name in ("sentence", "cluster", "coder")]
            found[record.name.removeprefix("again ")] = [
                [row[n] for n in at] for row in files.rows(sqlite_store, record.id)
            ]
        assert found == {
            "L (Ben)": [
                ["The bus is late.", "delay", "Ben"],
                ["Trains are full.", "bus", "Ben"],
                ["We walk.", "delay", "Ben"],
            ],
            "L (Ana)": [["The bus is late.", "bus", "Ana"], ["Trains are full.", "bus", "Ana"], ["We walk.", "", ""]],
        }
        again = []
        for record in made:
            path.write_bytes(qda_projects.qdpx(sqlite_store, record.id))
            plan = qda_projects.plan_project(sqlite_store, corpus, path)
            again += qda_projects.begin(sqlite_store, NewLabelling(corpus, f"again {record.name}", "lea"), plan, "x")
        made = again
