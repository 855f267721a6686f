import pytest

from tests.core.readers.samples import docx, listed, par, read, run, texts, turns, write
from themescope.core.errors import ReadError
from themescope.core.readers import REGISTRY
from themescope.core.readers.documents.open_document import made_of as odt_of
from themescope.core.readers.documents.packages import made
from themescope.core.readers.documents.pdf import made_of as pdf_of
from themescope.core.readers.formats import detect
from themescope.core.types import SILENT


def test_word_headings_are_sections_and_the_rest_is_listed(tmp_path):
    table = "<w:tbl>" + "".join(f"<w:tr><w:tc>{par(cell)}</w:tc></w:tr>" for cell in ("one", "two")) + "</w:tbl>"
    body = (
        par("Interview", "T") + par("Contents 1", "Toc") + par("Before.") + par("Bus", "H1") + par("It is late.")
        + par("Reasons", "Mine") + par("Item.", properties="<w:numPr/>") + table + par("After.")
    )  # fmt: skip
    notes = f'<w:footnote w:type="separator">{par("")}</w:footnote><w:footnote>{par("A note.")}</w:footnote>'
    comment = f'<w:comment w:author="Ada">{par("Really?")}</w:comment>'
    path = write(tmp_path, "a.docx", docx(body, footnotes=notes, comments=comment, header1=par("Confidential")))
    (article,), account = read(path)
    assert article.title == "Interview"
    assert texts(article) == {"": ["Before."], "Bus": ["It is late."], "Reasons": ["Item.", "After."]}
    assert [s.path for s in article.sections][-1] == ("Bus", "Reasons")
    assert account.skipped == {"table of contents": 1, "table cell": 2, "footnote": 1, "comment": 1, "header": 1}
    cells = [(e.place, e.text) for e in account.entries if e.reason == "table cell"]
    assert cells == [("table 1, row 1", "one"), ("table 1, row 2", "two")]
    assert listed(account, "comment") == ["Ada: Really?"]
    (article,), account = read(path, keep_tables=True, keep_lists=False)
    assert texts(article)["Reasons"] == ["one", "two", "After."] and listed(account, "list item") == ["Item."]


def test_word_keeps_insertions_boxes_and_controls_and_lists_what_is_deleted_or_hidden(tmp_path):
    box = f"<w:txbxContent>{par('In a box.')}</w:txbxContent>"
    drawing = f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    body = (
        f"<w:p>{run('The ')}<w:ins>{run('red ')}</w:ins><w:del><w:r><w:delText>blue</w:delText></w:r></w:del>"
        f"{run('bus.')}<w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r><w:r>{drawing}</w:r></w:p>"
        f"<w:sdt><w:sdtContent>{par('Chosen.')}</w:sdtContent></w:sdt>"
        "<w:p><w:r><w:t>One</w:t><w:br/><w:t>line.</w:t><w:br/><w:br/><w:t>Two.</w:t></w:r></w:p>"
    )
    (article,), account = read(write(tmp_path, "a.docx", docx(body)))
    assert texts(article) == {"": ["In a box.", "The red bus.", "Chosen.", "One line.", "Two."]}
    assert (listed(account, "deleted text"), listed(account, "hidden text")) == (["blue"], ["secret"])


def test_word_documents_that_are_a_table_are_read(tmp_path):
    row = "<w:tr><w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr>"
    rows = row.format(par("A:"), par("Yes.")) + row.format(par("B:"), par("No."))
    (article,), account = read(write(tmp_path, "a.docx", docx(par("Talk", "H1") + f"<w:tbl>{rows}</w:tbl>")))
    assert texts(article) == {"Talk": ["A:", "Yes.", "B:", "No."]} and account.notes == {"text": "only in tables"}


@pytest.mark.parametrize("name", ["a.docx", "a.odt"])
def test_damaged_documents_and_entities_are_refused(name, tmp_path):
    part = "word/document.xml" if name == "a.docx" else "content.xml"
    entity = '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'
    for content, problem in ((entity, "entities"), ("<a", "not XML")):
        with pytest.raises(ReadError, match=problem):
            read(write(tmp_path, name, made({part: content, "_rels/.rels": "<a/>"})))


def test_an_archive_that_grows_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("themescope.core.readers.documents.packages.MOST_BYTES", 100)
    with pytest.raises(ReadError, match=r"larger than|too much"):
        next(REGISTRY.build("word").read(write(tmp_path, "a.docx", docx(par("x" * 200))), SILENT))


