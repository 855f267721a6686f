import io
import re
import tracemalloc
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from themescope.core.errors import ReadError
from themescope.core.labelling.codebook import qda_project as qda
from themescope.core.labelling.codebook.entries import TEXTS, PortableCode, clean_text, one_line
from themescope.core.labelling.codebook.qda_reader import ProjectReader
from themescope.core.labelling.provenance import Maker, Source
from themescope.core.types import Sentence

SCHEMAS = Path(__file__).parent / "schemas"
HOSTILE = st.sampled_from(
    ["]]>", "<!ENTITY a 'b'>", "&amp;", "\r\n", "\t", "\x85", "\u2028", "😀", "e\u0301", "\ufffe", "'\"<"]
)
text = st.lists(st.text(max_size=8) | HOSTILE, max_size=5).map("".join)
name = text.map(lambda found: one_line(found)).filter(bool)
field = text.map(clean_text)


@cache
def schema(name: str) -> Any:
    import xmlschema  # takes a second, in every process that collects the tests

    return xmlschema.XMLSchema(str(SCHEMAS / f"{name}.xsd"))


@st.composite
def code_lists(draw: st.DrawFn) -> list[PortableCode]:
    names = draw(st.lists(name, min_size=1, max_size=4, unique=True))
    found: list[PortableCode] = []
    for at, one in enumerate(names):
        theme = draw(st.sampled_from(["", *(code.name for code in found if not code.theme)])) if at else ""
        texts = {key: value for key in TEXTS if (value := draw(field))}
        examples = tuple(one_line(shown) or "x" for shown in draw(st.lists(text, max_size=2)))
        found.append(PortableCode(one, theme, draw(st.integers(0, 35)), texts, examples))
    return found


def by_name(codes: list[PortableCode]) -> dict[str, PortableCode]:
    return {code.name: code for code in codes}


@given(code_lists())
def test_a_codebook_follows_the_schema_and_comes_back(codes: list[PortableCode]) -> None:
    written = qda.codebook(codes, "seed")
    schema("Codebook").validate(io.BytesIO(written))
    assert by_name(qda.read_codebook(io.BytesIO(written), "x.qdc")) == by_name(codes)


@st.composite
def source_lists(draw: st.DrawFn) -> list[qda.TextSource]:
    found = []
    for title in draw(st.lists(name, max_size=2, unique=True)):
        content = draw(text)
        ends = sorted(draw(st.lists(st.integers(0, len(content)), max_size=4, unique=True)))
        selections = [
            qda.QdaSpan(start, end, draw(st.sampled_from([(), ("0",)])), draw(text), draw(st.booleans()))
            for start, end in pairwise(ends)
        ]
        found.append(qda.TextSource(title, content, selections, tuple(draw(st.lists(name, max_size=2)))))
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(code_lists(), source_lists())
def test_a_project_follows_the_schema_and_comes_back(
    tmp_path: Path, codes: list[PortableCode], sources: list[qda.TextSource]
) -> None:
    path = tmp_path / "p.qdpx"
    first = next(code.name for code in codes if not code.theme)
    made = datetime(2026, 1, 2, tzinfo=UTC)
    ana = Maker(Source.HUMAN, "ana")
    sources = [replace(s, selections=[replace(x, maker=ana) for x in s.selections]) for s in sources]
    named = [
        replace(s, selections=[replace(x, codes=x.codes and (first,), when=made) for x in s.selections])
        for s in sources
    ]
    with path.open("wb") as out:
        qda.write_project(out, qda.ProjectHead("P & <p>", codes, [ana, Maker(Source.HUMAN)], "seed"), named)
    with zipfile.ZipFile(path) as archive:
        schema("Project").validate(io.BytesIO(archive.read(qda.QDE)))
        assert len(archive.namelist()) >= 1 + len(sources)
    with ProjectReader(path) as project:
        assert by_name(project.codes) == by_name(codes)
        assert project.codes[0].name == first
        assert [*project.sources()] == sources
        assert project.name == "P & <p>" and not project.account.skipped


def test_the_same_labelling_gives_the_same_ids() -> None:
    codes = [PortableCode("A", texts={"definition": "one"}), PortableCode("B", "A")]
    first, second = qda.codebook(codes, "seed"), qda.codebook([PortableCode("A"), PortableCode("B", "A")], "seed")
    ids = re.compile(rb'guid="([^"]+)"')
    assert ids.findall(first) == ids.findall(second) and len(set(ids.findall(first))) == 2
    assert ids.findall(first) != ids.findall(qda.codebook(codes, "other"))


