import json

import pytest

from tests.core.readers.samples import SCB, WIKITEXT, dump, page, read_as, texts, write
from themescope.core.errors import ReadError
from themescope.core.readers import streams
from themescope.core.readers.blocks import title_of
from themescope.core.readers.formats import detect


def fails(id, path):
    with pytest.raises(ReadError) as caught:
        read_as(id, path)
    assert path.name in str(caught.value) and caught.value.advice
    return str(caught.value)


def test_a_dump_skips_and_counts(tmp_path):
    pages = (
        page("Ada", "[[Bildchen:x.png|a]][[Sorte:Towns]]" + WIKITEXT),
        page("Old", "x", extra='<redirect title="Ada" />'),
        page("Older", "#REDIRECT [[Ada]]"),
        page("Talk:Ada", "hello", ns="1"),
        page("Ada (x)", "'''Ada''' may be:\n* a\n{{disambiguation|geo}}"),
        page("Kept", "Text{{disambiguation needed|date=May 2010}}. {{other uses}}"),
        page("List", "* only\n* items"),
    )
    path = write(tmp_path, "w.xml", dump(*pages))
    articles, skipped = read_as("mediawiki-dump", path)
    assert [a.title for a in articles] == ["Ada", "Kept"]
    notes = {name: n for name, n in skipped.items() if name.startswith("template")}
    assert [*notes.values()] == [1, 1] and "template “other uses” inside a text" in notes
    whole = {"redirect": 2, "namespace": 1, "disambiguation": 1, "no text": 1}
    assert skipped == whole | {"category": 1, "list item": 2, "picture": 1} | notes
    early = ["It was founded in 1200.", "Then it grew."]
    assert texts(articles[0]) == {"": ["Ada is a town. It is old."], "History": [], "Early days": early}
    assert articles[0].url == "https://en.wikipedia.org/wiki/Ada?oldid=77" and articles[0].source == "testwiki"
    assert len(read_as("mediawiki-dump", path, keep_lists=True)[0]) == 3


def test_a_dump_without_siteinfo_and_namespaces(tmp_path):
    pages = dump(page("User talk:A", "x"), page("Star Trek: II", "y")).replace(b"<ns>0</ns>", b"")
    (article,), _ = read_as("mediawiki-dump", write(tmp_path, "w.xml", pages))
    assert article.title == "Star Trek: II"


def test_broken_dumps_say_where(tmp_path):
    whole = dump(page("Ada", "x"), page("Bea", "y"))
    bad = fails("mediawiki-dump", write(tmp_path, "bad.xml", whole.replace(b">y<", b">y</b><")))
    assert "line 4, column 119, byte 552, page 'Bea'" in bad
    cut = fails("mediawiki-dump", write(tmp_path, "cut.xml", whole[: whole.index(b">y<")]))
    assert "truncated" in cut and "page 'Bea'" in cut and "line" in cut
    assert "byte" in fails("mediawiki-dump", write(tmp_path, "latin.xml", whole.replace(b">y<", b">\xff<")))
    assert "<rss>" in fails("mediawiki-dump", write(tmp_path, "rss.xml", b"<rss><page/></rss>"))