def test_open_documents_have_sections_lists_notes_and_comments(tmp_path):
    body = (
        '<text:p text:style-name="Title">Interview</text:p><text:p>Be<text:s text:c="2"/>fore'
        "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>A note.</text:p></text:note-body>"
        "</text:note>.</text:p>"
        '<text:h text:outline-level="1">Bus</text:h><text:p>It <text:span>is</text:span> late.'
        "<office:annotation><dc:creator>Ada</dc:creator><dc:date>2024</dc:date><text:p>Really?</text:p>"
        "</office:annotation></text:p>"
        "<text:list><text:list-item><text:p>Item.</text:p></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>one</text:p></table:table-cell></table:table-row>"
        "</table:table><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
    )
    (article,), account = read(write(tmp_path, "a.odt", odt_of(body)))
    assert article.title == "Interview" and texts(article) == {"": ["Be fore."], "Bus": ["It is late.", "Item."]}
    assert account.skipped == {"footnote": 1, "comment": 1, "table cell": 1, "deleted text": 1}
    assert listed(account, "comment") == ["Ada: Really?"]


def column(left, top, *lines, size=10, step=12):
    """Rows (size, x, y, text) of lines below each other."""
    return [(size, left, top - step * number, line) for number, line in enumerate(lines)]


def test_pdf_lines_are_joined_and_hyphens_at_their_ends_taken_away(tmp_path):
    page = [
        (20, 72, 780, "Transport"),
        *column(72, 740, "The trans-", "port authority runs a well-", "known line. A well-known bus", "is late."),
        *column(72, 670, "Another paragraph follows here", "and it ends."),
        (14, 72, 630, "Findings"),
        *column(72, 600, "Trains are full today and", "nobody is happy about it."),
    ]
    (article,), account = read(write(tmp_path, "a.pdf", pdf_of([page])))
    line = "The transport authority runs a well-known line. A well-known bus is late."
    findings = ["Trains are full today and nobody is happy about it."]
    found = {"": [line, "Another paragraph follows here and it ends."], "Findings": findings}
    assert article.title == "Transport" and texts(article) == found
    assert account.changed == {"hyphenated word joined": 1}


@pytest.mark.parametrize("across", [False, True])
def test_pdf_columns_are_read_one_after_the_other(across, tmp_path):
    left = column(72, 740, *(f"Left line number {n} has words" for n in range(1, 9)))
    right = column(320, 740, *(f"right line number {n} has words" for n in range(1, 9)))
    rows = [row for pair in zip(left, right, strict=True) for row in pair] if across else left + right
    (article,), account = read(write(tmp_path, "a.pdf", pdf_of([rows])))
    found = " ".join(texts(article)[""])
    assert found == " ".join(row[3] for row in left + right)
    assert bool(account.notes) == across


def test_pdf_running_heads_page_numbers_and_footnotes_are_listed(tmp_path):
    pages = [
        [
            (9, 72, 810, "Annual report"),
            (9, 500, 810, f"{number + 4}"),
            *column(72, 740, f"Page {number} begins a sentence that", "goes on to its end."),
            *column(72, 80, f"{number} Note {'abcde'[number]} at the foot.", size=7),
        ]
        for number in range(1, 5)
    ]
    (article,), account = read(write(tmp_path, "a.pdf", pdf_of(pages)))
    assert texts(article) == {"": [f"Page {n} begins a sentence that goes on to its end." for n in range(1, 5)]}
    assert account.skipped == {"running head": 4, "page number": 4, "footnote": 4}
    assert [e.place for e in account.entries if e.reason == "page number"] == [f"page {n}" for n in range(1, 5)]


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_pages_that_are_turned_are_read(turn, tmp_path):
    page = column(72, 740, "The bus is late and", "trains are full.")
    data = pdf_of([page]).replace(b"/Type/Page/", b"/Type/Page/Rotate %d/" % turn)
    (article,), account = read(write(tmp_path, "a.pdf", data))
    assert texts(article) == {"": ["The bus is late and trains are full."]} and not account.skipped


def test_a_sentence_goes_on_over_pages(tmp_path):
    pages = [column(72, 740, text) for text in ("The bus was", "late again.", "Trains are full.")]
    (article,), _ = read(write(tmp_path, "a.pdf", pdf_of(pages)))
    assert texts(article) == {"": ["The bus was late again.", "Trains are full."]}


def test_a_pdf_without_text_says_what_to_do(tmp_path):
    with pytest.raises(ReadError, match=r"no text.*OCR"):
        read(write(tmp_path, "a.pdf", pdf_of([[]])))
    (_,), account = read(write(tmp_path, "b.pdf", pdf_of([column(72, 740, "A text."), []])))
    assert account.skipped == {"page without text": 1} and account.entries[0].place == "page 2"
    with pytest.raises(ReadError, match="damaged, or not a PDF"):
        read(write(tmp_path, "c.pdf", b"%PDF-1.7 text"))


