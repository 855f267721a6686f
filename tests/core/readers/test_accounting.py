"""Every reader accounts for its file to the last character: what goes in is stored, listed or counted, each once.

Files are made from pieces of text of several kinds. Stored is what the sentences, headings, titles and columns of the
articles contain after cleaning and splitting. ``pytest --hypothesis-profile=account`` makes more than 10,000 files.
"""

import csv
import io
import json
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.readers.samples import archive, docx, dump, page, par, parquet, reuters, story, workbook, zipped
from themescope.core.readers import REGISTRY
from themescope.core.readers.documents.open_document import epub_of as epub_of
from themescope.core.readers.documents.open_document import made_of as odt_of
from themescope.core.readers.documents.packages import made
from themescope.core.readers.documents.pdf import made_of as pdf_of
from themescope.core.text.cleaning import clean
from themescope.core.text.splitting import SentenceSplitter, split_article
from themescope.core.types import SILENT

Parts = Sequence[tuple[str, str]]
"""Kind and text of the pieces of a file, in order."""
LETTERS = ["a", "b", "n", "ß", "é", "e\u0301", "ж", "я", "α", "中", "1", "\u00ad"]
"""Inside of words: also letters in another form of Unicode, and characters that are not seen."""
BEGIN = "qQñжЖΩ"
"""Beginnings of words; nothing else in the files begins with them."""


def words_of(letters: Sequence[str], first: Sequence[str], ends: Sequence[str]) -> st.SearchStrategy[str]:
    """Texts of one to six words, some with a full stop."""
    inside = st.lists(st.sampled_from(letters), max_size=6).map("".join)
    word = st.builds(lambda one, two: f"{one}{two}{one}", st.sampled_from(first), inside)
    text = st.lists(word, min_size=1, max_size=6).map(" ".join)
    return st.builds("{}{}".format, text, st.sampled_from(ends))


ANY, ASCII = words_of(LETTERS, BEGIN, ["", "", ".", "?", "😀"]), words_of("abn1", "qQ", ["", ".", "?"])


@dataclass
class Format:
    reader: str
    name: str
    """Of the file."""
    kinds: Sequence[str]
    """Of its pieces."""
    build: Callable[[Parts], bytes]
    counted: Mapping[str, str] = field(default_factory=dict)
    """Kind of pieces whose text is neither stored nor listed → the reason under which each is counted."""
    texts: st.SearchStrategy[str] = field(default_factory=lambda: ANY)
    twice: Sequence[str] = ()
    """Kinds that are stored twice, as title and as text."""


def stored(articles) -> Counter[str]:
    """Return the words of articles: of sentences, headings, titles and columns."""
    found: list[str] = []
    for article in articles:
        found += [article.title, *map(str, article.values.values())]
        found += [str(value) for column in article.sentence_values.values() for value in column if value is not None]
        for section in article.sections:
            found += [section.title, *(sentence for p in section.paragraphs for sentence in p.sentences)]
    return Counter(clean(" ".join(found)).split())


def check(form: Format, parts: Parts, path: Path) -> None:
    """Check that the words of a file made of ``parts`` are stored or listed as often as they stand in it."""
    path.write_bytes(form.build(parts))
    reader = REGISTRY.build(form.reader)
    splitter = SentenceSplitter("en")
    found = stored(split_article(article, splitter) for article in reader.read(path, SILENT))
    for entry in reader.account.entries:
        found.update(clean(entry.text).split() if not entry.change else ())
    listed = [text for kind, text in parts for _ in range(1 + (kind in form.twice)) if kind not in form.counted]
    wanted = Counter(word for word in clean(" ".join(listed)).split() if word[0] in BEGIN)
    own = {word: found[word] for word in found if word[0] in BEGIN}
    assert own == wanted, f"lost {wanted - Counter(own)}, too often {Counter(own) - wanted}"
    for reason in {*form.counted.values()}:
        assert reader.account.skipped[reason] == sum(form.counted.get(kind) == reason for kind, _ in parts)


