"""Hostile texts: a syntax element repeated many times, mostly without its end. Format → prefix, element, suffix."""

import json
import re
from collections.abc import Callable
from xml.sax.saxutils import escape

from themescope.core.readers.documents.open_document import made_of as odt_of
from themescope.core.readers.documents.packages import made
from themescope.core.readers.documents.pdf import made_of as pdf_of

Parts = tuple[str, str, str]


def _elements(*elements: str) -> list[Parts]:
    return [("", element, "") for element in elements]


HTML: list[Parts] = [
    *_elements(
        "<!--", "<!-- --", "<!-- -->", "<!", "<![CDATA[", "<![foo[", "<?", "<", "a<", "</", "</x", "</x>", "</ ",
        "<a ", "<a\n", "<a /", "<a = ", "<a b=", '<a b="c" ', '<a href="', "<a href='", '<a a=\'"', "<a\x0b", "<p",
        "<p/", "<p>", "<p>a", '<p class="', "<p class=thumb>", "<br", "<br/>", "<b>", "<b x>", "<x>", "<h1>", "<h2>a",
        "<table", "<table>", "<nav></b>", "<table><b></i>", "<table><b></b>", "<ul>", "<li>", "<svg>", "<pre><b>",
        "<script>", "<script></scrip", "<style>", "<title>", "<title>a</title>", "<textarea>", "<xmp>", "</script",
        "&", "&a", "&#", "&#1", "&#0", "&#x", "&#xf", "&ampx", "&lt;", '"', "'", "-->", "--!>", "é<",
    ),
    ("<a ", "b='c' ", ""), ("<a ", "b", ""), ("<script>", "</", ">"), ("<table>", "<b>", "</i>" * 1_000),
]  # fmt: skip
MARKDOWN: list[Parts] = [
    *_elements(
        "[", "[[", "![", "[[a|", "[[File:", "](", "[]", "[](", "[a](", "[a](<", '[a](b "', "[a](((", "[a][", "[a]",
        "[^a]", "[a]: ", "[a]: b\n", '[a]: b "', "[a]: <", "![[]()", "[*", "*[", "**[a]", "[a\n", "[x](<b", "[![",
        "[\\", "*", "**", "_", "*a ", "*a**b", "a**b", "**a*", "_a_b", "*_", "~", "~~a", "`", "``", "` `", "`a``b",
        "a`", "\\", "<", "<a", "<a ", '<a href="', "<a\n", "<!--", "<?", "<!A", "<![CDATA[", "<b>", "<p>\n", "&",
        "&#", "&#1", "&amp;", "> ", ">", "\n>", "> - ", "- > ", "\n- ", "- a\n  ", "- \n", "*\n", "1) ", "\n1. ", "#",
        "# ", "# a\n", "\n==", "a\n=\n", "|", "|a", "\n|}", "a|b\n-|-\n", "\n|-|\n", "|a|b|\n|-|-|\n", "```\n",
        "~~~\n", "\n    a", "\t", "\n", "  \n", "---\n",
    ),
    ("[" * 50, "a](b)", ""), ("", "- ", "a"), ("", "a ", "[[" * 20),
]  # fmt: skip
WIKITEXT: list[Parts] = [
    *_elements(
        "<nowiki>", "</nowiki>", "<NoWiki>", "<!--", "<!-- -->", "<", "<ref", "<ref>", '<ref name="a">',
        "<ref></ref x>", "<math>", "</math>", "<math></math x>", "<br", "<br>", "<br> ", "<p", "<li", "<b", "<h1>",
        "<poem>", "</", "=", "==", "\n=", "\n=a=\n", "\n==a==\n", "\n===a\n", "\n=a= ", "= ", "[", "[[", "[[a|",
        "[[File:", "[[a]]", "]]", "[[[", "[[a[b]", "[[a[b]c]]", "[//", "[http://a ", "http://a", "http://.", "{{",
        "{{{", "}}", "}}}", "{{a|", "{{a}}", "{{a\n\n", "\n\n{{", "{{nowrap|", "{{convert|1|", "{{disambig ",
        "{{ disambig", "{|", "\n{|", "\n|}", "\n{|\n=a", "\n{|\n\n{{", "\n{|\n|}", "\n|-", "\n|", "\n!", "\n {|", "|",
        "{{\n{|", "''", "'''", "'", "__", "__A", "__TOC__", "&", "&#", "&#1", "&amp;", "~~~~", "----", "\n*", "\n:",
        "*#", "\n;a:b", "(", "()", "( ", "(,", " (", "( - ", "[ ", "[ ]", ",", ", ", " ,", ";", ",.", " .", ". ", "!",
        '" "', '"', " ", "\xa0", "\t", "\n", "\n\n", "\n ", "a\n", "a", "\u200b", " (equivalent to", " (equal to $ ",
    ),
    ("(", " ", "x"), ("(", ",", "x"), ("(a", " ,", "x"), ("{{nowrap|", " ", "!=x}}"), ("{{nowrap|", "|a=", "}}"),
    ("{{", "{{nowrap|", "x" + "}}" * 45), ("#a", " ", "x"), ("{{", "disambig ", "x"), ("{{", "- ", "x"),
    ("", "<math>", "</math>"), ("", "<ref>", "</ref>"), ("", "\n{|", "}}" * 1_000), ("", "{{", "\n|}" * 1_000),
]  # fmt: skip
TEXT: list[Parts] = [
    *_elements(
        "a\n", "\n", " \n", "\n a", "= ", "=", "\n=", "= a =\n", "== a ==\n", "\n== a\n", "- a\n", "1. ", "* ",
        "a: b\n", "> a\n", ". ", ".", "a. ", "A. ", "? ", "! ", "... ", ".. A", "U.S. ", "a.b. ", '. "', '." ', ".) ",
        ". (", ". (A", '.".  ', '?" A', "No. 1", "Mr. ", "A-B. ", "%. ", "。", "中. ", "¿", ".¿A", ". «", "» ", "'",
        '"', "(", "[", "  ", ".  ", "'.", ".\n ", "<!-", "<!", "-", "--", "a-", "a'", "a@", "a's ", "n't ", "cannot ",
        "http://", "www.", "1,", "1,000 ", "a/b", "1:2", "_", "&", "a", "y", "中", "—", "é", "\xad", "<D>", "<D",
        "<TOPICS>", "<TEXT", "<TITLE>", "<BODY>", "</BODY>", 'a="b" ', "a=", "&#1", "reuter ", "blah ", "****",
        "\n (a) ", "SEC. 1. A", "writes:\n", "--\n",
    ),
    ("x.'", " ", "y"), ("x. '", " ", "y"), ("x", ". ", "'"), ("a", "-", "b"), ("a", "'", "b"), ("", "a", "'s"),
]  # fmt: skip


