import io
import re
import zipfile
from datetime import UTC, datetime
from email.message import EmailMessage

import pytest

from tests.core.readers.samples import listed, read, write, zipped
from themescope.core.errors import ReadError
from themescope.core.readers import REGISTRY
from themescope.core.readers.documents.open_document import made_of as odt_of
from themescope.core.readers.documents.packages import made
from themescope.core.readers.formats import preview
from themescope.core.types import SILENT


def texts(articles):
    return [p.text for article in articles for section in article.sections for p in section.paragraphs]


def message(text, subject="Buses"):
    found = EmailMessage()
    found["From"], found["Subject"] = "Bea <bea@x.org>", subject
    found["Date"] = "Mon, 05 Feb 2024 10:00:00 +0000"
    found.set_content(text)
    return found


def test_replies_signatures_and_attachments_of_mail_are_listed(tmp_path):
    quoted = "On Sun, 4 Feb 2024, Cid wrote:\n> Is it?\n> Old?"
    mail = message(f"The bus is late.\n\nTrains are full.\n\n{quoted}\n\n-- \nBea\n")
    mail.add_attachment(b"\0\1", maintype="image", subtype="png", filename="map.png")
    articles, account = read(write(tmp_path, "a.eml", mail.as_bytes()))
    assert texts(articles) == ["The bus is late.", "Trains are full."] and articles[0].title == "Buses"
    assert articles[0].values["date"] == datetime(2024, 2, 5, 10, tzinfo=UTC)
    assert "Is it?" in " ".join(listed(account, "quoted reply")) and "Bea" in " ".join(listed(account, "signature"))
    assert listed(account, "attachment") == ["map.png"]
    assert any("Old?" in text for text in texts(read(tmp_path / "a.eml", keep_quotations=True)[0]))


@pytest.mark.parametrize("sender", ["bea@x.org", '.0" x" <bea@x.org>'], ids=["", "Python's parser fails on it"])
def test_mail_of_html_may_have_lists_and_boundaries_without_quotes(sender, tmp_path):
    part = b"Content-Type: text/html\n\n<p>The bus is late.</p><ul><li>Trains are full.</li></ul>\n"
    mail = f"From: {sender}\nTo: a@x.org\nSubject: Buses\nMessage-ID: <1@x.org>\nMIME-Version: 1.0\n".encode()
    for inside in (part, b"Content-Type: multipart/mixed; boundary=--=_1\n\n----=_1\n" + part + b"----=_1--\n"):
        articles, _ = read(write(tmp_path, "a.eml", mail + inside))
        assert texts(articles) == ["The bus is late.", "Trains are full."] and articles[0].values["from"] == sender


def test_every_message_of_a_mailbox_is_an_article(tmp_path):
    line = "From bea@x.org Mon Feb  5 10:00:00 2024\n"
    box = "".join(f"{line}{message(f'Bus {n}.', f'S{n}')}\n" for n in "abc")
    articles, _ = read(write(tmp_path, "a.mbox", box.encode()))
    assert [(a.title, *texts([a])) for a in articles] == [(f"S{n}", f"Bus {n}.") for n in "abc"]


RTF = {
    "headings and characters beyond ASCII": (
        rb"{\rtf1{\stylesheet{\s1 heading 1;}}\pard\s1 Verkehr\par\pard Die Stra\u223?e ist gesperrt.\par}",
        {"Verkehr": ["Die Straße ist gesperrt."]},
    ),
    "a mark inside a group": (rb"{\rtf1 {\f2\*\cs7\cf0 Late.}\par {\*\x no}Full.}", {"": ["Late.", "Full."]}),
    "binary data": (rb"{\rtf1 Late.\par {\pict\bin3 {}}}Full.}", {"": ["Late.", "Full."]}),
    "a text box in two forms": (
        rb"{\rtf1 Late.\par {\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt Full.\par}}"
        rb"{\shprslt{\*\do{\dptxbxtext Full.\par}}}}}",
        {"": ["Late.", "Full."]},
    ),
}


@pytest.mark.parametrize("name", RTF)
def test_no_text_of_rtf_is_hidden_or_read_twice(name, tmp_path):
    data, expected = RTF[name]
    (article,), _ = read(write(tmp_path, "a.rtf", data))
    assert {s.title: [p.text for p in s.paragraphs] for s in article.sections if s.paragraphs} == expected