def filled(forms: Mapping[str, str], before: str = "", after: str = "", between: str = "", quote=str):
    """Return a function that writes every piece in the form of its kind."""
    return lambda parts: (before + between.join(forms[k].format(quote(text)) for k, text in parts) + after).encode()


WORD_KINDS = ["", "T", "H1", "H2", "Toc", "table", "footnote", "comment", "header1", "del", "moveFrom", "box"]


def word(parts: Parts) -> bytes:
    body, others = "", {"footnotes": "", "comments": "", "header1": ""}
    for kind, text in parts:
        paragraph = par(text, kind)
        if kind == "table":
            body += f"<w:tbl><w:tr><w:tc>{paragraph}</w:tc></w:tr></w:tbl>"
        elif kind in ("del", "moveFrom"):
            body += f"<w:p><w:{kind}><w:r><w:delText>{text}</w:delText></w:r></w:{kind}></w:p>"
        elif kind == "box":
            body += f"<w:p><w:r><w:t>x</w:t><w:txbxContent>{paragraph}</w:txbxContent></w:r></w:p>"
        elif kind == "header1":
            others[kind] += paragraph
        elif kind in ("footnote", "comment"):
            others[f"{kind}s"] += f"<w:{kind}>{paragraph}</w:{kind}>"
        else:
            body += paragraph
    return docx(body, **others)


ODT = {
    "p": "<text:p>{}</text:p>",
    "h": '<text:h text:outline-level="2">{}</text:h>',
    "title": '<text:p text:style-name="Title">{}</text:p>',
    "list": "<text:list><text:list-item><text:p>{}</text:p></text:list-item></text:list>",
    "table": "<table:table><table:table-row><text:p>{}</text:p></table:table-row></table:table>",
    "note": "<text:p>a<text:note><text:note-body><text:p>{}</text:p></text:note-body></text:note></text:p>",
    "annotation": "<text:p><office:annotation><text:p>{}</text:p></office:annotation></text:p>",
    "deleted": "<text:tracked-changes><text:p>{}</text:p></text:tracked-changes>",
}
ELEMENTS = ("p", "div", "h1", "h2", "pre", "nav", "aside", "blockquote", "button")
HTML = {name: f"<{name}>{{}}</{name}>" for name in ELEMENTS} | {
    "li": "<ul><li>{}</ul>",
    "td": "<table><tr><td>{}</table>",
    "hidden": "<p hidden>{}</p>",
    "br": "{}<br><br>",
    "code": "<p><code>{}</code></p>",
    "header": "<header><h1>{}</h1></header>",
    "quoted": "<div class='gmail_quote'>{}</div>",
}
MARKDOWN = {
    "p": "{}",
    "h1": "# {}",
    "h2": "## {}",
    "li": "- {}",
    "quote": "> {}",
    "code": "```\n{}\n```",
    "html": "<div>{}</div>",
    "table": "| a |\n| - |\n| {} |",
    "image": "![{}](a.png)",
    "indented": "a\n\n    {}",
    "link": "[{}](http://x.org)",
    "bold": "a **{}** b",
}
LATEX_HEADER = "\\documentclass{article}\n\\begin{document}\nBegin.\n\n"
LATEX = {
    "p": "{}\n\n",
    "section": "\\section{{{}}}\n",
    "emph": "a \\emph{{{}}} b\n\n",
    "note": "a\\footnote{{{}}} b\n\n",
    "item": "\\begin{{itemize}}\\item {}\\end{{itemize}}\n",
    "comment": "% {}\n",
    "caption": "\\begin{{figure}}\\caption{{{}}}\\end{{figure}}\n",
    "cell": "\\begin{{tabular}}{{l}}{}\\\\\\end{{tabular}}\n",
    "cite": "a \\cite{{ {} }} b\n\n",
    "input": "\\input{{ {} }}\n",
    "quote": "\\begin{{quote}}{}\\end{{quote}}\n",
    "formula": "\\begin{{equation}} {} \\end{{equation}}\n",
    "math": "a $ {} $ b\n\n",
    "own": "\\mine{{{}}}\n\n",
    "title": "\\title{{{}}}\n",
    "author": "\\author{{{}}}\n",
    "label": "\\label{{ {} }}\n",
    "url": "a \\href{{http://x.org}}{{{}}} b\n\n",
}
RTF_HEADER = "{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0 A;}}{\\stylesheet{\\s1 heading 1;}}\n"
RTF = {
    "p": "\\pard {}\\par\n",
    "heading": "\\pard\\s1 {}\\par\n",
    "cell": "\\pard\\intbl {}\\cell\\row\n",
    "note": "\\pard x{{\\footnote {}}}\\par\n",
    "header": "{{\\header {}\\par}}\n",
    "hidden": "\\pard {{\\v {}}}\\par\n",
}


