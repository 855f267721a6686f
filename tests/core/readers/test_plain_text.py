import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.readers.samples import read, texts, write
from themescope.core.readers.plain_text import BLOCK, LINE, paragraphs_of
from themescope.core.text.cleaning import clean

PROSE = (
    "The city council met on Tuesday. It was decided that the new bridge, which had been planned for years, would not "
    "be built before 2030 because money is short. Many people in the old town were angry about it and said so."
)
CHINESE = "公交车又晚点了我们只好走路去公司上班但是路很远而且下雨了所以大家都很不高兴早上火车也很挤没有座位可以坐。"
WAYS = {
    "wrapped at 72": (textwrap.wrap(PROSE, 72), BLOCK),
    "wrapped at 40": (textwrap.wrap(PROSE, 40), BLOCK),
    "wrapped Chinese": (textwrap.wrap(CHINESE, 25), BLOCK),
    "paragraphs": (["The council met on Tuesday. It was decided.", "Many were angry about it.", "It rained."], LINE),
    "answers": (["bus is late", "trains are full", "I do not know", "more bikes please!", "none"], LINE),
    "chat": (["ok lets go", "where r u", "im at the station, bus is late again", "lol", "see you there then"], LINE),
    "times": (["[10:01] Ada: the bus was late again", "[10:02] Bea: trains are full too"], LINE),
    "Chinese answers": (["公交车又晚点了", "火车很挤", "我们走路去上班，很远"], LINE),
}


@pytest.mark.parametrize("name", WAYS)
def test_wrapped_lines_are_told_from_paragraphs(name: str) -> None:
    lines, expected = WAYS[name]
    assert paragraphs_of(lines) == expected


def test_words_pages_and_headings(tmp_path: Path) -> None:
    def found(text: str) -> tuple[dict[str, list[str]], dict[str, int]]:
        (article,), account = read(write(tmp_path, "a.txt", text.encode()))
        return texts(article), dict(account.skipped)

    whole = "The transport is late, and the well-known bus too."
    assert found("The trans-\nport is late, and the\nwell-known bus too.\n")[0] == {"": [whole]}
    names = ("red", "blue", "old", "night")
    pages = (f"REPORT 2024\n\nThe {name} bus is late and\ngoes on.\n\n{n}\n\f" for n, name in enumerate(names, 1))
    paragraphs, skipped = found("".join(pages))
    assert paragraphs == {"": [f"The {name} bus is late and goes on." for name in names]}
    assert skipped["page number or running head"] >= 6
    headed = "1. Introduction\nThe bus is late.\n2. Results\nMost people walk.\n"
    assert found(headed)[0] == {"1. Introduction": ["The bus is late."], "2. Results": ["Most people walk."]}
    assert found("The bus is late.\n-----\nTrains are full.\n* * *\nIt rained.\n")[1] == {"line of signs": 2}
    assert found("One.\u2028Two.\u0085Three.")[0] == {"": ["One.", "Two.", "Three."]}


@given(st.text())
def test_clean_text_stays_clean(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    assert clean("trans\u00adport\ufeff cafe\u0301") == "transport café"


ZH = "公交车今天早上又晚点了很久，我们都在车站等着，天气也很冷。火车同样非常拥挤，没有座位可以坐下来休息。"
JA = "バスが今朝も大幅に遅れて、私たちは駅でずっと待っていた。電車も満員で、座ることができなかった。"


@pytest.mark.parametrize(
    ("name", "form"),
    [("a.txt", "{}\n"), ("a.md", "# 标题\n\n{}\n"), ("a.csv", 'id,text\n1,"{}"\n2,"{}"\n'),
     ("a.html", "<html><meta charset=utf-8><body><p>{}</p></body></html>"), ("a.ris", "TY  - JOUR\nAB  - {}\nER  - \n"),
     ("a.srt", "1\n00:00:01,000 --> 00:00:04,000\n{}\n\n")],
)  # fmt: skip
@pytest.mark.parametrize("text", [ZH, JA])
def test_wrapped_lines_of_scripts_without_spaces_are_joined_without_one(tmp_path, name, form, text):
    wrapped = "\n".join(text[at : at + 12] for at in range(0, len(text), 12))
    articles, _ = read(write(tmp_path, name, form.format(wrapped, wrapped).encode()))
    assert text in [one for article in articles for section in texts(article).values() for one in section]


def test_short_answers_without_a_full_stop_stay_apart(tmp_path):
    answers = ["价格太贵了，希望能便宜一点", "公交车总是晚点，早上特别挤", "没有座位，老人很不方便", "希望增加班次"]
    (article,), _ = read(write(tmp_path, "a.txt", "\n".join(answers).encode()))
    assert texts(article) == {"": answers}
