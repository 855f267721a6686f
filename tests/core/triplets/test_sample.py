from collections import Counter, defaultdict
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests.core.triplets.articles import article, plain, section, words
from themescope.core.config import config_from_dict
from themescope.core.errors import ConfigError, DataError
from themescope.core.triplets.rules import ArticleSentences, TripletRules, positioned
from themescope.core.triplets.sample import SampledTriplets, sample_triplets
from themescope.core.types import SILENT, Article, Paragraph, Section, Sentence, Split

ALL = TripletRules(profile="all")
SOURCES = ("adjacent", "same_article", "random_article")


def draw(
    articles: list[ArticleSentences], rules: TripletRules = ALL, kind: str = "sentences", seed: int = 0
) -> SampledTriplets:
    return sample_triplets(articles, kind, rules, seed, SILENT)


def texts(articles: list[ArticleSentences], sampled: SampledTriplets) -> list[tuple[Split, str, str, str]]:
    by_id = {s.id: s.text for a in articles for s in a.sentences}
    return [
        (split, by_id[p], by_id[q], by_id[n])
        for split, rows in sampled.rows.items()
        for p, q, n in zip(rows.pivots, rows.positives, rows.negatives, strict=True)
    ]


def split_articles(per_split: int = 3, **shape: int) -> list[ArticleSentences]:
    found: dict[Split, list[ArticleSentences]] = defaultdict(list)
    number = 0
    while min(len(found[s]) for s in Split) < per_split:
        candidate = plain(f"Title {number}", id=number + 1, **shape)
        if len(found[candidate.split]) < per_split:
            found[candidate.split].append(candidate)
        number += 1
    return [a for split in Split for a in found[split]]


def test_five_sections_are_needed_after_dropping() -> None:
    four = [section(name) for name in "ABCD"]
    source = article("X", *four, section("Notes"), section("Empty", 0), section("Background"))
    sampled = draw([source])
    assert len(sampled) == 0
    assert sampled.counts["articles"]["dropped"] == {"fewer_than_min_sections": 1}
    # Two paragraphs in each of five: one pair a section; inner sections have two neighbours, outer ones one.
    sampled = draw([article("X", *four, section("E"))])
    assert len(sampled) == sampled.counts["mean_triplets_per_article"] == 2 * 3 + 2
    assert sampled.counts["pairs"]["possible"] == 5


def test_pairs_are_at_most_three_paragraphs_apart_also_over_those_that_are_not_eligible() -> None:
    tail = [section(n, 1) for n in "BCDE"]
    source = article("X", section("A", 6), *tail)
    assert draw([source]).counts["pairs"]["possible"] == 5 + 4 + 3
    near = TripletRules(profile="all", max_paragraph_distance=1)
    assert draw([source], near).counts["pairs"]["possible"] == 5
    paragraphs = [Paragraph("", (text,)) for text in (words("first"), "Short.", "Short.", "Short.", words("fifth"))]
    source = article("X", Section("A", 2, tuple(paragraphs)), *tail, lead=False)
    assert draw([source]).counts["pairs"]["possible"] == 0


def test_a_negative_equal_after_folding_is_dropped() -> None:
    same = Section("A", 2, (Paragraph("", ("One two three four  FIVE.",)), Paragraph("", (words("a"),))))
    twin = Section("B", 2, (Paragraph("", ("one two three four five.",)),))
    source = article("X", same, twin, *(section(n, 1) for n in "CDE"), lead=False)
    sampled = draw([source])
    assert len(sampled) == 0 and sampled.counts["triplets"]["dropped"]["same_text"] == 1


def test_neighbours_are_those_of_the_filtered_list() -> None:
    source = article("X", section("A"), section("Notes"), section("B"), *(section(n, 1) for n in "CDE"))
    negatives = {n.split("/")[0] for _, p, _, n in texts([source], draw([source])) if p.startswith("A/")}
    assert negatives == {"B"}


def test_pivot_is_either_sentence_of_the_pair() -> None:
    sampled = draw([plain(f"T{i}", id=i + 1) for i in range(40)])
    rows = sampled.rows[Split.TRAIN]
    assert 0.35 < np.mean(rows.pivots < rows.positives) < 0.65


@pytest.mark.parametrize("negative", SOURCES)
def test_caps(negative: str) -> None:
    articles = split_articles(3, sections=7, paragraphs=5)
    sampled = draw(articles, TripletRules(negative=negative))
    per_article = Counter(int(a) for rows in sampled.rows.values() for a in rows.articles)
    assert set(per_article.values()) == {4}
    assert sampled.counts["pairs"]["used"] == 7 * len(articles)
    signal = TripletRules(profile="max-signal", negative=negative)
    assert draw(articles, signal).counts["pairs"]["used"] == 21 * len(articles)