def test_binary_data_of_rtf_that_is_longer_than_the_file_is_refused(tmp_path):
    with pytest.raises(ReadError, match="9,999,999 bytes begins here, more than the file has"):
        read(write(tmp_path, "b.rtf", rb"{\rtf1 The bus is late.\par \bin9999999 Trains are full.}"))


def test_what_unpacks_to_too_much_is_not_called_damaged(tmp_path):
    path = write(tmp_path, "answers.zip", zipped({"answers.txt": bytes(20_000_000)}))
    with pytest.raises(ReadError, match="20 MB when decompressed, which is too much"):
        preview(path)


def test_latex_text_has_sections_and_lists_the_rest(tmp_path):
    text = r"""
\documentclass{article}\title{Buses}
\begin{document}\maketitle
\section{Delays}
The bus is \emph{late}, as~Lee \cite{lee} says.\footnote{Not always.} % a remark

\begin{itemize}\item Trains are full.\end{itemize}
\begin{table}\begin{tabular}{ll}one & two\\\end{tabular}\caption{Rides}\end{table}
\end{document}
"""
    articles, account = read(write(tmp_path, "a.tex", text.encode()))
    assert articles[0].title == "Buses" and [s.title for s in articles[0].sections if s.paragraphs] == ["Delays"]
    first, *others = texts(articles)
    assert first.startswith("The bus is late, as Lee") and "remark" not in first and "Trains are full." in others
    assert "Not always." in " ".join(entry.text for entry in account.entries)


def test_definitions_of_latex_are_listed_and_take_no_text_with_them(tmp_path):
    definitions = "".join(f"\\newcommand{{\\b{a}}}{{\\begin{{{a}}}}}\n" for a in "abcdefgh")
    text = f"\\begin{{document}}\n{definitions}The \\emph{{bus}} is late.\n\nTrains are full.\n\\end{{document}}\n"
    articles, account = read(write(tmp_path, "a.tex", text.encode()))
    assert texts(articles) == ["The bus is late.", "Trains are full."]
    assert account.skipped == {"definition of a command": 8}
    unclosed = "\\frac{\\frac{" * 20 + "\\end{x}" * 50 + "}" * 10
    with pytest.raises(ReadError, match="do not match"):
        read(write(tmp_path, "b.tex", f"\\begin{{document}}{unclosed} The bus.".encode()))


def test_files_of_an_archive_are_read_one_by_one(tmp_path):
    files = {
        "n.txt": "The bus is late.\n",
        "d/s.md": "# South\n\nTrains are full.\n",
        "x.bin": "\0\1\2",
        ".hidden": "x",
    }
    articles, account = read(write(tmp_path, "a.zip", made(files)))
    assert sorted(texts(articles)) == ["The bus is late.", "Trains are full."]
    assert {article.source for article in articles} == {"n.txt", "d/s.md"}
    assert account.skipped == {"file that cannot be read": 1} and account.entries[0].place == "x.bin"
    with pytest.raises(ReadError, match="none of its 1 files can be read"):
        list(REGISTRY.build("zip").read(write(tmp_path, "b.zip", made({"x.bin": "\0\1\2"})), SILENT))


def test_files_that_latex_includes_are_named_and_its_definitions_are_no_text(tmp_path):
    text = (
        "\\documentclass{article}\n\\input{macros}\n\\newtheorem{thm}{Theorem}[section]\n\\begin{document}\n"
        "The bus is late.\n\n\\include{chapters/two}\n\\newtheorem*{lem}[thm]{Lemma}\n"
        "\\begin{figure}\\includegraphics[width=1cm]{map.png}\\caption{Rides}\\end{figure}\n"
        "Trains are full.\\bibliography{refs}\n\\end{document}\nAfterwards.\n"
    )
    articles, account = read(write(tmp_path, "a.tex", text.encode()))
    assert texts(articles) == ["The bus is late.", "Trains are full."]
    assert listed(account, "included file") == ["macros", "chapters/two"]
    assert listed(account, "figure") == ["map.png Rides"] and listed(account, "file of references") == ["refs"]
    assert listed(account, "definition of a command") == ["\\newtheorem*{lem}[thm]{Lemma}"]
    (outside,) = listed(account, "text outside of the document")
    assert "\\documentclass{article}" in outside and outside.endswith("Afterwards.")