def test_a_name_and_a_time_above_a_text_in_one_paragraph_are_columns(tmp_path):
    """Teams writes Word transcripts so."""
    said = (("Ada Lee", "0:03", "How?"), ("Bea Brown", "0:07", "By bus."), ("Cem Can (Guest)", "0:19", "I walk."))
    body = "".join(f"<w:p>{run(f'{who}   {time}')}<w:r><w:br/></w:r>{run(text)}</w:p>" for who, time, text in said)
    (article,), account = read(write(tmp_path, "a.docx", docx(body + par("Ada Lee started transcription"))))
    assert turns(article) == [*said] and not account.changed
    assert account.skipped == {"message of the program": 1}


ENDNOTE = "%0 Journal Article\n%T Buses\n%A Lee, Ada\n%A Stone, Bea\n%D 2021\n%X It is\nlate.\n\n%0 Book\n%T Trams\n"
OF_SCIENCE = (
    "FN Clarivate Analytics Web of Science\nVR 1.0\nPT J\nAU Lee, Ada\n   Stone, Bea\nTI Buses\nAB It is\n   late.\n"
    "PY 2021\nER\n\nPT B\nTI Trams\nER\n\nEF\n"
)


@pytest.mark.parametrize(("name", "text"), [("a.enw", ENDNOTE), ("a.txt", OF_SCIENCE)])
def test_references_of_endnote_and_web_of_science_have_abstracts_and_fields(name, text, tmp_path):
    (article,), account = read(write(tmp_path, name, text.encode()))
    assert (article.title, texts(article)) == ("Buses", {"": ["It is late."]})
    assert (article.values["author"], article.values["year"]) == ("Lee, Ada; Stone, Bea", 2021)
    assert account.skipped == {"reference without an abstract": 1}


def test_interviews_in_word_have_speakers_too(tmp_path):
    body = par("Interview", "T") + "".join(par(f"{who}: {said}") for who, said in zip("ABAB", "ijkl", strict=True))
    (article,), account = read(write(tmp_path, "a.docx", docx(body)))
    assert turns(article) == [("A", None, "i"), ("B", None, "j"), ("A", None, "k"), ("B", None, "l")]
    assert account.notes == {"speakers": "A, B"}


@pytest.mark.parametrize(
    ("body", "expected", "skipped"),
    [
        ("<div>One<br><br>Two<br>\n<br>Three<br>line</div>", ["One", "Two", "Three line"], {}),
        ("<p>Call <code>print</code> to show.</p>", ["Call print to show."], {}),
        ("<pre>One.\nTwo.\n\nThree.</pre>", ["One. Two.", "Three."], {}),
        ("<p>Text.</p><pre>code</pre>", ["Text."], {"preformatted text": 1}),
        ("<table><tr><td><p>One.</p><p>Two.</p></td></tr></table>", ["One.", "Two."], {}),
        ("<p>Text.</p><table><tr><td>1<td>2</table>", ["Text."], {"table cell": 2}),
        ("<ul><li>One<li>Two</ul>", ["One", "Two"], {}),
        ("<p>Text <span hidden>no</span><span style='display: none'>no</span></p>", ["Text"], {"hidden text": 2}),
        ("<nav>Menu <b>x</b></nav><form><p>Text.</p></form><!-- a -->", ["Text."], {"navigation": 1}),
        ("<header>By Ada</header><p class='a hidden b'>Text.</p>", ["Text."], {"page header": 1}),
    ],
)
def test_text_of_pages_is_kept_or_listed(body, expected, skipped, tmp_path):
    (article,), account = read(write(tmp_path, "a.html", f"<html><body>{body}".encode()))
    assert texts(article) == {"": expected} and account.skipped == skipped


def test_pieces_of_pages_are_recognised_by_their_name(tmp_path):
    piece = b'<?xml version="1.0"?><style>p {}</style><span>The bus is late.</span>'
    (article,), _ = read(write(tmp_path, "a.html", piece))
    assert texts(article) == {"": ["The bus is late."]}
    with pytest.raises(ReadError, match="XML"):
        read(write(tmp_path, "a.txt", piece))


def test_pages_laid_out_by_a_table_have_headings(tmp_path):
    page = b"<html><table><tr><td>Menu<td><h1>Bus</h1><h2>Late</h2>It is late.</table><p>Foot."
    (article,), _ = read(write(tmp_path, "a.html", page))
    assert article.title == "Bus" and texts(article) == {"": ["Menu"], "Late": ["It is late.", "Foot."]}