def test_variants_have_the_same_pairs() -> None:
    articles = split_articles(3, sections=6, paragraphs=4)
    drawn = [texts(articles, draw(articles, TripletRules(negative=negative))) for negative in SOURCES]
    pairs = [[row[:3] for row in rows] for rows in drawn]
    assert pairs[0] == pairs[1] == pairs[2]
    assert drawn[0] != drawn[1] != drawn[2]


def test_same_article_uses_all_other_sections_twice_different_for_a_pair() -> None:
    source = plain("X", sections=8, paragraphs=4)
    rows = texts([source], draw([source], TripletRules(profile="all", negative="same_article")))
    reached = {(p.split("/")[0], n.split("/")[0]) for _, p, _, n in rows}
    assert len(reached) > 8 * 4  # of 56; neighbours alone would be 14
    by_pair: dict[tuple[str, str], list[str]] = defaultdict(list)
    for _, p, q, n in rows:
        by_pair[p, q].append(n.split("/")[0])
    assert all(len(set(sections)) == len(sections) for sections in by_pair.values())


def test_titles() -> None:
    source = article("X", *(section(n, 2) for n in "ABCDE"))
    sampled = draw([source], kind="titles")
    rows = sampled.rows[source.split]
    title = {s.id: s.title for s in source.sections}
    opening = {s.id: s.text.split()[0] for s in source.sentences}
    places = zip(rows.pivots, rows.positives, rows.negatives, strict=True)
    neighbours = ("AB", "BA", "BC", "CB", "CD", "DC", "DE", "ED")
    assert [(opening[p], title[q], title[n]) for p, q, n in places] == [(f"{q}/0/0", q, n) for q, n in neighbours]


def test_titles_pivot_is_the_opening_of_the_first_paragraph_only() -> None:
    late = Section("A", 2, (Paragraph("", ("Short.",)), Paragraph("", (words("late"),))))
    source = article("X", late, *(section(n, 1) for n in "BCDE"), lead=False)
    sampled = draw([source], kind="titles")
    assert source.sections[0].id not in sampled.rows[source.split].positives
    assert source.sections[0].id in sampled.rows[source.split].negatives


def test_every_sentence_instead_of_openings() -> None:
    source = article("X", *(section(n, 2, follow=2) for n in "ABCDE"))
    rules = TripletRules(profile="all", openers_only=False)
    sampled = draw([source], rules)
    by_id = {s.id: s for s in source.sentences}
    rows = sampled.rows[source.split]
    places = [(by_id[p], by_id[q]) for p, q in zip(rows.pivots, rows.positives, strict=True)]
    # 3 sentences in each of 2 paragraphs: 9 pairs a section, and 8 ordered pairs of neighbouring sections.
    assert len(places) == 9 * 8
    assert all((p.section, abs(p.paragraph - q.paragraph)) == (q.section, 1) for p, q in places)
    assert {id for pair in places for id in (pair[0].id, pair[1].id)} == {s.id for s in source.sentences if s.section}
    capped = draw([source], TripletRules(profile="all", openers_only=False, pairs_per_section=2))
    assert capped.counts["pairs"]["used"] == 2 * 5
    titles = draw([source], TripletRules(profile="all", openers_only=False), kind="titles").rows[source.split]
    assert all(by_id[p].opens_paragraph and by_id[p].paragraph == 0 for p in titles.pivots)


def test_titles_with_every_paragraph_as_pivot() -> None:
    source = article("X", *(section(n, 3) for n in "ABCDE"))
    sampled = draw([source], TripletRules(profile="all", title_pivots="all"), kind="titles")
    rows = sampled.rows[source.split]
    opening = {s.id: s.text.split()[0] for s in source.sentences}
    # 5 sections with 3 paragraphs each and 8 ordered pairs of neighbours.
    assert len(rows.pivots) == 3 * 8
    assert {opening[p] for p in rows.pivots} == {f"{name}/{p}/0" for name in "ABCDE" for p in range(3)}
    assert draw([source], TripletRules(title_pivots="all")).digest == draw([source], TripletRules()).digest


def test_equal_titles_and_blank_titles_give_no_triplet() -> None:
    names = ("Early life", "early  LIFE", "", "C", "D")
    named = [Section(name, 2, section(f"s{i}", 1).paragraphs) for i, name in enumerate(names)]
    source = article("X", section("Z", 1), *named, lead=False)
    title = {s.id: s.title for s in source.sections}
    rows = draw([source], kind="titles").rows[source.split]
    pairs = {(title[q], title[n]) for q, n in zip(rows.positives, rows.negatives, strict=True)}
    assert pairs == {("Z", "Early life"), ("Early life", "Z"), ("C", "D"), ("D", "C")}


def test_rules_of_version_0_1_are_read_and_wrong_ones_refused() -> None:
    assert config_from_dict(TripletRules, {"third": "same_article"}) == TripletRules(negative="same_article")
    with pytest.raises(ConfigError, match="adjacent"):
        draw([], TripletRules(negative="same_article"), "titles")
    with pytest.raises(ConfigError, match="sentences or titles"):
        draw([], ALL, "paragraphs")
    with pytest.raises(DataError, match="only eligible article of its split"):
        draw([plain("X")], TripletRules(negative="random_article"))


