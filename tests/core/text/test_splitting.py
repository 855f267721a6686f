import copy
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sentence_splitter import SentenceSplitter as Package

from themescope.core.errors import ConfigError
from themescope.core.text.splitting import LANGUAGES, SentenceSplitter, split_article
from themescope.core.types import Article, CodingUnit, Paragraph, Section

MARKS = " .?!'()[]«»“”„Ab1-%\n\té_É,ª中。…:;😀¿\""
PIECES = [*MARKS, "  ", "..", "Mr", "No", "U.S", "etc", "Art", "p", "1. ", ".[4] ", ". The"]
PARAGRAPH = (
    'Dr. Smith of the U.S. Navy (ret.) came at 5 p.m. on Jan. 5. He left at once! "Why?" asked Mrs. Jones. \'No. 7 is '
    "open.' She smiled... Then she said: see Fig. 3 and pp. 4-5. (Nobody did.) ¿Qué? Ça va. “Good.” 3 men came. "
    "e.g. this."
)
PACKAGE = Package("en")
BOUNDARIES = Path(__file__).parent / "boundaries.txt"
CASES = [line.split("\t") for line in BOUNDARIES.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
HARD = [
    ("en", "They sell apples, plums etc.| The shop opens at 9 a.m.| The owner moved to the U.S.| He came back."),
    ("ar", "تأخرت الحافلة.| لماذا؟| نحن نمشي.| د. علي حضر."),
    ("en", "The bus is late most days.[4]| Trains are full,[5][6] and people walk.[7]| It costs nothing."),
    ("de", "Friedrich II. war da.| Dr. med. Lee kam, u. a. mit Prof. Stein.| Das kostet ca. 5 Mio. Euro."),
    ("de", "„Der Bus kommt nicht.“| Sie lief.| Er sagte: „Warum?“| Dann ging er."),
    ("en", "The bus is late…| We walk.| Wait… what?| Yes!!!| No?!| Ok."),
    ("en", "The bus is late 😡| Trains are full 😢😢| We walk. 😀| It helps!"),
    ("es", "¿Por qué?| ¡Es tarde!| Cuesta aprox. 3 euros (v. pág. 5).| EE. UU. es grande."),
    ("en", "The effect is known.| Yan et al. [2004] measured it twice.| See Fig. [3] and ref. [4] for more."),
    ("hi", "बस देर से आई।|क्यों?| हम चले।| डॉ. राव आए।"),
    ("ja", "バスが遅れた。|「どうしてですか。」と彼は言った。|電車は満員！|本当？|はい．|また"),
    ("en", "i take the bus.| it is late.| so i walk!| really?| yes."),
    ("en", "The bus is late in 2016.|We walk instead.|Trains are full."),
    ("en", "The choices are: 1. Take the bus 2. Walk home 3. Stay here.| Then decide."),
    ("en", "See Sec. 3 and No. 5 of Vol. 2, pp. 12-14.| The Act (Art. 6 para. 1) applies.| Chapter 1.| The beginning."),
    ("en", "See https://example.org/a.b?c=D.E.| It is there.| Mail ada@example.org.| Use node.js v1.2.3.| Done."),
    ("zh", "她说：“为什么？|我不知道。”|火车很挤……|我们走路。|价格是3.5元。"),
    ("en", "It is open Mon. to Fri. and Sat. mornings.| He came on Fri.| The shop was shut.| See sect. 5."),
    ("de", "Prof. Dr. h.c. Müller kam ca. 10 Min. zu spät.| Er ging."),
    ("en", "Most agree with this work.12| Most people do not."),
]


@pytest.mark.parametrize(("language", "text"), [*HARD, *((language, text) for _, language, text in CASES)])
def test_hard_boundaries(language, text):
    text = text.replace("⍽", "\u00a0")
    splitter = SentenceSplitter(language if language in LANGUAGES else "en")
    assert splitter.split(text.replace("|", "")) == [sentence.strip() for sentence in text.split("|")]


@given(
    text=st.lists(st.sampled_from(PIECES) | st.characters(), max_size=30).map("".join),
    language=st.sampled_from(("en", "de", "el", "hy", "ja", "zh", "hi")),
)
@settings(max_examples=300, deadline=None)
@example(text=PARAGRAPH, language="en")
@example(text=" \u2028 a. \x85 B.\x0c", language="en")
def test_spans_and_the_space_between_them_are_the_text(text, language):
    splitter, end = SentenceSplitter(language), 0
    spans = splitter.spans(text)
    for start, stop in spans:
        assert start < stop and not text[end:start].strip() and text[start:stop] == text[start:stop].strip()
        end = stop
    assert not text[end:].strip()
    sentences = splitter.split(text)
    assert [s.split() for s in sentences] == [text[start:stop].split() for start, stop in spans]
    assert not any(len(sentence.splitlines()) > 1 for sentence in sentences)


@given(
    st.lists(
        st.builds(
            "{} {}{}".format,
            st.sampled_from(("Ships", "Dr. Miller", "The U.S. Navy", "No. 7", "J. R. Brown", "“Tides”", "It")),
            st.sampled_from(("sailed north", "met Mr. Lee", "paid 3.5 million", "(the last) left", "saw 20% of it")),
            st.sampled_from((".", "!", "?", "...", ".”")),
        ),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=100, deadline=None)
def test_ordinary_text_is_split_as_by_the_package(sentences):
    text = " ".join(sentences)
    assert SentenceSplitter("en").split(text) == [sentence for sentence in PACKAGE.split(text) if sentence]


def test_every_language_of_the_package_is_known_and_used():
    folder = files("sentence_splitter") / "non_breaking_prefixes"
    listed = [file.name.removesuffix(".txt") for file in folder.iterdir() if file.name.endswith(".txt")]
    assert len(listed) >= 20 and set(listed) <= set(LANGUAGES)
    for language in listed:
        found = SentenceSplitter(language).split("Ada A. Lee came. Why? He left!")
        assert found == ["Ada A. Lee came.", "Why?", "He left!"]
    with pytest.raises(ConfigError, match="'en"):
        SentenceSplitter("eng")


UNITS = [".", ". ", "a", '."', "(", "A.", "😀 ", ".[1]", "1. A 2. B ", "A.\u00a0", "。", "。」"]


@pytest.mark.parametrize("tail", [" End", " end"])
@pytest.mark.parametrize("unit", UNITS)
def test_repeated_characters_take_linear_time(unit, tail):
    """Quadratic time would reach the time limit of a test (``faulthandler_timeout``)."""
    text = unit * (100_000 // len(unit)) + tail
    assert "".join(SentenceSplitter("en").split(text)).replace(" ", "") == text.replace(" ", "")


@given(st.lists(st.sampled_from(["It rained.", "Why?", "»Ja.«", "a. b", "1.", "車が来た。"]), max_size=8).map(" ".join))
def test_every_sentence_is_found_at_its_start(text):
    article = split_article(Article("A", (Section("", 1, (Paragraph(text),)),)), SentenceSplitter("en"))
    for paragraph in (p for section in article.sections for p in section.paragraphs):
        ends = [start + len(s) for s, start in zip(paragraph.sentences, paragraph.starts, strict=True)]
        assert all(text[a:b] == s for s, a, b in zip(paragraph.sentences, paragraph.starts, ends, strict=True))
        between = [text[a:b] for a, b in zip([0, *ends], [*paragraph.starts, len(text)], strict=True)]
        assert not "".join(between).strip()


def test_split_article_fills_keeps_and_drops():
    lead = Section("", 1, (Paragraph("It begins. It goes on."), Paragraph("  ")))
    given = Paragraph("Given. Kept whole.", ("Given. Kept whole.",))
    body = Section("Body", 2, (given, Paragraph("One! Two? Three.")), ("Body",))
    done = split_article(Article("A1", (lead, body), "u", "s"), SentenceSplitter("en"))
    assert [p.sentences for p in done.sections[0].paragraphs] == [("It begins.", "It goes on.")]
    assert [p.sentences for p in done.sections[1].paragraphs] == [("Given. Kept whole.",), ("One!", "Two?", "Three.")]
    assert (done.title, done.url, done.source, done.sections[1].path) == ("A1", "u", "s", ("Body",))
    assert split_article(done, SentenceSplitter("en")) == done


def in_units(unit, **values):
    parts = (Section("", 1, (Paragraph("One.  Two."),)), Section("B", 2, (Paragraph(" "), Paragraph("Three? Four."))))
    return split_article(Article("A", parts, sentence_values=values), SentenceSplitter("en"), unit)


def test_a_paragraph_is_a_unit():
    done = in_units(CodingUnit.PARAGRAPH, speaker=["Ann", "Bo", "Cy"])
    assert [p.sentences for section in done.sections for p in section.paragraphs] == [("One. Two.",), ("Three? Four.",)]
    assert done.sentence_values == {"speaker": ["Ann", "Cy"]}


def test_a_document_is_a_unit_with_all_its_text_and_values():
    done = in_units(CodingUnit.DOCUMENT, speaker=["Ann", None, "Cy"], day=[1, 1, 1], note=[None] * 3)
    (section,) = done.sections
    assert [p.sentences for p in section.paragraphs] == [("One. Two. Three? Four.",)]
    assert done.sentence_values == {"speaker": ["Ann; Cy"], "day": [1], "note": [None]}


@pytest.mark.parametrize("unit", CodingUnit)
def test_sentences_of_the_source_stay_in_every_unit(unit):
    rows = Article("A", (Section("", 1, (Paragraph("", ("One. Two.", "Three.")),)),), sentence_values={"n": [1, 2]})
    done = split_article(rows, SentenceSplitter("en"), unit)
    assert done.sections[0].paragraphs[0].sentences == ("One. Two.", "Three.")
    assert done.sentence_values == {"n": [1, 2]}


def test_a_splitter_is_rebuilt_from_its_language():
    assert copy.copy(SentenceSplitter("de")).language == "de"