OTHER_PROGRAM = """<?xml version="1.0" encoding="utf-8"?>
<Project xmlns="urn:QDA-XML:project:1.0" name="Study" origin="another program">
 <CodeBook><Codes>
  <Code guid="{1FF58B12-6F6F-4B0C-8BE5-BBDC91F55294}" name="Work" isCodable="true" color="#46AA00">
   <Description>all about work</Description><NoteRef targetGUID="2FF58B12-6F6F-4B0C-8BE5-BBDC91F55294"/>
   <Code guid="3FF58B12-6F6F-4B0C-8BE5-BBDC91F55294" name="Pay" isCodable="true">
    <Code guid="4FF58B12-6F6F-4B0C-8BE5-BBDC91F55294" name="Late" isCodable="true"/>
   </Code>
  </Code>
 </Codes></CodeBook>
 <Sources>
  <PictureSource guid="5FF58B12-6F6F-4B0C-8BE5-BBDC91F55294" name="photo" path="internal://a.png"/>
  <TextSource guid="6FF58B12-6F6F-4B0C-8BE5-BBDC91F55294" name="one" plainTextPath="internal://A1.txt">
   <PlainTextSelection guid="7FF58B12-6F6F-4B0C-8BE5-BBDC91F55294" startPosition="0" endPosition="5">
    <Coding guid="8FF58B12-6F6F-4B0C-8BE5-BBDC91F55294">
     <CodeRef targetGUID="4ff58b12-6f6f-4b0c-8be5-bbdc91f55294"/></Coding>
   </PlainTextSelection>
  </TextSource>
 </Sources>
 <Notes><Note guid="2FF58B12-6F6F-4B0C-8BE5-BBDC91F55294"><PlainTextContent>a memo</PlainTextContent></Note></Notes>
</Project>"""


def zipped(path: Path, files: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_a_project_of_another_program(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.qdpx", {qda.QDE: OTHER_PROGRAM, "Sources/a1.TXT": "Hello there."})
    with ProjectReader(path) as project:
        named = [(code.name, code.theme) for code in project.codes]
        assert named == [("Work", ""), ("Pay", "Work"), ("Pay / Late", "Work")]
        assert project.codes[0].texts == {"definition": "all about work", "notes": "a memo"}
        assert [*project.sources()] == [
            qda.TextSource("one", "Hello there.", [qda.QdaSpan(0, 5, ("2",), maker=Maker(Source.IMPORTED))])
        ]
        assert project.account.skipped == {"picture": 1}


MISSING = "text that is not in the archive"
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><Project name="&b;"/>'


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({qda.QDE: BOMB}, "document type or entities"),
        ({qda.QDE: '<!DOCTYPE x SYSTEM "file:///etc/passwd"><Project/>'}, "document type or entities"),
        ({qda.QDE: "<Project>"}, "not well-formed"),
        ({qda.QDE: "<CodeBook/>"}, "not with a project"),
        ({"other.txt": "a"}, "no project.qde"),
        ({qda.QDE: "<a>" * 60 + "</a>" * 60}, "begins with"),
        ({qda.QDE: "<Project>" + "<a>" * 60 + "</a>" * 60 + "</Project>"}, "more than 50 elements"),
        ({qda.QDE: "<Project/>", "sources/a.txt": b"a" * 12_000_000}, "which is too much"),
        ({qda.QDE: OTHER_PROGRAM.replace('"0"', '"x"'), "sources/A1.txt": "a"}, "no position"),
    ],
)
def test_a_bad_project_is_refused_with_a_sentence(tmp_path: Path, files: dict[str, str], problem: str) -> None:
    path = zipped(tmp_path / "bad.qdpx", files)
    with pytest.raises(ReadError, match=problem):
        ProjectReader(path)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({qda.QDE: OTHER_PROGRAM}, MISSING),
        ({qda.QDE: OTHER_PROGRAM.replace("internal://A1.txt", "absolute:///etc/passwd")}, MISSING),
        ({qda.QDE: OTHER_PROGRAM.replace("internal://A1.txt", "internal://../../A1.txt")}, MISSING),
        ({qda.QDE: OTHER_PROGRAM, "sources/A1.txt": b"\xff\xfe\xff"}, "text that is not in UTF-8"),
    ],
)
def test_a_text_that_cannot_be_read_is_left_out_alone(tmp_path: Path, files: dict[str, str], reason: str) -> None:
    path = zipped(tmp_path / "part.qdpx", files)
    with ProjectReader(path) as project:
        assert not [*project.sources()] and len(project.codes) == 3
        assert project.account.skipped == {"picture": 1, reason: 1, "coded passage of a text that is not read": 1}
        assert ("one", 1) in [(entry.place, project.account.skipped[entry.reason]) for entry in project.account.entries]


def test_many_notes_that_name_one_file_hold_its_text_once(tmp_path: Path) -> None:
    note = "<Note guid='n{0}' plainTextPath='internal://A1.txt'/>"
    notes = "<Notes>" + "".join(note.format(i) for i in range(300)) + "</Notes>"
    references = "".join(f"<NoteRef targetGUID='n{i}'/>" for i in range(300))
    selections = f"<PlainTextSelection startPosition='0' endPosition='5'>{references}</PlainTextSelection>"
    qde = OTHER_PROGRAM.split("<Notes>")[0] + notes + "</Project>"
    qde = qde.replace("</TextSource>", selections + "</TextSource>")
    path = zipped(tmp_path / "a.qdpx", {qda.QDE: qde, "sources/A1.txt": "It rained. " * 80_000})
    tracemalloc.start()
    with ProjectReader(path) as project:
        (source,) = project.sources()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert source.selections[-1].note.startswith("It rained.")
    assert project.account.changed == {"note cut after 20,000 characters": 1}
    assert peak < 200_000_000, "300 copies of the text are 264 MB"