def rtf_escaped(text: str) -> str:
    units = text.encode("utf-16-le")
    codes = [int.from_bytes(units[at : at + 2], "little", signed=True) for at in range(0, len(units), 2)]
    return "".join(chr(code) if 0 < code < 128 else f"\\u{code}?" for code in codes)


def pdf(parts: Parts) -> bytes:
    sizes = {"note": 8, "text": 10, "heading": 14}
    pages = [parts[at : at + 8] for at in range(0, len(parts), 8)]
    return pdf_of([[(sizes[k], 72, 780 - 30 * row, text) for row, (k, text) in enumerate(each)] for each in pages])


def message(parts: Parts) -> bytes:
    """A message with the kinds as beginnings of lines, and attachments."""
    mail = EmailMessage()
    subject = b64encode(" ".join(text for kind, text in parts if kind == "subject").encode()).decode()
    mail["From"], mail["To"], mail["Message-ID"] = "Bea <bea@x.org>", "cid@x.org", "<1@x.org>"
    mail.set_content("\n\n".join(kind + text for kind, text in parts if kind not in ("subject", "file")))
    for kind, text in parts:
        if kind == "file":
            mail.add_attachment(text, filename="a.txt")
    return f"Subject: =?utf-8?b?{subject}?=\n".encode() + mail.as_bytes()


def mailbox(parts: Parts) -> bytes:
    lines = (b"From x@x.org Mon Feb  5 10:00:00 2024\n" + message([part]) + b"\n" for part in parts)
    return b"".join(lines)


def saved_page(parts: Parts) -> bytes:
    mail = EmailMessage()
    mail["Snapshot-Content-Location"], mail["Subject"] = "https://x.org", ""
    body = [part for part in parts if part[0] not in ("frame", "text")]
    mail.set_content(filled(HTML, "<html>")(body).decode(), subtype="html")
    mail.make_related()
    for kind, text in parts:
        if kind in ("frame", "text"):
            subtype = "html" if kind == "frame" else "plain"
            mail.add_related(f"<p>{text}</p>" if kind == "frame" else text, subtype=subtype)
    return mail.as_bytes()


def usenet(parts: Parts) -> str:
    """A message of a newsgroup; its last block is its signature."""
    lines = "".join(f"{'> ' * (kind == 'quotation')}{text}\n\n" for kind, text in parts if kind != "signature")
    signature = "--\n" + " ".join(text for kind, text in parts if kind == "signature")
    return f"From: a@x.org\nSubject: Ada\nLines: 7\n\nBegin\n\n{lines}{signature}\n"


def news(parts: Parts) -> bytes:
    of = {"group": "sci.space", "split": "train"}
    return lines_of_json([of | {"id": f"sci.space/{n}", "text": usenet([part])} for n, part in enumerate(parts)])


def news_archive(parts: Parts) -> bytes:
    return archive({f"news-train/sci.space/{n}": usenet([part]) for n, part in enumerate(parts)})


