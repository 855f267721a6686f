"""Plain text: which lines are paragraphs, and what becomes of the others."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.readers import REGISTRY
from themescope.core.readers.formats import detect
from themescope.core.readers.plain_text import BLOCK, LINE, paragraphs_of
from themescope.core.text.cleaning import clean
from themescope.core.types import SILENT

PROSE = (
    "The city council met on Tuesday. It was decided that the new bridge, which had been planned for years, would not "
    "be built before 2030 because money is short. Many people in the old town were angry about it and said so."
)
WAYS = {
    "wrapped at 72": (textwrap.wrap(PROSE, 72), BLOCK),
    "wrapped at 40": (textwrap.wrap(PROSE, 40), BLOCK),
    "wrapped Chinese": (
        [
            "公交车又晚点了我们只好走路去公司上班但是路很远而且",
            "下雨了所以大家都很不高兴早上火车也很挤没有座位可以",
            "坐。",
        ],
        BLOCK,
    ),
    "paragraphs": (
        ["The council met on Tuesday. It was decided.", "Many people were angry about it.", "It rained."],
        LINE,
    ),
    "answers": (["bus is late", "trains are full", "I do not know", "more bikes please!", "none"], LINE),
    "chat": (["ok lets go", "where r u", "im at the station, bus is late again", "lol", "see you there then"], LINE),
    "times": (["[10:01] Ada: the bus was late again", "[10:02] Bea: trains are full too"], LINE),
    "Chinese answers": (["公交车又晚点了", "火车很挤", "我们走路去上班，很远"], LINE),
}


@pytest.mark.parametrize("name", WAYS)
def test_wrapped_lines_are_told_from_paragraphs(name: str) -> None:
    lines, expected = WAYS[name]
    assert paragraphs_of(lines) == expected


def read(folder: Path, text: str) -> tuple[list[str], list[str], dict[str, int], dict[str, int]]:
    """Return paragraphs, headings, and what was skipped and changed."""
    path = folder / "a.txt"
    path.write_text(text, encoding="utf-8", newline="")
    reader = REGISTRY.build("plain")
    paragraphs = [p.text for a in reader.read(path, SILENT) for s in a.sections for p in s.paragraphs]
    headings = [s.title for a in reader.read(path, SILENT) for s in a.sections if s.title]
    return paragraphs, headings, dict(reader.account.skipped), dict(reader.account.changed)


def test_words_pages_and_headings(tmp_path: Path) -> None:
    assert read(tmp_path, "The trans-\nport is late, and the\nwell-known bus too.\n")[0] == [
        "The transport is late, and the well-known bus too."
    ]
    names = ("red", "blue", "old", "night")
    pages = (f"REPORT 2024\n\nThe {name} bus is late and\ngoes on.\n\n{n}\n\f" for n, name in enumerate(names, 1))
    paragraphs, _, skipped, _ = read(tmp_path, "".join(pages))
    assert paragraphs == [f"The {name} bus is late and goes on." for name in names]
    assert skipped["page number or running head"] >= 6
    paragraphs, headings, _, _ = read(tmp_path, "1. Introduction\nThe bus is late.\n2. Results\nMost people walk.\n")
    assert paragraphs == ["The bus is late.", "Most people walk."] and headings == ["1. Introduction", "2. Results"]
    assert read(tmp_path, "The bus is late.\n-----\nTrains are full.\n* * *\nIt rained.\n")[2] == {"line of signs": 2}
    assert read(tmp_path, "One.\u2028Two.\u0085Three.")[0] == ["One.", "Two.", "Three."]


@given(st.text())
def test_clean_text_stays_clean(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    assert clean("trans\u00adport\ufeff cafe\u0301") == "transport café"


ZH = "公交车今天早上又晚点了很久，我们都在车站等着，天气也很冷。火车同样非常拥挤，没有座位可以坐下来休息。"
JA = "バスが今朝も大幅に遅れて、私たちは駅でずっと待っていた。電車も満員で、座ることができなかった。"


def wrapped(text, width=12):
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


@pytest.mark.parametrize(
    ("name", "form"),
    [("a.txt", "{}\n"), ("a.md", "# 标题\n\n{}\n"), ("a.csv", 'id,text\n1,"{}"\n2,"{}"\n'),
     ("a.html", "<html><meta charset=utf-8><body><p>{}</p></body></html>"), ("a.ris", "TY  - JOUR\nAB  - {}\nER  - \n"),
     ("a.srt", "1\n00:00:01,000 --> 00:00:04,000\n{}\n\n")],
)  # fmt: skip
@pytest.mark.parametrize("text", [ZH, JA])
def test_wrapped_lines_of_scripts_without_spaces_are_joined_without_one(tmp_path, name, form, text):
    path = tmp_path / name
    path.write_text(form.format(*[wrapped(text)] * 2), encoding="utf-8")
    found = [*REGISTRY.build(detect(path), {}).read(path, SILENT)]
    assert text in [one.text for article in found for section in article.sections for one in section.paragraphs]


def test_short_answers_without_a_full_stop_stay_apart(tmp_path):
    answers = ["价格太贵了，希望能便宜一点", "公交车总是晚点，早上特别挤", "没有座位，老人很不方便", "希望增加班次"]
    (tmp_path / "a.txt").write_text("\n".join(answers), encoding="utf-8")
    (article,) = REGISTRY.build("plain", {}).read(tmp_path / "a.txt", SILENT)
    assert [one.text for one in article.sections[0].paragraphs] == answers