def test_entity_bombs_are_refused(tmp_path):
    bomb = b'<?xml version="1.0"?><!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>' + dump(page("Ada", "x"))
    assert "entity bomb" in fails("mediawiki-dump", write(tmp_path, "bomb.xml", bomb))
    outside = b'<!DOCTYPE m SYSTEM "file:///etc/passwd">' + dump(page("Ada", "x"))
    assert "document type" in fails("mediawiki-dump", write(tmp_path, "outside.xml", outside))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"title": "A"', "column 14"),
        (b"[1]", "not a JSON object"),
        (b"{}", 'no "title"'),
        (b'{"title": " ", "sections": []}', "empty"),
        (b'{"title": "A"}', 'no "sections"'),
        (b'{"title": "A", "sections": [{"paragraphs": [1]}]}', "section 1"),
        (b'{"title": "A", "sections": [{"level": "2"}]}', "whole number"),
        (b'{"title": "A", "sections": [{"level": 0}]}', "between 1 and 100"),
        (b'{"title": "A", "sections": [], "part": "dev"}', "'dev', neither"),
        (b'{"title": "A", "sections": [7]}', "section 1"),
        (b'{"title": "\\ud800", "sections": []}', "invalid character"),
        (b'{"title": "a\\u0000", "sections": []}', "invalid character"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_bad_json_lines_are_named(line, words, tmp_path):
    message = fails("jsonl", write(tmp_path, "a.jsonl", b'{"title": "Ada", "sections": []}\n\n' + line + b"\n"))
    assert "line 3" in message and words in message


def test_jsonl_takes_topics_parts_and_escapes_and_counts_empty_articles(tmp_path):
    lines = [
        {"title": "A", "topic": "grain", "part": "test", "sections": [{"paragraphs": ["\U0001f600 x"]}]},
        {"title": "B", "sections": []},
        {"title": r"a \u0000", "sections": [{"paragraphs": ["A backslash before u0000 is no escape."]}]},
    ]
    path = write(tmp_path, "a.jsonl", "\r\n".join(map(json.dumps, lines)).encode())
    (one, other), skipped = read_as("jsonl", path)
    assert (one.topic, one.part) == ("grain", "test") and other.title == r"a \u0000"
    assert texts(one) == {"": ["\U0001f600 x"]} and skipped == {"no text": 1}


def test_scb_rows_may_be_scattered(tmp_path):
    rows = SCB.splitlines()
    scattered = [rows[0], rows[3], rows[1], "Bea,,Life,x", "Bea,She sang .,,x", rows[2]]
    articles, skipped = read_as("scb-csv", write(tmp_path, "s.csv", "\n".join(scattered).encode()))
    assert [a.title for a in articles] == ["Bea", "Ada"]
    assert skipped == {"no sentence": 1, "another link of the same article": 1}
    assert texts(articles[0]) == {"": ["She sang ."], "Life": ["She was born ."]}
    assert texts(articles[1]) == {"History": ["It was founded in 1200 .", "Then, it grew ."]}
    assert articles[1].sections[0].paragraphs[0].sentences == ("It was founded in 1200 .",)
    assert articles[1].url == "https://x.org/Ada"


def test_scb_errors_name_columns_and_lines(tmp_path):
    path = write(tmp_path, "a.csv", b"article title,Text,Article Link\nA,b,c\n")
    message = fails("scb-csv", path)
    assert "'Sentence', 'SectionTitle'" in message and "'Text'" in message and detect(path) == "scb-csv"
    wrong = {"A,b,c,d\nA,b": "line 6", ",b,c,d": "no Article Title", 'A,"never closed,x,y': "quotation mark"}
    for rows, said in wrong.items():
        assert said in fails("scb-csv", write(tmp_path, "b.csv", f"{SCB}{rows}\n".encode()))


def test_headed_text_in_both_spellings(tmp_path):
    path = write(
        tmp_path,
        "wiki.txt",
        b"Before.\n = Ada = \n \n Text one . \n - item\n = = Life = = \n More . \n==== Deep ====\nEnd == here =\n",
    )
    articles, skipped = read_as("headed-text", path)
    assert [a.title for a in articles] == ["wiki", "Ada"] and skipped == {"list item": 1}
    assert [(s.title, s.level) for s in articles[1].sections] == [("", 1), ("Life", 2), ("Deep", 4)]
    wrapped = write(tmp_path, "w.txt", b"== A ==\none\ntwo\n\nthree\n")
    assert texts(read_as("headed-text", wrapped, paragraphs="block")[0][0]) == {"A": ["one two", "three"]}


def test_markdown_by_articles_or_as_one(tmp_path):
    source = (
        b"---\ntitle: x\n---\n# A\nText [link](u) `code` ![pic](p).\n\n> Quote.\n\n```\ncode\n```\n"
        b"- item\n\n|a|b|\n|-|-|\n|1|2|\n\n# B\n## C\nEnd.\n"
    )
    path = write(tmp_path, "doc.md", source)
    articles, skipped = read_as("markdown", path)
    assert [a.title for a in articles] == ["A", "B"]
    assert skipped == {"front matter": 1, "picture": 1, "code block": 1, "table cell": 4, "list item": 1}
    assert texts(articles[0]) == {"": ["Text link code .", "Quote."]}
    (one,), _ = read_as("markdown", path, one_article=True, keep_lists=True)
    assert [(s.title, s.level) for s in one.sections] == [("A", 2), ("B", 2), ("C", 3)] and "item" in texts(one)["A"]


def test_html_takes_running_text_in_the_declared_encoding(tmp_path):
    source = (
        '<html><head><meta charset="iso-8859-1"><title>T\xe4 &amp; Co</title><style>p{}</style></head><body><p>Caf\xe9'
        '<sup class="reference">[1]</sup> <b>is</b>\n open.</p><table><tr><td>no</table><h2>One'
        '<span class="mw-editsection">edit</span></h2>loose <i>text</i><div>Block</div>'
        "<script>if (a<b) x</script><h4>Two</h4><p>End</body>"
    )
    path = write(tmp_path, "p.html", source.encode("latin-1"))
    (article,), skipped = read_as("html", path)
    assert article.title == "T\xe4 & Co" and skipped == {"reference": 1, "table cell": 1, "edit link": 1}
    assert texts(article) == {"": ["Caf\xe9 is open."], "One": ["loose text", "Block"], "Two": ["End"]}


def test_plain_text_and_byte_order_marks(tmp_path):
    path = write(tmp_path, "my_notes.txt", "One\r\nline.\r\n\r\nTwo.".encode("utf-16"))
    (article,), _ = read_as("plain", path)
    assert article.title == "my notes" and texts(article) == {"": ["One line.", "Two."]}
    assert texts(read_as("plain", path, paragraphs="line")[0][0]) == {"": ["One", "line.", "Two."]}
    assert read_as("plain", write(tmp_path, "blank.txt", b" \n\n"))[1] == {"no text": 1}
    assert title_of("a_b.tar.gz") == "a b" and title_of(".gz") == ".gz"


def test_one_endless_line_is_refused_early(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "LINE_LIMIT", 50_000)
    for packing in ("", ".bz2"):
        path = write(tmp_path, "long.txt", b"word " * 25_000, packing)
        for id in ("plain", "headed-text", "jsonl", "scb-csv"):
            assert "longer than 50,000" in fails(id, path)
    monkeypatch.setattr(streams, "ARTICLE_LIMIT", 75_000)
    lines = write(tmp_path, "many.txt", b"word\n" * 25_000)
    for id in ("plain", "headed-text", "markdown", "html"):
        assert "an article of more" in fails(id, lines)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"PK\x03\x04" + b"x" * 50, "ZIP"),
        (b"\xd0\xcf\x11\xe0" + "WordDocument".encode("utf-16-le"), "old Word document.*Save it as"),
        (b"<rss></rss>", "XML with the root element <rss>.*Export it as"),
        (b"$FL2@(#) SPSS DATA FILE", "SPSS file.*Export it as CSV"),
        (b"\x28\xb5\x2f\xfd\x04", "Zstandard archive.*Unpack it"),
        (b"ID3\x04\x00\x00", "recording.*Transcribe it"),
        (bytes(range(256)), "binary"),
    ],
)
def test_unknown_formats_are_named(data, words, tmp_path):
    with pytest.raises(ReadError, match=words):
        detect(write(tmp_path, "a.bin", data, ".gz"))


@pytest.mark.parametrize(
    ("data", "id"),
    [
        (b"Setext\n======\n\ntext", "markdown"),
        (b"[Link](x) first\n\n## Two\n", "markdown"),
        (b"Text, with commas\nand = signs = inside", "plain"),
        (b'\xef\xbb\xbf{"title": 1}', "jsonl"),
        (b'{"id": 1, "messages": [{"role": "user", "content": "Late."}]}', "table"),
        (b'{"translation": {"en": "Late.", "de": "Zu sp\xc3\xa4t."}}', "table"),
        (b"<p>Text</p>", "html"),
        (b"f\xfcr die Stadt", "plain"),
    ],
)
def test_detection_by_content(data, id, tmp_path):
    assert detect(write(tmp_path, "file.dat", data)) == id