def stories(parts: Parts) -> bytes:
    """Stories in which a piece is the headline, the body, …, or the whole of one that is left out."""
    forms = {
        "headline": "<TITLE>{}</TITLE><BODY>Text.</BODY>",
        "dateline": "<DATELINE>{} - </DATELINE><BODY>Text.</BODY>",
        "body": "<BODY>{}\n Reuter\n&#3;</BODY>",
        "author": "<AUTHOR>{}</AUTHOR><BODY>Text.</BODY>",
        "bare": "{}",
        "wheat": "<TITLE>{}</TITLE>",
        "outside": "<BODY>{}</BODY>",
    }
    topics, flags = {"wheat": ["wheat"]}, {"outside": "NO"}
    return reuters(
        *(
            story(number, topics.get(kind, ["grain"]), forms[kind].format(text), flag=flags.get(kind, "YES"))
            for number, (kind, text) in enumerate(parts)
        )
    )


WIKI = {
    "p": "{}\n\n",
    "h2": "== {} ==\na\n\n",
    "bold": "a '''{}''' b\n\n",
    "link": "a [[x|{}]] b\n\n",
    "small": "a <small>{}</small> b\n\n",
    "external": "a [http://x.org {}] b\n\n",
    "nowiki": "a <nowiki>{}</nowiki> b\n\n",
    "ref": "a<ref>{}</ref> b\n\n",
    "item": "* {}\n\n",
    "table": "{{|\n| {}\n|}}\n\n",
    "gallery": "<gallery>\nFile:a.png|{}\n</gallery>\n\n",
    "file": "[[File:a.png|thumb|{}]]\n\n",
    "math": "a <math>{}</math> b\n\n",
    "comment": "a<!-- {} --> b\n\n",
    "template": "a {{{{unknown|{}}}}} b\n\n",
}
WIKI_COUNTED = {
    "ref": "reference",
    "item": "list item",
    "table": "table",
    "gallery": "gallery",
    "file": "picture",
    "math": "math",
    "comment": "comment",
    "template": "template “unknown” inside a text",
    "talk": "namespace",
    "redirect": "redirect",
}


def wiki(parts: Parts) -> bytes:
    """One page of all pieces, and others that are left out."""
    body = "".join(WIKI[kind].format(escape(text)) for kind, text in parts if kind in WIKI)
    others = [page("Talk:Ada", text, ns="1") for kind, text in parts if kind == "talk"]
    others += [page("Old", f"#REDIRECT [[{text}]]") for kind, text in parts if kind == "redirect"]
    return dump(page("Ada", "Begin.\n\n" + body), *others)


def written(rows: Sequence[Sequence[object]], **options: object) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, **options).writerows(rows)
    return out.getvalue().encode()


def table_rows(parts: Parts) -> list[tuple[object, ...]]:
    """A piece of the kind “answer” is a text, others stand in another column."""
    return [
        (number, text if kind == "answer" else "", text if kind == "place" else "", "x. y.")
        for number, (kind, text) in enumerate(parts)
    ]


HEADER = ("id", "answer", "place", "note")


def separated(sign: str) -> Callable[[Parts], bytes]:
    return lambda parts: written((HEADER, *table_rows(parts)), delimiter=sign)


def records(parts: Parts) -> list[dict[str, object]]:
    return [dict(zip(HEADER, row, strict=True)) for row in table_rows(parts)]


def lines_of_json(found: Sequence[object]) -> bytes:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in found).encode()


