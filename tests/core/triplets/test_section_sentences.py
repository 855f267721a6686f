"""Sentences of kept sections, for methods that learn from whole articles."""

from themescope.core.triplets.rules import SectionRules, positioned, section_sentences
from themescope.core.types import Article, Paragraph, Section

LONG = " ".join(["word"] * 60)


def text(name):
    return f"This is a sentence about {name}."


ARTICLE = positioned(
    Article(
        "A",
        (
            Section("", 1, (Paragraph(sentences=(text("lead"),)),)),
            Section("History", 2, (Paragraph(sentences=(text("a"), "Too short.", text("b"))),)),
            Section("Origin", 3, (Paragraph(sentences=(LONG, text("c"))),)),
            Section("See also", 2, (Paragraph(sentences=(text("links"),)),)),
            Section("Economy", 2, (Paragraph(sentences=(text("d"),)),)),
        ),
    )
)


def found(**rules):
    return [(s.text, s.section) for s in section_sentences(ARTICLE, SectionRules(**rules))]


def test_every_heading_is_a_section_and_all_sentences_of_allowed_length_are_kept():
    assert found() == [(text("a"), 0), (text("b"), 0), (text("c"), 1), (text("d"), 2)]


def test_subsections_can_be_merged():
    assert [section for _, section in found(sections="top")] == [0, 0, 0, 1]


def test_positions_and_paragraphs_are_kept():
    by_text = {s.text: s for s in ARTICLE.sentences}
    for sentence in section_sentences(ARTICLE, SectionRules()):
        original = by_text[sentence.text]
        assert (sentence.position, sentence.id) == (original.position, original.id)