PARTS = b"""From: bea@x.org
To: cid@x.org
Subject: Buses
Message-ID: <1@x.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="B"

Written before.
--B
Content-Type: text/plain; charset="latin-1"

The bus is late. \xfcber
--B--
Written after.
"""


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_text_around_the_parts_of_a_message_is_listed_also_in_utf_16(encoding, tmp_path):
    articles, account = read(write(tmp_path, "a.eml", PARTS.decode("latin-1").encode(encoding)))
    assert articles[0].title == "Buses" and texts(articles) == ["The bus is late. über"]
    assert listed(account, "text outside of the parts of a message") == ["Written before.", "Written after."]


def named(name, encoding):
    """Return a ZIP file of a text whose name is not marked as UTF-8."""
    place = "x" * len(name.encode(encoding))
    return zipped({place: "The bus is late.\n"}, zipfile.ZIP_STORED).replace(place.encode(), name.encode(encoding))


@pytest.mark.parametrize(
    ("name", "encoding", "note"),
    [
        ("会議の記録/田中さんのメモ.txt", "cp932", "cp932"),
        ("问卷调查结果与采访张三.txt", "gb18030", "gb18030"),
        ("Gespräch mit Frau Müller.txt", "cp437", "cp850"),
        ("Протокол встречи.txt", "cp866", "cp866"),
        ("Gespräch mit Frau Müller.txt", "utf-8", "utf-8"),
    ],
)
def test_names_in_archives_are_decoded_and_their_encoding_named(name, encoding, note, tmp_path):
    (article,), account = read(write(tmp_path, "a.zip", named(name, encoding)))
    assert article.source == name and article.title == name.rpartition("/")[2].removesuffix(".txt")
    assert account.notes["encoding of the names of files"] == note


def test_names_of_uncertain_encoding_can_be_decoded_by_choice(tmp_path):
    path = write(tmp_path, "a.zip", named("文章1.txt", "cp932"))
    (article,), account = read(path)
    assert article.title == "ò╢Å═1" and "uncertain" in account.notes["encoding of the names of files"]
    assert [article.title for article in read(path, name_encoding="cp932")[0]] == ["文章1"]
    long = "会議の記録" * 14 + ".txt"
    (article,), _ = read(write(tmp_path, "b.zip", named(long, "cp932")), name_encoding="cp932")
    assert article.source == long and article.title == long.removesuffix(".txt")


PRESENTATION = made({"mimetype": "application/vnd.oasis.opendocument.presentation", "content.xml": "<a/>"})
ENCRYPTED = {
    "mimetype": "application/vnd.oasis.opendocument.text",
    "content.xml": "\1\2\3",
    "META-INF/manifest.xml": "<manifest><file-entry><encryption-data/></file-entry></manifest>",
}


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("a.docx", b"\xd0\xcf\x11\xe0" + bytes(100) + "EncryptedPackage".encode("utf-16-le"), "encrypted.*remove the"),
        ("a.odt", made(ENCRYPTED), "encrypted with a password.*save it again without"),
        ("a.odp", PRESENTATION, r"OpenDocument presentation \(.odp\).*Export it as PDF"),
        ("a.pptx", made({"ppt/presentation.xml": "<a/>"}), r"PowerPoint presentation \(.pptx\).*Export it as PDF"),
        ("a.sxw", made({"mimetype": "application/vnd.sun.xml.writer", "content.xml": "<a/>"}), "Save it as ODT"),
    ],
)
def test_encrypted_documents_and_presentations_are_refused_with_what_to_do(name, data, problem, tmp_path):
    with pytest.raises(ReadError, match=problem):
        read(write(tmp_path, name, data))
    articles, account = read(write(tmp_path, "b.zip", zipped({name: data, "b.txt": "The bus is late.\n"})))
    (reason,) = listed(account, "file that cannot be read")
    assert texts(articles) == ["The bus is late."] and re.search(problem, reason)


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_document_is_what_its_media_type_says_however_it_is_packed(packing, tmp_path):
    kind, body = "application/vnd.oasis.opendocument.text", odt_of("<text:p>The bus is late.</text:p>")
    with zipfile.ZipFile(io.BytesIO(body)) as parts:
        content = parts.read("content.xml")
    for name in ("a.odt", "a.zip"):
        articles, _ = read(write(tmp_path, name, zipped({"mimetype": kind, "content.xml": content}, packing)))
        assert texts(articles) == ["The bus is late."]
    with pytest.raises(ReadError, match=r"its part content\.xml is missing"):
        read(write(tmp_path, "empty.odt", zipped({"mimetype": kind}, packing)))