def _lines(text: str) -> list[str]:
    """Return the lines of a text as they can stand in XML."""
    return [escape(re.sub("[^\t\n -\ud7ff\ue000-\ufffd]", " ", line)) for line in text.split("\n")]


def _word(text: str) -> bytes:
    name = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = "".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in _lines(text))
    return made({"word/document.xml": f"<w:document {name}><w:body>{body}</w:body></w:document>"})


def _pdf(text: str) -> bytes:
    rows = re.sub(r"[^ -~\n]|[()\\]", " ", text).split("\n")
    return pdf_of([[(10, 72 + 150 * (place % 3), 800 - 12 * (place // 3), row) for place, row in enumerate(rows)]])


DOCUMENTS: dict[str, Callable[[str], bytes]] = {
    "word": _word,
    "open-document": lambda text: odt_of("".join(f"<text:p>{line}</text:p>" for line in _lines(text))),
    "pdf": _pdf,
}
"""Reader of documents → a file with a text."""

SYNTAX: dict[str, list[Parts]] = {"html": HTML, "markdown": MARKDOWN, "mediawiki-dump": WIKITEXT}
"""Elements of the readers that have markup of their own; the others have those of ``TEXT``."""


def repeated(parts: Parts, size: int) -> str:
    """Return a text of ``size`` characters, apart from the prefix and the suffix."""
    prefix, element, suffix = parts
    return prefix + (element * (size // len(element) + 1))[:size] + suffix


def file_of(reader: str, text: str) -> bytes:
    """Return the content of a file for a reader whose only running text is ``text``."""
    sections = [{"title": "", "level": 1, "paragraphs": [text]}]
    story = f"<TOPICS><D>grain</D></TOPICS><TEXT><TITLE>T</TITLE><BODY>{text}</BODY></TEXT></REUTERS>"
    page = f"<page><title>A</title><ns>0</ns><revision><text>{escape(text)}</text></revision></page>"
    if reader in DOCUMENTS:
        return DOCUMENTS[reader](text)
    wrapped = {
        "mediawiki-dump": f"<mediawiki>{page}</mediawiki>",
        "reuters-sgml": f'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="1">{story}',
        "newsgroups": json.dumps({"id": "x/7", "group": "sci.med", "split": "train", "text": f"From: a\n\n{text}"}),
        "summaries": json.dumps({"id": "a", "text": text, "summary": "x"}),
        "jsonl": json.dumps({"title": "A", "sections": sections}),
        "scb-csv": "Article Title,Sentence,SectionTitle\nA,{},S\n".format('"' + text.replace('"', '""') + '"'),
    }
    return wrapped.get(reader, text).encode()
