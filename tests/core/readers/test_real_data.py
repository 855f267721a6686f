"""Readers on real files: the dump inside the gensim wheel always, the shared collection where it is at hand."""

import random
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from sentence_splitter import SentenceSplitter as Package

from themescope.core.readers import REGISTRY
from themescope.core.readers.formats import detect
from themescope.core.text.splitting import SentenceSplitter
from themescope.core.types import SILENT

DEBRIS = re.compile(
    r"\{\{|\}\}|\[\[|\]\]|<ref|'''|==|\(\s*\)|  | ,(?=\s)|^[,;:)]|,,|&nbsp;|\{\||\|\}|<!--|__[A-Z]+__|\bthumb\|"
)


def paragraphs(articles):
    return [p.text for article in articles for section in article.sections for p in section.paragraphs]


def test_the_dump_inside_gensim():
    (package,) = find_spec("gensim").submodule_search_locations
    path = next((Path(package) / "test" / "test_data").glob("enwiki-latest-pages-articles1.xml-p0*-shortened.bz2"))
    assert detect(path) == "mediawiki-dump"
    reader = REGISTRY.build("mediawiki-dump")
    articles = list(reader.read(path, SILENT))
    skipped = reader.skipped
    assert skipped["redirect"] == 100
    # 106 pages are no redirects: 97 articles, 8 disambiguation pages, one list without running text.
    assert len(articles) == 97 and skipped["disambiguation"] == 8 and skipped["no text"] == 1
    texts = paragraphs(articles)
    assert not [text for text in random.Random(0).sample(texts, 20) if DEBRIS.search(text) or "|" in text]
    assert sum(bool(DEBRIS.search(text)) for text in texts) <= 2  # of about 5,000
    assert next(a for a in articles if a.title == "Anarchism").sections[1].level == 2


@pytest.mark.parametrize("name", ["2014-3-pages", "2017-5-pages-tables", "2021-27-pages"])
def test_the_other_dumps(name, shared_data):
    reader = REGISTRY.build("mediawiki-dump")
    articles = list(reader.read(shared_data / "wikipedia" / "dumps" / f"enwiki-{name}.xml.bz2", SILENT))
    pages = sum(reader.skipped.get(reason, 0) for reason in ("redirect", "namespace", "disambiguation", "no text"))
    assert len(articles) + pages == int(name.split("-")[1])
    assert not [text for text in paragraphs(articles) if DEBRIS.search(text)]


def test_the_sample_and_its_sentences(shared_data):
    articles = list(REGISTRY.build("jsonl").read(shared_data / "wikipedia" / "sample.jsonl", SILENT))
    assert len(articles) == 40
    ours, package = SentenceSplitter("en"), Package("en")
    texts = random.Random(0).sample(paragraphs(articles), 150)
    assert sum(ours.split(text) == package.split(text) for text in texts) >= 0.95 * len(texts)