def test_the_title_of_a_page_may_stand_in_its_header(tmp_path):
    page = b"<html><title>Bus - Site</title><header><h1>Bus</h1>By Ada</header><p>Late."
    (article,), account = read(write(tmp_path, "a.html", page))
    assert article.title == "Bus" and listed(account, "page title") == ["Bus - Site"]
    assert listed(account, "page header") == ["By Ada"]


def test_encodings_of_pages_are_never_guessed_wrongly(tmp_path):
    text = "<p>Автобус опоздал сегодня утром, и мы пошли пешком до самого города.</p>"
    for name, declared, encoding in (("a", "", "utf-8"), ("b", "windows-1251", "cp1251"), ("c", "latin-1", "utf-8")):
        page = f'<html><meta charset="{declared}">{text}' if declared else f"<html>{text}"
        (article,), _ = read(write(tmp_path, f"{name}.html", page.encode(encoding)))
        assert texts(article)[""][0].startswith("Автобус")
    with pytest.raises(ReadError, match="encoding of this text is not known"):
        read(write(tmp_path, "d.html", "<html><p>Автобус опоздал.".encode("cp1251")))


MARKDOWN = """\
+++
title = "Post"
+++

> The bus is late.

<div>Trains are full.</div>

<details><summary>More</summary>
The ferry was cancelled.
</details>

It rained[^1]. ![A bus](bus.png)

[^1]: In spring only.

<!-- a hidden remark -->
"""


def test_markdown_keeps_quotes_and_html_and_lists_notes_and_front_matter(tmp_path):
    (article,), account = read(write(tmp_path, "a.md", MARKDOWN.replace("\n", "\r\n").encode()))
    expected = ["The bus is late.", "Trains are full.", "More", "The ferry was cancelled.", "It rained."]
    assert article.title == "Post" and texts(article) == {"": expected}
    assert account.skipped == {"front matter": 1, "footnote": 1, "picture": 1}
    assert listed(account, "footnote") == ["In spring only."] and listed(account, "picture") == ["A bus"]
    (article,), account = read(write(tmp_path, "b.md", b"# Notes\n\n- One.\n- Two.\n"))  # nothing else than a list
    assert texts(article) == {"": ["One.", "Two."]} and account.notes == {"text": "only in lists"}


def test_a_markdown_document_may_begin_with_html(tmp_path):
    articles, _ = read(write(tmp_path, "a.md", b"<p align='center'>Logo</p>\n\n# Bus\n\nIt is **late**.\n"))
    found = {article.title: texts(article) for article in articles}
    assert found == {"a": {"": ["Logo"]}, "Bus": {"": ["It is late."]}}


def test_lines_of_dashes_below_sentences_are_no_headings(tmp_path):
    dashes = b"The bus is late.\n-----\nTrains are full.\n-----\nIt rained.\n"
    assert detect(write(tmp_path, "a.txt", dashes)) == "plain"
    (article,), _ = read(write(tmp_path, "a.md", dashes))
    assert texts(article) == {"": ["The bus is late.", "Trains are full.", "It rained."]}
    assert detect(write(tmp_path, "b.txt", b"One\n===\nText.\n")) == "markdown"
    assert detect(write(tmp_path, "c.txt", b"One\n---\n\nText.\n")) == "markdown"