def articles(parts: Parts) -> bytes:
    """Articles in JSON lines: pieces of one, and one for each piece that stands alone."""
    sections = [{"title": "", "level": 1, "paragraphs": ["Begin."]}]
    sections += [{"title": text, "level": 2, "paragraphs": []} for kind, text in parts if kind == "heading"]
    sections += [{"title": "", "paragraphs": [text]} for kind, text in parts if kind == "paragraph"]
    sections += [{"title": "", "paragraphs": [], "note": text} for kind, text in parts if kind == "note"]
    alone = [{"title": text, "sections": []} for kind, text in parts if kind == "empty"]
    alone += [{"title": "Bea", "sections": [{"title": text}]} for kind, text in parts if kind == "empty section"]
    further = {f"key {n}": text for n, (kind, text) in enumerate(parts) if kind == "value"}
    return lines_of_json([{"title": "Ada", "sections": sections, **further}, *alone])


SUMMARIES = {
    "title": {"title": "{}"},
    "text": {"text": "{}"},
    "heading": {"sections": [{"title": "{}", "sentences": ["Begin."]}]},
    "sentence": {"sections": [{"title": "One", "sentences": ["{}"]}]},
    "summary": {"summary": "{}"},
    "sentences": {"summary": ["One.", "{}"]},
    "summaries": {"summaries": ["{}"]},
    "abstract": {"abstract": ["{}"]},
    "empty": {"text": "", "title": "{}"},
}


def summaries(parts: Parts) -> bytes:
    of = {"text": "Begin.", "summary": "Short."}
    found = (of | {"id": f"n{n}"} | filled_in(SUMMARIES[kind], text) for n, (kind, text) in enumerate(parts))
    return lines_of_json([*found])


SCB = ("Article Title", "Sentence", "SectionTitle", "Article Link", "Coder")


def benchmark(parts: Parts) -> bytes:
    """Rows in which a piece is the sentence, the section, the link, or stands in a further column."""
    rows = [
        (
            "Ada",
            text if kind == "sentence" else "" if kind == "alone" else "Begin.",
            f"{n} {text}" if kind == "section" else "One",
            "x.org",
            text if kind in ("coder", "alone") else "",
        )
        for n, (kind, text) in enumerate(parts)
    ]
    return written([SCB, ("Ada", "First.", "One", "x.org", ""), *rows])


def packed(parts: Parts) -> bytes:
    names = {"text": "{}.txt", "markdown": "{}.md", "page": "{}.html", "folder": "a/{}.txt"}
    forms = {"text": "{}", "markdown": "# Ada\n\n{}", "page": "<html><p>{}</p></html>", "folder": "{}"}
    return made({names[kind].format(n): forms[kind].format(text) for n, (kind, text) in enumerate(parts)})


CUES = {"cue": "{0}\n{1}", "italic": "{0}\n<i>{1}</i>", "named": "Ada\n{0}\n{1}", "dashes": "{0}\n- a\n- {1}"}
CUES["note"] = "NOTE {1}"


def cues(parts: Parts) -> bytes:
    times = [f"00:00:{n:02}.000 --> 00:00:{n:02}.900" for n in range(len(parts))]
    found = [CUES[kind].format(time, text) for time, (kind, text) in zip(times, parts, strict=True)]
    return ("WEBVTT\n\n" + "\n\n".join(found) + "\n").encode()


def srt(parts: Parts) -> bytes:
    form = "{0}\n00:00:{0:02},000 --> 00:00:{0:02},900\n{1}\n\n"
    return "".join(form.format(n, text) for n, (_, text) in enumerate(parts)).encode()