def test_a_note_in_a_large_file_and_a_second_source_of_a_text_are_left_out_and_counted(tmp_path: Path) -> None:
    qde = OTHER_PROGRAM.replace("><PlainTextContent>a memo</PlainTextContent>", " plainTextPath='internal://A1.txt'>")
    with ProjectReader(zipped(tmp_path / "a.qdpx", {qda.QDE: qde, "sources/A1.txt": "a" * 1_000_001})) as project:
        assert "notes" not in project.codes[0].texts
        assert project.account.skipped == {"picture": 1, "text of more than 1 MB": 1}
    source = re.search(r" <TextSource.*</TextSource>", OTHER_PROGRAM, re.DOTALL)
    again = source[0].replace('"one"', '"two"').replace("A1.txt", "a1.TXT")
    qde = OTHER_PROGRAM.replace(source[0], source[0] + again)
    with ProjectReader(zipped(tmp_path / "a.qdpx", {qda.QDE: qde, "Sources/a1.TXT": "Hello there."})) as project:
        assert [source.name for source in project.sources()] == ["one"]
        lost = {"source with the text of another one": 1, "coded passage of a text that is not read": 1}
        assert project.account.skipped == {"picture": 1, **lost}


def test_damage_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.qdpx", {qda.QDE: OTHER_PROGRAM})
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2):
        path.write_bytes(whole[:size])
        with pytest.raises(ReadError):
            ProjectReader(path)
    path.write_bytes(whole[:60] + b"\0" * 40 + whole[100:])
    with pytest.raises(ReadError):
        ProjectReader(path)
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("sources/A1.txt", "".join(f"Line {i * i}. " for i in range(500)))
            archive.writestr(qda.QDE, OTHER_PROGRAM)
        content = bytearray(path.read_bytes())
        content[60:120] = bytes(60)
        path.write_bytes(content)
        with ProjectReader(path) as project, pytest.raises(ReadError, match="damaged"):
            list(project.sources())


def test_a_codebook_without_codes_or_with_entities_is_refused() -> None:
    for content, problem in (("<CodeBook/>", "no codes"), ("<Project/>", "not a codebook"), (BOMB, "entities")):
        with pytest.raises(ReadError, match=problem):
            qda.read_codebook(io.BytesIO(content.encode()), "x.qdc")


def sentences(*texts: str) -> list[Sentence]:
    return [Sentence(one, id, 1, section=id // 3, paragraph=id // 2, position=id) for id, one in enumerate(texts)]


@given(st.lists(text, min_size=1, max_size=7), st.lists(text, min_size=3, max_size=3))
def test_every_sentence_is_at_its_position(texts: list[str], titles: list[str]) -> None:
    listed, named = sentences(*texts), dict(enumerate(titles))
    whole, spans = qda.layout(named, listed)
    assert [whole[start:end] for start, end in spans] == texts
    assert qda.located(named, listed, whole) == spans
    found = qda.Spans(spans)
    for row, (start, end) in enumerate(spans):
        assert row in [at for at, _ in found.covered(start, end)]
        if texts[row]:
            assert [at for at, common in found.covered(start, end) if common] == [row]


@given(st.lists(name, min_size=1, max_size=5, unique=True), st.lists(name, max_size=3, unique=True))
def test_sections_come_back_from_the_text(texts: list[str], titles: list[str]) -> None:
    listed, named = sentences(*texts), dict(enumerate(titles, 1))
    whole, _ = qda.layout(named, listed)
    found = qda.sections(whole, qda.headings(named, listed))
    assert [title for title, _ in found if title] == list(qda.headings(named, listed))
    joined = " ".join(one_line(paragraph) for _, paragraphs in found for paragraph in paragraphs)
    assert set(titles) & set(texts) or joined == " ".join(texts)


def test_positions_count_code_points_and_half_of_a_sentence_is_enough() -> None:
    whole, spans = qda.layout({0: "Title"}, sentences("😀 first.", "Second."))
    assert whole == "Title\n\n😀 first. Second." and spans == [(7, 15), (16, 23)]
    listed = sentences("One two.", "Three.", "Not there.", "Four.")
    assert qda.located({}, listed, "One\r\n two.   Three.\r\n\r\nFour.") == [(0, 10), (13, 19), None, (23, 28)]
    assert qda.located({}, listed, "Another text.") is None
    halves = qda.Spans([(0, 10), (11, 21), None, (22, 30)])
    assert halves.covered(0, 10) == [(0, 10)]
    assert halves.covered(4, 17) == [(0, 6), (1, 6)]
    assert halves.covered(8, 13) == []
    assert halves.covered(0, 29) == [(0, 10), (1, 10), (3, 7)]
