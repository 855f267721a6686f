import numpy as np
import pytest

from tests.core.triplets.articles import article, plain, section, words
from themescope.core.errors import ConfigError
from themescope.core.tasks.scb import PUBLISHED, ScbRules, build_scb
from themescope.core.triplets.rules import ArticleSentences, positioned
from themescope.core.types import Article, Paragraph, Section, Split


def build(articles: list[ArticleSentences], splits: tuple[Split, ...] = (*Split,), seed: int = 0, **settings: object):
    return build_scb(articles, ScbRules(**settings), seed, splits)


def test_takes_all_sentences_within_the_token_bounds_of_sections_with_three() -> None:
    source = article("X", *(section(n, 2) for n in "ABCDE"), section("Small", 1), section("References", 3))
    items, counts = build([source])
    texts = {s.id: s for s in source.sentences}
    assert len(items) == 1 and items[0].article_id == source.article_id
    assert [texts[int(i)].text.split("/")[0] for i in items[0].sentence_ids] == [n for n in "ABCDE" for _ in range(4)]
    np.testing.assert_array_equal(items[0].truth, np.repeat([1, 2, 3, 4, 5], 4))
    assert items[0].truth.dtype == np.int32 and items[0].sentence_ids.dtype == np.int64
    assert counts["table"]["ours"]["sentences"] == 20 and counts["table"]["published"] == PUBLISHED
    assert counts["table"]["ours"].keys() == PUBLISHED.keys()
    short = Section("Short", 2, (Paragraph("", (words("a"), words("b"), "Too short.")),))
    source = article("X", *(section(n, 2) for n in "ABCDE"), short)
    assert len(set(build([source])[0][0].truth)) == 5


@pytest.mark.parametrize(
    ("sections", "paragraphs", "reason"),
    [(4, 3, "too_few_sections"), (13, 2, "too_many_sections"), (5, 2, None), (12, 2, None)],
)
def test_number_of_sections(sections: int, paragraphs: int, reason: str | None) -> None:
    items, counts = build([plain("X", sections, paragraphs)])
    assert len(items) == (reason is None)
    assert counts["articles"]["dropped"] == ({reason: 1} if reason else {})


def test_number_of_sentences_openers_and_top_sections() -> None:
    source = article("X", *(section(n, 1, follow=2) for n in "ABCDE"))
    assert build([source])[1]["articles"]["dropped"] == {"too_few_sentences": 1}
    assert len(build([source], min_sentences=15)[0]) == 1
    items, _ = build([plain("X", 6, 4)], openers_only=True)
    assert len(items[0].sentence_ids) == 24
    assert build([plain("X", 6, 2)], openers_only=True)[0] == []
    parts = [s for n in "ABCDE" for s in (section(n, 1), section(f"{n}1", 1, level=3))]
    source = article("X", *parts)
    tops, _ = build([source], sections="top")
    assert sorted(set(tops[0].truth)) == [1, 3, 5, 7, 9]


def test_the_sample_of_the_wanted_splits_is_seeded_and_independent_of_order() -> None:
    articles = [plain(f"Title {i}", 5, 2, id=i) for i in range(40)]

    def taken(source: list[ArticleSentences], seed: int) -> list[int]:
        return [item.article_id for item in build(source, seed=seed, max_articles=10)[0]]

    assert taken(articles, 0) == taken(articles[::-1], 0)
    assert len(taken(articles, 0)) == 10 and taken(articles, 0) != taken(articles, 1)
    more = [item.article_id for item in build(articles, seed=0, max_articles=20)[0]]
    assert set(taken(articles, 0)) < set(more)
    articles = [plain(f"Title {i}", 5, 2, id=i) for i in range(60)]
    items, counts = build(articles, (Split.TEST,))
    test = {a.article_id for a in articles if a.split is Split.TEST}
    assert {item.article_id for item in items} == test
    assert counts["articles"]["dropped"] == {"other_split": 60 - len(test)}


def test_as_given_takes_everything_and_nothing_may_qualify() -> None:
    sections = (
        Section("", 1, (Paragraph("", ("Short.", "Also short.")),)),
        Section("References", 2, (Paragraph("", ("One.",)),)),
    )
    source = positioned(Article("Moeller High School", sections), 7)
    single = positioned(Article("One section", sections[:1]), 8)
    items, counts = build([source, single], as_given=True, max_articles=1)
    assert [item.truth.tolist() for item in items] == [[0, 0, 1]]
    assert counts["articles"]["dropped"] == {"fewer_than_two_sections": 1}
    items, counts = build([])
    assert items == [] and counts["table"]["ours"] == {}
    with pytest.raises(ConfigError, match="max_sections"):
        ScbRules(min_sections=6, max_sections=5)