TEI = {
    "p": "<p>{}</p>",
    "bare": "<div>{}</div>",
    "head": "<head>{}</head>",
    "seg": "<u who='#Ada'><seg>{}</seg></u>",
    "u": "<u who='#Ada'>{}</u>",
    "note": "<u who='#Ada'><seg>Begin.<note>{}</note></seg></u>",
    "tail": "<u who='#Ada'><seg>Begin.</seg>{}</u>",
    "vocal": "<vocal><desc>{}</desc></vocal>",
    "speaker": "<sp><speaker>{}</speaker><l>Begin.</l></sp>",
    "corr": "<p>a <choice><sic>x</sic><corr>{}</corr></choice> b</p>",
    "sic": "<p>a <choice><sic>{}</sic><corr>x</corr></choice> b</p>",
    "w": "<p><s><w join='right'>a</w><pc>:</pc> <w>{}</w></s></p>",
    "item": "<list><item>{}</item></list>",
    "cell": "<table><row><cell>{}</cell></row></table>",
}
TEI_HEADER = (
    "<TEI><teiHeader><title>Ada</title><listPerson><person id='Ada'><persName>Ada</persName></person></listPerson>"
    "</teiHeader><text><body><p>Begin.</p>"
)
NEXIS = {
    "title": "{}|Own Times|January 10, 2020 Friday|Section: NEWS|Body|Begin.|",
    "publication": "Ada|{}|January 10, 2020 Friday|Section: NEWS|Body|Begin.|",
    "section": "Ada|Own Times|January 10, 2020 Friday|Section: {}|Body|Begin.|",
    "text": "Ada|Own Times|January 10, 2020 Friday|Section: NEWS|Body|{}|",
    "subject": "Ada|Own Times|January 10, 2020 Friday|Section: NEWS|Body|Begin.|Classification|Subject: {}|",
    "empty": "{}|Own Times|January 10, 2020 Friday|Section: NEWS|Body|",
}
FACTIVA_END = "Document LBA0000020200110eg1a000xx\n"
FACTIVA = {
    "title": "{}\n12 words\n10 January 2020\nOwn Post\n(c) 2020 Own Media\nBegin.\n",
    "source": "Ada\n12 words\n10 January 2020\n{}\n(c) 2020 Own Media\nBegin.\n",
    "text": "Ada\n12 words\n10 January 2020\nOwn Post\n(c) 2020 Own Media\n{}\n",
    "coded title": "HD {}\nWC 12 words\nLP Begin.\n",
    "coded text": "HD Ada\nWC 12 words\nLP Begin.\nTD\n{}\n",
    "coded subject": "HD Ada\nWC 12 words\nLP Begin.\nNS {}\n",
    "coded copyright": "HD Ada\nWC 12 words\nCY {}\nLP Begin.\n",
}


def nexis(parts: Parts) -> bytes:
    lines = "".join(NEXIS[kind].format(text) + "End of Document|" for kind, text in parts).split("|")
    return word([("", line) for line in lines if line])


def joined_by(end: str):
    return lambda parts: end.join(kind + text for kind, text in parts).encode()


MESSAGES = {
    "text": {"from": "Ada", "text": "{}"},
    "pieces": {"from": "Ada", "text": ["a ", {"type": "bold", "text": "{}"}], "text_entities": []},
    "twice": {"from": "Ada", "text": "{}", "text_entities": [{"type": "plain", "text": "{}"}]},
    "from": {"from": "{}", "text": "Begin."},
    "service": {"type": "service", "actor": "Ada", "action": "{}"},
    "photo": {"from": "Ada", "text": "", "photo": "{}"},
    "username": {"user": "Ada", "username": "{}", "text": "Begin."},
}


def filled_in(value, text):
    """Return JSON values with a text in the place of braces."""
    if isinstance(value, dict):
        return {key: filled_in(part, text) for key, part in value.items()}
    return [filled_in(part, text) for part in value] if isinstance(value, list) else value.replace("{}", text)


def telegram(parts: Parts) -> bytes:
    sent = {"type": "message", "date": "2024-01-01T10:00:00"}
    return json.dumps({"messages": [sent | filled_in(MESSAGES[kind], text) for kind, text in parts]}).encode()


def slack(parts: Parts) -> bytes:
    """An archive with a day of messages, and the people in them."""
    forms = {"text": "{}", "link": "see <http://x.org|{}>", "join": "{}"}
    sent = [
        {"type": "message", "ts": f"{n}.5", "user": "U0BMQB6JE", "text": forms[kind].format(text)}
        | ({"subtype": "channel_join"} if kind == "join" else {})
        for n, (kind, text) in enumerate(parts)
    ]
    people = json.dumps([{"id": "U0BMQB6JE", "name": "Ada"}])
    return made({"users.json": people, "channels.json": "[]", "bus/1.json": json.dumps(sent)})


