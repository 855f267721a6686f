import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.core.triplets.articles import article, section, words
from themescope.core.errors import ConfigError, DataError, ReadError
from themescope.core.triplets.rules import (
    ArticleSentences,
    SectionRules,
    TripletRules,
    eligible,
    kept_sections,
    positioned,
    section_sentences,
)
from themescope.core.triplets.sample import divided, read_triplets
from themescope.core.types import Article, Paragraph, Section, Split, TripletTexts


def kept_titles(source: ArticleSentences, rules: SectionRules | None = None) -> list[str]:
    return [kept.record.title for kept in kept_sections(source, rules or SectionRules(), Counter())]


@pytest.mark.parametrize(
    ("outline", "rules", "kept"),
    [
        ("A|>B", {}, "A|B"),
        ("A|>A1|B", {"drop_first": "lead+first_titled"}, "B"),
        ("A|>Background|>A2", {}, "A|A2"),
        (">Deep|Notes|B", {"sections": "top"}, "Deep|B"),
        *((f"A|{title}|B", {}, "A|B") for title in ("Background", "  BACKGROUND ", "See  also", "Authored Books")),
        *((f"A|{title}", {}, f"A|{title}") for title in ("Backgrounds", "Note", "Bibliography", "Filmography")),
        *((f"A|{title}", {"extended_drop": True}, "A") for title in ("sources", "Footnotes", "Discography")),
    ],
)
def test_which_sections_are_kept(outline: str, rules: dict[str, Any], kept: str) -> None:
    """Titles with a mark for each level below the second; a lead stands before them."""
    sections = [section(title.lstrip(">"), level=2 + title.count(">")) for title in outline.split("|")]
    assert kept_titles(article("X", *sections), SectionRules(**rules)) == kept.split("|")


def test_a_first_section_with_a_title_is_no_lead() -> None:
    assert kept_titles(article("X", section("A"), section("B"), lead=False)) == ["A", "B"]


def test_a_dropped_section_takes_all_its_subsections_and_no_more_and_all_are_counted() -> None:
    below = section("N1", level=3), section("N2", level=4)
    source = article("X", section("Notes"), *below, section("B"), section("B1", level=3), section("C", paragraphs=0))
    dropped: Counter[str] = Counter()
    kept = kept_sections(source, SectionRules(), dropped)
    assert [k.record.title for k in kept] == ["B", "B1"]
    assert dropped == {"back_matter": 1, "inside_dropped": 2, "lead": 1, "empty": 1}


def test_top_merges_subsections_in_order_also_under_a_heading_without_text_of_its_own() -> None:
    source = article("X", section("A", 2), section("A1", 1, level=3), section("A11", 1, level=4), section("B", 1))
    kept = kept_sections(source, SectionRules(sections="top"), Counter())
    assert [k.record.title for k in kept] == ["A", "B"]
    openings = [s.text.split()[0] for s in kept[0].sentences if s.opens_paragraph]
    assert openings == ["A/0/0", "A/1/0", "A1/0/0", "A11/0/0"]
    assert sorted(set(kept[0].paragraphs)) == [0, 1, 2, 3]
    source = article("X", section("A", 0), section("A1", 1, level=3), section("B", 1))
    kept = kept_sections(source, SectionRules(sections="top"), Counter())
    assert [(k.record.title, len(k.sentences)) for k in kept] == [("A", 2), ("B", 2)]


@pytest.mark.parametrize(("tokens", "stays"), [(4, False), (5, True), (50, True), (51, False)])
def test_token_bounds_are_inclusive(tokens: int, stays: bool) -> None:
    kept = kept_sections(article("X", section("A", 1, tokens=tokens)), SectionRules(), Counter())
    assert bool(eligible(kept[0], SectionRules(), Counter())) is stays


def test_a_paragraph_whose_opening_fails_does_not_fall_through() -> None:
    paragraphs = (Paragraph("", ("Too short.", words("second"))), Paragraph("", (words("fine"), words("other"))))
    source = article("X", Section("A", 2, paragraphs), lead=False)
    dropped: Counter[str] = Counter()
    found = eligible(kept_sections(source, SectionRules(), Counter())[0], SectionRules(), dropped)
    assert [(s.text.split()[0], paragraph) for s, paragraph in found] == [("fine", 1)]
    assert dropped == {"too_short": 1, "not_opening": 2}


def test_profiles_and_caps_and_bounds_that_leave_nothing() -> None:
    assert TripletRules().caps() == (1, 4)
    assert TripletRules(profile="max-signal").caps() == (3, None)
    assert TripletRules(profile="all").caps() == (None, None)
    assert TripletRules(profile="all", pairs_per_section=2).caps() == (2, None)
    assert TripletRules(triplets_per_article=9).caps() == (1, 9)
    with pytest.raises(ConfigError, match="min_tokens"):
        SectionRules(min_tokens=9, max_tokens=8)