NEXIS = """\
Buses are late|Own Times|January 10, 2020 Friday 11:20 AM GMT|Copyright 2020 Own Media|Section: NEWS; Pg. 3
Length: 120 words|Byline: Ada Lee|Body|The bus was late.|Nobody said: why?|Graphic|A bus, by Bea
Load-Date: January 12, 2020|End of Document|Trains are full|Own Post|January 11, 2020 Saturday
Section: NEWS|Body|Passengers stand.|End of Document""".replace("\n", "|").split("|")
OLD_NEXIS = """\
                 1 of 2 DOCUMENTS
                 Own Times
                 January 10, 2020 Friday
Buses are / late
SECTION: NEWS; Pg. 3
LENGTH: 120 words
The bus was / late.
Nobody said: why?
LOAD-DATE: January 12, 2020
                 Copyright 2020 Own Media
                 2 of 2 DOCUMENTS
                 Own Post
                 January 11, 2020 Saturday
Trains are full
SECTION: NEWS
Passengers stand.
""".replace("\n", "\n\n").replace(" / ", "\n")
FACTIVA = """\
NEWS|Buses are late|By Ada Lee|120 words|January 10, 2020 Friday|12:30|Own Times|OWNT|English
(c) 2020 Own Media|The bus was late.|Nobody said: why?|Document OWNT000020200110eg1a000xx
NEWS|Trains are full|12 words|January 11, 2020 Saturday|Own Post|POST|English|(c) 2020 Own Media
Passengers stand.|Document POST000020200110eg1a000yy|Search Summary|bus""".replace("\n", "|").split("|")
CODED = """\
SE NEWS|HD Buses are late|WC 120 words|PD January 10, 2020 Friday|SN Own Times|LP The bus was late.|TD
Nobody said: why?|NS gtrans : Buses|AN Document OWNT000020200110eg1a000xx
SE NEWS|HD Trains are full|PD January 11, 2020 Saturday|SN Own Post|LP Passengers stand.
AN Document POST000020200110eg1a000yy
""".replace("|", "\n")
PRESS = {
    "Nexis, Word": ("a.docx", docx("".join(par(line) for line in NEXIS))),
    "Nexis, RTF": ("a.rtf", ("{\\rtf1\\ansi " + "".join(f"\\pard {line}\\par\n" for line in NEXIS) + "}").encode()),
    "Nexis, text": ("a.txt", OLD_NEXIS.encode()),
    "Factiva, Word": ("a.docx", docx("".join(par(line) for line in FACTIVA))),
    "Factiva, text": ("a.txt", "\n".join(FACTIVA).encode()),
    "Factiva with codes": ("a.txt", CODED.encode()),
}


@pytest.mark.parametrize("name", PRESS)
def test_articles_of_press_archives_are_articles_with_their_fields(name, tmp_path):
    file, data = PRESS[name]
    (one, two), account = read(write(tmp_path, file, data))
    assert (one.title, two.title) == ("Buses are late", "Trains are full")
    assert texts(one) == {"": ["The bus was late.", "Nobody said: why?"]} and texts(two) == {"": ["Passengers stand."]}
    for article, source, day in ((one, "Own Times", "10, 2020 Friday"), (two, "Own Post", "11, 2020 Saturday")):
        assert article.values["publication"] == source and day in article.values["date"]
        assert article.values["section"].startswith("NEWS") and not article.sentence_values
    assert one.values["length"] == "120 words"
    assert "speakers" not in account.notes


TEI = """\
<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><titleStmt><title>Session 1</title></titleStmt>
<date when="2020-01-10">10.1.2020</date><listOrg><org xml:id="GR" role="parliamentaryGroup">
<orgName>Green</orgName></org></listOrg>
<listPerson><person xml:id="LeeAda"><persName><surname>Lee</surname><forename>Ada</forename></persName>
<affiliation role="member" ref="#GR"/></person></listPerson></teiHeader><text><body><div><head>Buses</head>
<note type="speaker">The Chair:</note><u who="#LeeAda" ana="#chair">
<seg>The sitting <note>Applause</note>is open.</seg></u>
<u who="#StoneBea" ana="#regular"><seg><s><w>It</w> <w>is</w> <w join="right">late</w>
<pc>.</pc></s></seg></u></div></body></text></TEI>
"""


def test_speeches_of_parliaments_have_speakers_and_parties(tmp_path):
    (article,), account = read(write(tmp_path, "a.xml", TEI.encode()))
    assert article.title == "Session 1" and article.values == {"date": "2020-01-10"}
    assert texts(article) == {"Buses": ["The sitting is open.", "It is late."]}
    assert article.sentence_values["speaker"] == ["Ada Lee", "StoneBea"]
    assert article.sentence_values["party"] == ["Green", None]
    assert article.sentence_values["role"] == ["chair", "regular"]
    assert listed(account, "note") == ["The Chair:", "Applause"]
    include = '<teiHeader/><xi:include xmlns:xi="x" href="a.xml"/>'
    corpus = f'<teiCorpus xmlns="http://www.tei-c.org/ns/1.0">{include}</teiCorpus>'
    with pytest.raises(ReadError, match=r"its texts are in other files.*ZIP"):
        read(write(tmp_path, "b.xml", corpus.encode()))


def test_the_licence_of_a_book_is_listed(tmp_path):
    marks = ["*** START OF THE PROJECT GUTENBERG EBOOK ADA ***", "*** END OF THE PROJECT GUTENBERG EBOOK ADA ***"]
    book = f"Free for all.\n{marks[0]}\n\nThe bus is late.\n\n{marks[1]}\nSee www.gutenberg.org.\n"
    (article,), account = read(write(tmp_path, "a.txt", book.encode()))
    assert texts(article) == {"": ["The bus is late."]}
    assert [text.split()[0] for text in listed(account, "licence of Project Gutenberg")] == ["Free", "***"]