BOOK = [f"*** {word} OF THE PROJECT GUTENBERG EBOOK *** " for word in ("START", "END")]
SPEAKERS = ["", "Ada: ", "Bea: ", "[00:01] ", "[00:02] Ada: ", "12:30 Bea: "]
SUB_STATION_HEADER = "[Script Info]\n\n[Events]\nFormat: Start, End, Name, Text\n"
SUB_STATION = {kind: f"{kind}: 0:00:01.00,0:00:02.00,,{{}}\n" for kind in ("Dialogue", "Comment")}
END_NOTE = {tag: f"%0 Book\n%{tag} {{}}\n" for tag in "TXKZ"}
OF_SCIENCE = {tag: f"PT J\n{tag} {{}}\n   \nER\n\n" for tag in ("TI", "AB", "AU", "Z9")}
JOURNAL = "TY  - JOUR\n"
REFERENCES = {"AB": "TI  - Bea\nAB  - {}\n", "more": "AB  - Ada\n      {}\n", "TI": "TI  - {}\n", "XX": "XX  - {}\n"}
LINE_ENDS = ("\n", "\r\n", "\n\n", "\r", "\n\f")
HEADED = {form: form for form in ("{}\n", "= {} =\n", "== {} ==\n", "=== {} ===\n", "* {}\n", "\n{}\n")}
USENET = ["text", "quotation", "signature"]
TABLE_KINDS = ["answer", "answer", "place"]
FORMATS = {
    "word": Format("word", "a.docx", WORD_KINDS, word),
    "open-document": Format("open-document", "a.odt", [*ODT], lambda parts: odt_of(filled(ODT)(parts).decode())),
    "pdf": Format("pdf", "a.pdf", ["note", "text", "heading"], pdf, texts=ASCII),
    "rtf": Format("rtf", "a.rtf", [*RTF], filled(RTF, RTF_HEADER, "}", quote=rtf_escaped)),
    "epub": Format(
        "epub",
        "a.epub",
        [*HTML],
        lambda parts: epub_of(*(f"<h1>Chapter</h1>{xhtml(HTML[kind].format(text))}" for kind, text in parts)),
    ),
    "latex": Format("latex", "a.tex", [*LATEX], filled(LATEX, LATEX_HEADER, "\\end{document}\n")),
    "saved-page": Format("saved-page", "a.mhtml", [*HTML, "frame", "text"], saved_page),
    "mail": Format("mail", "a.eml", ["", "> ", "-- \n", "subject", "file"], message),
    "mailbox": Format("mail", "a.mbox", ["", "> ", "-- \n", "subject", "file"], mailbox),
    "html": Format("html", "a.html", [*HTML, "title"], filled(HTML | {"title": "<title>{}</title>"}, "<html>")),
    "markdown": Format("markdown", "a.md", [*MARKDOWN], filled(MARKDOWN, between="\n\n")),
    "transcript": Format("transcript", "a.txt", SPEAKERS, joined_by("\n")),
    "references": Format(
        "references", "a.ris", [*REFERENCES], filled(REFERENCES, JOURNAL, between="ER  - \n" + JOURNAL)
    ),
    "tei": Format("tei", "a.xml", [*TEI], filled(TEI, TEI_HEADER, "</body></text></TEI>", quote=escape)),
    "Gutenberg": Format("plain", "a.txt", ["", *BOOK], joined_by("\n")),
    "Telegram": Format("table", "a.json", [*MESSAGES], telegram),
    "Slack": Format("zip", "a.zip", ["text", "link", "join"], slack),
    "Nexis": Format("word", "a.docx", [*NEXIS], nexis),
    "Factiva": Format("references", "a.txt", [*FACTIVA], filled(FACTIVA, "", FACTIVA_END, between=FACTIVA_END)),
    "subtitles": Format("subtitles", "a.srt", ["cue"], srt),
    "SubStation": Format("subtitles", "a.ass", [*SUB_STATION], filled(SUB_STATION, SUB_STATION_HEADER)),
    "EndNote": Format("references", "a.enw", [*END_NOTE], filled(END_NOTE)),
    "Web of Science": Format("references", "a.ciw", [*OF_SCIENCE], filled(OF_SCIENCE)),
    "IRC": Format(
        "transcript",
        "a.log",
        ["< ada>", "<@bea>", "* cem", "-!- dan", "*** eve"],
        lambda parts: "".join(f"09:1{n % 10} {kind} {text}\n" for n, (kind, text) in enumerate(parts)).encode(),
    ),
    "web subtitles": Format("subtitles", "a.vtt", [*CUES], cues),
    "mediawiki-dump": Format("mediawiki-dump", "a.xml", [*WIKI, "talk", "redirect"], wiki, WIKI_COUNTED),
    "reuters-sgml": Format(
        "reuters-sgml",
        "a.sgm",
        ["headline", "dateline", "body", "author", "bare", "wheat", "outside"],
        stories,
        texts=ASCII,
        twice=["headline"],
    ),
    "newsgroups": Format("newsgroups", "a.jsonl", USENET, news),
    "message of a newsgroup": Format("newsgroups", "1", USENET, lambda parts: usenet(parts).encode(), texts=ASCII),
    "archive of newsgroups": Format("newsgroups", "a.tar", USENET, news_archive, texts=ASCII),
    "scb-csv": Format("scb-csv", "a.csv", ["sentence", "section", "coder", "alone"], benchmark),
    "summaries": Format("summaries", "a.jsonl", [*SUMMARIES], summaries),
    "jsonl": Format("jsonl", "a.jsonl", ["heading", "paragraph", "note", "empty", "empty section", "value"], articles),
    "headed-text": Format("headed-text", "a.txt", [*HEADED], filled(HEADED)),
    "zip": Format("zip", "a.zip", ["text", "markdown", "page", "folder"], packed),
    **{f"plain, {sign!r}": Format("plain", "a.txt", [""], joined_by(sign)) for sign in LINE_ENDS},
    **{f"CSV, {sign!r}": Format("table", "a.csv", TABLE_KINDS, separated(sign)) for sign in ",;\t|"},
    "packed dataset": Format(
        "zip", "a.zip", TABLE_KINDS, lambda parts: zipped({"data/train.parquet": parquet(records(parts))})
    ),
    "Excel": Format("table", "a.xlsx", TABLE_KINDS, lambda parts: workbook(HEADER, *table_rows(parts))),
    "Parquet": Format("table", "a.parquet", TABLE_KINDS, lambda parts: parquet(records(parts))),
    "JSON": Format("table", "a.json", TABLE_KINDS, lambda parts: json.dumps(records(parts)).encode()),
    "table of JSON lines": Format("table", "a.jsonl", TABLE_KINDS, lambda parts: lines_of_json(records(parts))),
}


def xhtml(text: str) -> str:
    """Return HTML with all elements closed."""
    return (
        text.replace("</ul>", "</li></ul>")
        .replace("</table>", "</td></tr></table>")
        .replace("<br>", "<br/>")
        .replace("<p hidden>", '<p hidden="">')
    )


def test_every_reader_is_here() -> None:
    assert {form.reader for form in FORMATS.values()} == {*REGISTRY.ids()}


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=settings.default.max_examples // 6)
@given(data=st.data())
def test_text_that_goes_in_is_stored_listed_or_counted(name: str, data: st.DataObject, tmp_path: Path) -> None:
    form = FORMATS[name]
    parts = data.draw(st.lists(st.tuples(st.sampled_from(form.kinds), form.texts), min_size=1, max_size=12))
    check(form, parts, tmp_path / form.name)
