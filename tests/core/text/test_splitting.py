"""Sentences: the package's boundaries, order, bounded work."""

import copy
from functools import cache
from importlib.resources import files

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sentence_splitter import SentenceSplitter as Package

from themescope.core.errors import ConfigError
from themescope.core.text.splitting import LANGUAGES, SentenceSplitter, split_article
from themescope.core.types import Article, Paragraph, Section

WORDS = ["  ", "..", "Mr", "No", "U.S", "etc", "Art", "pp", "p", "vs", ". The", " ", "! (And ", ".” But ", ". "]
PIECES = dict(enumerate([*" .!?'()[]«»“”Ab1-%\n\té_É,ª中¿\"", *WORDS], start=0x100))  # each stands for a character
PARAGRAPH = (
    'Dr. Smith of the U.S. Navy (ret.) came at 5 p.m. on Jan. 5. He left at once! "Why?" asked Mrs. Jones. \'No. 7 is '
    "open.' She smiled... Then she said: see Fig. 3 and pp. 4-5. (Nobody did.) ¿Qué? Ça va. “Good.” 3 men came. "
    "e.g. this."
)


def package_split(language, text):
    return [sentence for sentence in package_of(language).split(text) if sentence]


package_of = cache(Package)


@given(text=st.text("".join(map(chr, PIECES)), max_size=14).map(lambda drawn: drawn.translate(PIECES)))
@settings(max_examples=150, deadline=None)
@example(text=PARAGRAPH)
@example(text="No. 5 is No. Five. p. 3.\n \n X. .Y.Z. A.")
def test_boundaries_are_those_of_the_package(text):
    for language in ("en", "de", "fr", "lt", "fi", "ru"):
        assert SentenceSplitter(language).split(text) == package_split(language, text)


@given(text=st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_text_splits_as_the_package_does(text):
    assert SentenceSplitter("en").split(text) == package_split("en", text)


def test_every_language_of_the_package_is_known_and_used():
    folder = files("sentence_splitter") / "non_breaking_prefixes"
    listed = [file.name.removesuffix(".txt") for file in folder.iterdir() if file.name.endswith(".txt")]
    assert len(listed) >= 20 and set(listed) <= set(LANGUAGES)
    for language in listed:
        assert SentenceSplitter(language).split(PARAGRAPH) == package_split(language, PARAGRAPH)


def test_unknown_language_names_the_known_ones():
    with pytest.raises(ConfigError, match="'en"):
        SentenceSplitter("eng")


@pytest.mark.parametrize("tail", [" End", " end"])
@pytest.mark.parametrize("unit", [".", ". ", "a", '."', "(", "A."])
def test_repeated_characters_take_linear_time(unit, tail):
    """Quadratic time would reach the time limit of a test (``faulthandler_timeout``)."""
    text = unit * 1_000_000 + tail
    assert "".join(SentenceSplitter("en").split(text)).replace(" ", "") == text.replace(" ", "")


def article(number):
    lead = Section("", 1, (Paragraph(f"Article {number} begins. It goes on."), Paragraph("  ")))
    body = Section(
        "Body", 2, (Paragraph("Given. Kept whole.", ("Given. Kept whole.",)), Paragraph("One! Two? Three.")), ("Body",)
    )
    return Article(f"A{number}", (lead, body), "u", "s")


def test_split_article_fills_keeps_and_drops():
    done = split_article(article(1), SentenceSplitter("en"))
    assert [p.sentences for p in done.sections[0].paragraphs] == [("Article 1 begins.", "It goes on.")]
    assert [p.sentences for p in done.sections[1].paragraphs] == [("Given. Kept whole.",), ("One!", "Two?", "Three.")]
    assert (done.title, done.url, done.source, done.sections[1].path) == ("A1", "u", "s", ("Body",))
    assert split_article(done, SentenceSplitter("en")) == done


def test_a_splitter_is_rebuilt_from_its_language():
    assert copy.copy(SentenceSplitter("de")).language == "de"
