"""Report of a project: its numbers are those of the store, in HTML and in Word, and nothing of users is markup."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from docx import Document
from docx.oxml.ns import qn

from tests.homes import CopyHome, MakeHome
from tests.jobs.estimates.survey import ROWS, survey
from tests.jobs.test_kinds import do
from themescope.core.estimates.shares import share
from themescope.core.labelling.markup import Block, HeadingBlock, ParagraphBlock, Picture, Table, as_html, as_markdown
from themescope.core.metrics.statistics import share_intervals
from themescope.db.records import MapPoints
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.services.estimates import open_study
from themescope.jobs.services.report import as_docx, numbered_picture, project_report


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answers")

    def fill(store: Store) -> None:
        survey(folder, predicted=True)(store)
        with store.reading() as r:
            (corpus,), model = r.corpora.list(), r.models.list()[-1]
        do(store, "find-themes", corpus=corpus.name, model=model.name, settings={"k": 3})
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


def written(store: Store, long: bool = True) -> list[Block]:
    with store.reading() as r:
        (corpus,) = r.corpora.list()
        return project_report(store, corpus.id, r.labellings.list(corpus.id), long)


def table(blocks: list[Block], column: str) -> Table:
    return next(block for block in blocks if isinstance(block, Table) and column in block.header)


def headings(blocks: list[Block]) -> list[str]:
    return [block.text for block in blocks if isinstance(block, HeadingBlock)]


def test_shares_of_themes_and_codes_are_those_of_the_store(store: Store) -> None:
    blocks = written(store)
    themes = table(blocks, "Theme").rows
    with store.reading() as r:
        (corpus,) = r.corpora.list()
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


def test_the_short_report_is_two_pages_of_the_same_numbers(store: Store) -> None:
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
    with store.reading() as r:
        (corpus,) = r.corpora.list()
    themes = project_report(store, corpus.id, [])
    assert headings(themes) == ["Report of C", "Question", "Data", "Themes", "Limits"]


def test_what_cannot_be_reported_is_said(store: Store) -> None:
    with store.reading() as r:
        (corpus,) = r.corpora.list()
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


def test_texts_of_users_are_text_in_word() -> None:
    hostile = "<w:p>&\x00\ud800 *x*"
    document = Document(BytesIO(as_docx([ParagraphBlock(hostile), Table((hostile,), [(hostile,)])], hostile)))
    assert document.paragraphs[0].text == "<w:p>&\ufffd\ufffd *x*" == document.tables[0].rows[1].cells[0].text


def test_the_picture_shows_every_group() -> None:
    from PIL import Image

    points = np.array([[0, 0], [0, 1], [5, 5], [9, 0]], np.float32)
    with Image.open(BytesIO(numbered_picture(points, np.array([0, 0, 1, -1], np.int32)))) as image:
        colours = {colour for _, colour in image.getcolors(1_000_000) or ()}
    assert {(27, 127, 121), (194, 84, 45), (185, 188, 192)} <= colours
    assert numbered_picture(points[:1], np.zeros(1, np.int32))[:4] == b"\x89PNG"


def test_the_command_writes_each_format(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEMESCOPE_HOME", str(store.settings.home))
    with store.reading() as r:
        (corpus,) = r.corpora.list()
    for suffix, begin in ((".html", b"<!doctype html>"), (".docx", b"PK"), (".md", b"# Report of")):
        out = tmp_path / f"report{suffix}"
        done = CliRunner().invoke(main, ["report", corpus.name, "--out", str(out), "--labelling", "gold"])
        assert done.exit_code == 0, done.output
        assert out.read_bytes().lower().startswith(begin.lower())
    long = tmp_path / "long.md"
    assert CliRunner().invoke(main, ["report", corpus.name, "--out", str(long), "--long"]).exit_code == 0
    assert "## Codings" in long.read_text("utf-8") and "## Codings" not in (tmp_path / "report.md").read_text("utf-8")
    wrong = CliRunner().invoke(main, ["report", corpus.name, "--out", str(tmp_path / "report.pdf")])
    assert wrong.exit_code == 2 and "not .pdf" in wrong.output
