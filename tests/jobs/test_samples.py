"""Sample projects: their texts are there, readable, and imported by jobs that anybody could queue."""

import dataclasses

import pytest

from themescope.core.errors import DataError
from themescope.core.readers.formats import preview
from themescope.db.store import Store
from themescope.jobs.services.installation.demo import SAMPLES, build_sample

PYTHON, DOCUMENTATION = SAMPLES[1], SAMPLES[2]


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample.name for sample in SAMPLES])
def test_the_import_and_the_rest_are_queued(sqlite_store: Store, sample: object) -> None:
    jobs = build_sample(sqlite_store, sample)  # type: ignore[arg-type]
    assert [job.kind for job in jobs] == ["import-corpus", "embed", "find-themes", "project"]
    assert [job.after for job in jobs] == [None, *(job.id for job in jobs[:-1])]


def test_chapters_of_python_are_articles_with_sections(sqlite_store: Store) -> None:
    (path,) = PYTHON.files(sqlite_store.settings.home)
    found = preview(path, "markdown", dict(PYTHON.settings), n=200).articles
    comparisons = next(article for article in found if article.title == "Comparisons")
    assert "Value comparisons" in [section.title for section in comparisons.sections]
    text = " ".join(p.text for section in comparisons.sections for p in section.paragraphs)
    assert "have the same priority" in text and "__lt__()" in text and "::=" not in text
    assert len(found) > 60


def test_documents_of_this_project_are_prose(sqlite_store: Store) -> None:
    files = DOCUMENTATION.files(sqlite_store.settings.home)
    assert len(files) > 15 and not any(path.name.startswith("results-") for path in files)


def test_an_installation_without_the_text_says_so(sqlite_store: Store) -> None:
    with pytest.raises(DataError, match="is not part of this installation"):
        build_sample(sqlite_store, dataclasses.replace(DOCUMENTATION, files=lambda home: []))