def test_every_sentence_of_allowed_length_is_kept_with_its_place() -> None:
    """Also those that open no paragraph."""
    paragraphs = [Paragraph("", (words(name), "Too short.", words(f"{name}2"))) for name in "ab"]
    parts = [Section("A", 2, (paragraphs[0],)), Section("A1", 3, (paragraphs[1],)), section("See also")]
    source = positioned(Article("X", (section("", level=1), *parts, section("B", 1, follow=0))))
    places = {s.text: (s.position, s.id) for s in source.sentences}
    for way, sections in (("flattened", [0, 0, 1, 1, 2]), ("top", [0, 0, 0, 0, 1])):
        found = section_sentences(source, SectionRules(sections=way))
        assert [s.text.split()[0] for s in found] == ["a", "a2", "b", "b2", "B/0/0"]
        assert [s.section for s in found] == sections
        assert all((s.position, s.id) == places[s.text] for s in found)


GOOD = 'Sentence1,Sentence2,Sentence3\na,b,c\n"d, e",f,g\n'


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "triplets.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_columns_anywhere_with_bom_extras_and_groups(tmp_path: Path) -> None:
    texts = read_triplets(write(tmp_path, GOOD))
    assert (texts.pivots, texts.positives, texts.negatives) == (["a", "d, e"], ["b", "f"], ["c", "g"])
    assert texts.groups.tolist() == [-1, -1]
    header = "\ufeffnote,sentence3,Article_ID,Sentence 1,SENTENCE2"
    text = "\r\n".join([header, "x,n1,Q7,p1,q1", "", "y,n2,Q3,p2,q2", "z,n3,Q7,p3,q3", ""])
    texts = read_triplets(write(tmp_path, text))
    assert texts.pivots == ["p1", "p2", "p3"] and texts.negatives == ["n1", "n2", "n3"]
    assert texts.groups.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "line 1.*empty"),
        ("Sentence1,Sentence2\na,b\n", "line 1.*Sentence3.*missing"),
        ("text\na\n", "Sentence1, Sentence2, Sentence3 are missing"),
        ("Sentence1,Sentence2,Sentence3,x,x\na,b,c,1,2\n", "'x' appears twice"),
        ("Sentence1,Sentence2,Sentence3\n", "no triplets"),
        (GOOD + "a,b\n", "line 4.*2 cells.*header 3"),
        (GOOD + "a, ,c\n", "line 4.*Sentence2 is empty"),
        (GOOD.encode() + b"\xff\xfe,b,c\n", "line 4.*UTF-8"),
    ],
)
def test_bad_files(tmp_path: Path, content: str | bytes, said: str) -> None:
    with pytest.raises(ReadError, match=rf"triplets\.csv.*{said}"):
        read_triplets(write(tmp_path, content))
    with pytest.raises(ReadError, match="cannot be opened"):
        read_triplets(tmp_path / "nothing.csv")


OWN = [{"pivot": f"p {i // 3}", "positive": f"q {i}", "negative": f"n {i}", "group": i // 3} for i in range(90)]


def test_json_lines_and_the_names_of_people(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in OWN), encoding="utf-8")
    table = write(tmp_path, "Anchor,positive,NEGATIVE\na,b,c\n")
    texts = read_triplets(path)
    assert (texts.pivots[3], texts.positives[3], texts.negatives[3], texts.groups[3]) == ("p 1", "q 3", "n 3", 1)
    assert read_triplets(table).pivots == ["a"]
    for line, said in (("{", "line 91: This is not JSON"), ('{"pivot": "a"}', "no object with the keys")):
        path.write_text("".join(json.dumps(row) + "\n" for row in OWN) + line, encoding="utf-8")
        with pytest.raises(ReadError, match=said):
            read_triplets(path)
    path.write_text('{"pivot": "a", "positive": "b", "negative": null}', encoding="utf-8")
    with pytest.raises(ReadError, match="negative is no text"):
        read_triplets(path)


@pytest.mark.parametrize("known", [True, False])
def test_groups_are_held_out_as_a_whole(tmp_path: Path, known: bool) -> None:
    path = tmp_path / "own.jsonl"
    rows = OWN if known else [{name: row[name] for name in ("pivot", "positive", "negative")} for row in OWN]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    texts = read_triplets(path)
    parts = divided(texts)
    assert sorted(row for part in parts.values() for row in part) == [*range(90)]
    assert [len(part) for part in parts.values()] == [72, 9, 9]
    pivots = [{texts.pivots[row] for row in part} for part in parts.values()]
    assert not pivots[0] & pivots[1] and not pivots[0] & pivots[2] and not pivots[1] & pivots[2]


def test_single_triplets_are_held_out_where_all_share_sentences() -> None:
    texts = TripletTexts(["p"] * 30, [f"q {i}" for i in range(30)], ["n"] * 30, np.full(30, -1))
    assert [len(part) for part in divided(texts, (Split.VALIDATION,)).values()] == [27, 3]
    with pytest.raises(DataError, match="at least 20"):
        divided(TripletTexts(["p"] * 9, ["q"] * 9, ["n"] * 9, np.full(9, -1)))
