from collections.abc import Iterator

import pytest

from tests.core.readers.samples import PACKERS, sample, write
from tests.core.reports import Watched
from themescope.core.errors import Cancelled, ReadError
from themescope.core.readers import REGISTRY
from themescope.core.readers.formats import detect, preview
from themescope.core.readers.formats import sample as sample_of
from themescope.core.types import SILENT, Article, Reader

READERS = pytest.mark.parametrize("id", REGISTRY.ids())
PACKINGS = pytest.mark.parametrize("packing", list(PACKERS))


@READERS
@PACKINGS
def test_reads_well_formed_articles_and_is_detected_packed_or_not(id, packing, tmp_path):
    path, reader = sample(tmp_path, id, packing), REGISTRY.build(id)
    assert detect(path) == id and isinstance(reader, Reader)
    articles = list(reader.read(path, SILENT))
    assert articles and all(isinstance(article, Article) for article in articles)
    assert any("Ada" in article.title or article.title == "ada" for article in articles)
    text = " ".join(p.text for a in articles for s in a.sections for p in s.paragraphs)
    assert "founded" in text and "  " not in text
    for article in articles:
        assert article.title == article.title.strip() != ""
        assert any(section.paragraphs for section in article.sections)
        for index, section in enumerate(article.sections):
            assert (section.level == 1) == (section.title == "") == (section.path == ())
            assert index == 0 or section.level > 1
            assert section.path == () or section.path[-1] == section.title
            assert all(p.text.strip() == p.text != "" and "\n" not in p.text for p in section.paragraphs)


@READERS
def test_streams_restarts_and_keeps_order(id, tmp_path):
    path, reader = sample(tmp_path, id), REGISTRY.build(id)
    first = reader.read(path, SILENT)
    assert isinstance(first, Iterator)
    next(first)  # begun and left: the next reading starts afresh
    once, skipped = list(reader.read(path, SILENT)), reader.skipped
    assert list(reader.read(path, SILENT)) == once
    assert reader.skipped == skipped
    assert all(isinstance(reason, str) and count > 0 for reason, count in skipped.items())


@READERS
@pytest.mark.parametrize("packing", [".gz", ".bz2", ".xz"])
def test_a_truncated_file_is_named(id, packing, tmp_path):
    path = sample(tmp_path, id, packing)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(ReadError, match=r"truncated|damaged") as caught:
        list(REGISTRY.build(id).read(path, SILENT))
    assert path.name in str(caught.value) and "again" in str(caught.value) and caught.value.position


@READERS
@pytest.mark.parametrize("packing", ["", ".gz"])
def test_missing_empty_folder_wrong_encoding(id, packing, tmp_path):
    card, empty = REGISTRY.get(id), write(tmp_path, "empty", b"", packing)
    latin = write(tmp_path, f"latin.{card.suffixes[-1]}", sample_of(id).replace(b"founded", b"f\xfcnded"), packing)
    bad = {empty: "nothing|empty", tmp_path: "folder", tmp_path / "no": "no such"}
    if "latin-1" in card.tags:
        first = next(REGISTRY.build(id).read(latin, SILENT))
        assert any("fünded" in paragraph.text for section in first.sections for paragraph in section.paragraphs)
    elif "binary" not in card.tags:  # those have texts in the encodings of their format
        bad[latin] = "byte [0-9]"
    for path, words in bad.items():
        with pytest.raises(ReadError, match=words) as caught:
            list(REGISTRY.build(id).read(path, SILENT))
        assert path.name in str(caught.value)


@READERS
def test_binary_garbage_is_refused(id, tmp_path):
    path = write(tmp_path, "noise.bin", bytes(range(256)) * 40)
    with pytest.raises(ReadError):
        list(REGISTRY.build(id).read(path, SILENT))
    with pytest.raises(ReadError, match="binary"):
        detect(path)


@READERS
def test_progress_reaches_the_end_and_can_cancel(id, tmp_path):
    path, report = sample(tmp_path, id), Watched()
    list(REGISTRY.build(id).read(path, report))
    assert report.calls[-1] == (path.stat().st_size,) * 2
    with pytest.raises(Cancelled):
        list(REGISTRY.build(id).read(path, Watched(at=1)))


@READERS
def test_a_preview_shows_the_first_articles(id, tmp_path):
    path = sample(tmp_path, id)
    shown = preview(path, n=1)
    assert shown.reader == id and len(shown.articles) == 1
    assert shown.articles[0] == next(REGISTRY.build(id).read(path, SILENT))
    assert len(preview(path, id, {}, n=50).articles) <= 2