@pytest.mark.parametrize(("kind", "negative"), [("titles", "adjacent"), *(("sentences", one) for one in SOURCES)])
def test_file_order_and_ids_change_nothing(kind: str, negative: str) -> None:
    rules = TripletRules(negative=negative)
    articles = split_articles(4, sections=6, paragraphs=3)
    renumbered = [plain(a.title, 6, 3, id=500 - i) for i, a in enumerate(articles)]
    first, again, other = draw(articles, rules, kind), draw(articles[::-1], rules, kind), draw(renumbered, rules, kind)
    assert first.digest == again.digest == other.digest
    assert first.counts == again.counts == other.counts
    for split in Split:
        for column in ("articles", "pivots", "positives", "negatives"):
            np.testing.assert_array_equal(getattr(first.rows[split], column), getattr(again.rows[split], column))
    assert draw(articles, rules, kind, seed=1).digest != first.digest


def test_an_article_is_drawn_alike_whatever_else_is_there() -> None:
    alone, company = plain("X", 6, 4), [plain(f"T{i}", 6, 4, id=i + 2) for i in range(5)]
    together = texts([alone, *company], draw([alone, *company], TripletRules()))
    assert [row for row in together if row[1].startswith("X ")] == texts([alone], draw([alone], TripletRules()))


def test_counts_add_up() -> None:
    articles = [*split_articles(2, sections=6, paragraphs=4), article("Small", section("A"), id=999)]
    counts = draw(articles, TripletRules()).counts
    sections = counts["sections"]
    assert sections["seen"] == sections["kept"] + sum(sections["dropped"].values())
    sentences = counts["sentences"]
    assert sentences["in_kept_sections"] == sentences["eligible"] + sum(sentences["dropped"].values())
    triplets = counts["triplets"]
    assert triplets["total"] == sum(triplets[str(split)] for split in Split) == 6 * 4
    assert triplets["dropped"]["over_article_cap"] == 6 * (6 * 2 - 2) - 6 * 4


TEXTS = ("Short.", "one two three four five", "a b c d e f", "g h i j k", "One  two three four FIVE")
PARAGRAPHS = [Paragraph("", drawn) for count in (1, 2) for drawn in product(TEXTS, repeat=count)]
HEADINGS = st.sampled_from(["A", "B", "C", "D", "Notes", "background", ""])
# A character for a paragraph: a text is drawn at once, a list piece by piece.
LISTED = st.text("".join(map(chr, range(len(PARAGRAPHS)))), max_size=5)
PARTS = LISTED.map(lambda drawn: tuple(PARAGRAPHS[ord(p)] for p in drawn))
SECTIONS = st.builds(Section, HEADINGS, st.integers(2, 4), PARTS)
TITLES = st.lists(st.text("abcä_ ", min_size=1, max_size=5), min_size=1, max_size=6, unique=True)


@st.composite
def corpora(draw_: st.DrawFn) -> list[ArticleSentences]:
    """Articles of random shape: levels, empty sections, sentences too short, repeated texts, back matter."""
    sections = st.lists(SECTIONS, min_size=4, max_size=9).map(tuple)
    return [positioned(Article(title, draw_(sections)), i, i * 1000, i * 100) for i, title in enumerate(draw_(TITLES))]


@settings(max_examples=60, deadline=None)
@given(corpora(), st.sampled_from(["flattened", "top"]), st.sampled_from(SOURCES), st.integers(0, 3))
def test_invariants(articles: list[ArticleSentences], sections: str, source: str, seed: int) -> None:
    rules = TripletRules(profile="all", sections=sections, negative=source)
    try:
        sampled = draw(articles, rules, seed=seed)
    except DataError:
        reject()
    assert draw(Random(seed).sample(articles, len(articles)), rules, seed=seed).digest == sampled.digest
    sentences: dict[int, Sentence] = {s.id: s for a in articles for s in a.sentences}
    split = {a.article_id: a.split for a in articles}
    for of, rows in sampled.rows.items():
        for article_id, p, q, n in zip(rows.articles, rows.pivots, rows.positives, rows.negatives, strict=True):
            pivot, positive, negative = (sentences[int(i)] for i in (p, q, n))
            assert pivot.article_id == positive.article_id == article_id
            assert of == split[article_id] == split[negative.article_id]
            assert (negative.article_id == int(article_id)) is (source != "random_article")
            assert all(s.opens_paragraph and 5 <= len(s.text.split()) <= 50 for s in (pivot, positive, negative))
            if sections == "flattened":
                assert pivot.section == positive.section and 1 <= abs(pivot.paragraph - positive.paragraph) <= 3
                assert (negative.section, negative.article_id) != (pivot.section, pivot.article_id)
            folded = [" ".join(s.text.casefold().split()) for s in (pivot, positive, negative)]
            assert folded[2] not in folded[:2]
