"""Tiny files of every known format, built in the tests."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from xml.sax.saxutils import escape

from themescope.core.readers import REGISTRY, formats
from themescope.core.readers.documents.packages import made
from themescope.core.types import SILENT

PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def page(title, text, ns="0", extra=""):
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return (
        f"<page><title>{title}</title><ns>{ns}</ns><id>1</id>{extra}<revision><id>77</id><model>wikitext</model>"
        f'<text xml:space="preserve">{text}</text></revision></page>\n'
    )


def dump(*pages):
    site = (
        "<siteinfo><sitename>Wikipedia</sitename><dbname>testwiki</dbname><base>https://en.wikipedia.org/wiki/Main_Page"
        '</base><namespaces><namespace key="6">Bildchen</namespace><namespace key="14">Sorte</namespace>'
        "</namespaces></siteinfo>\n"
    )
    begin = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">\n'
    return f"{begin}{site}{''.join(pages)}</mediawiki>\n".encode()


HISTORY = "== History ==\n=== Early days ===\nIt was founded in 1200.\n\nThen it grew."
WIKITEXT = f"'''Ada''' is a [[town]]. It is old.\n\n{HISTORY}"
SCB = (
    "Article Title,Sentence,SectionTitle,Article Link\n"
    "Ada,It was founded in 1200 .,History,https://x.org/Ada\n"
    'Ada,"Then, it grew .",History,https://x.org/Ada\n'
    "Bea,She was born .,Life,https://x.org/Bea\n"
)


def story(number, topics, text, split="TRAIN", flag="YES"):
    listed = "".join(f"<D>{topic}</D>" for topic in topics)
    return (
        f'<REUTERS TOPICS="{flag}" LEWISSPLIT="{split}" CGISPLIT="TRAINING-SET" OLDID="1" NEWID="{number}">\n'
        f"<DATE>26-FEB-1987</DATE>\n<TOPICS>{listed}</TOPICS>\n<PLACES><D>usa</D></PLACES>\n<UNKNOWN>\n"
        f"&#5;&#5;C T\n</UNKNOWN>\n<TEXT>&#2;\n{text}</TEXT>\n</REUTERS>\n"
    )


def reuters(*stories):
    return ('<!DOCTYPE lewis SYSTEM "lewis.dtd">\n' + "".join(stories)).encode("latin-1")


STORY = (
    "<TITLE>Ada &lt;ADA> rises</TITLE>\n<DATELINE>    ADA, Feb 26 - </DATELINE><BODY>It was founded in 1200\n"
    "and is old.\n    Then it grew &#22;by 5 pct.\n Reuter\n&#3;</BODY>"
)
MESSAGE = (
    "From: bea@x.org (Bea)\nSubject: Re: Ada\nLines: 7\n\nIn article <1@x> Cid writes:\n> Old?\n\n"
    "It was founded\nin 1200.\n\nThen it grew.\n\n--\nBea, Ada\n"
)


def messages(*records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def message(number, group="sci.space", split="train", text=MESSAGE):
    return {"id": f"{group}/{number}", "group": group, "split": split, "text": text}


SUMMARIES = [
    {"id": "Ada", "title": "", "sections": [{"title": "1 Start", "sentences": ["It was founded.", "Then it grew."]}],
     "abstract": ["Ada grew."], "summary": ["It grew.", "Much."]},
    {"id": "b1", "title": "Bea", "text": "SEC. 1. A NAME.\n\n    It is\n  Bea.\n   (1) One.\n",
     "summaries": ["B", "C"]},
]  # fmt: skip


def write(folder, name, data, packing=""):
    path = folder / (name + packing)
    path.write_bytes(PACKERS[packing](data))
    return path


def sample(folder, reader, packing=""):
    return write(folder, f"ada.{REGISTRY.get(reader).suffixes[-1]}", formats.sample(reader), packing)


def texts(article):
    """Section title → paragraphs."""
    return {section.title: [p.text for p in section.paragraphs] for section in article.sections}


def workbook(*rows):
    import openpyxl  # the library is also tested where it is not installed

    book, content = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(content)
    return content.getvalue()


def parquet(rows):
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), content)
    return content.getvalue()


def zipped(members, packing=zipfile.ZIP_DEFLATED):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", packing) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return content.getvalue()


WORD = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)


def run(text):
    return f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'


def par(text, style="", properties=""):
    style = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{style}{properties}</w:pPr>{run(text) if text else ''}</w:p>"


def docx(body, **parts):
    named = {"T": "Title", "H1": "heading 1", "H2": "heading 2", "Toc": "toc 1"}
    styles = "".join(f'<w:style w:styleId="{id}"><w:name w:val="{name}"/></w:style>' for id, name in named.items())
    styles += '<w:style w:styleId="Mine"><w:name w:val="mine"/><w:basedOn w:val="H2"/></w:style>'
    parts |= {"document": f"<w:body>{body}</w:body>", "styles": styles}
    return made({f"word/{name}.xml": f"<w:x {WORD}>{content}</w:x>" for name, content in parts.items()})


def archive(files, form=tarfile.DEFAULT_FORMAT):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=form) as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return data.getvalue()


def read(path, **options):
    reader = REGISTRY.build(formats.detect(path), options)
    return list(reader.read(path, SILENT)), reader.account


def read_as(id, path, **options):
    reader = REGISTRY.build(id, options)
    return list(reader.read(path, SILENT)), reader.skipped


def listed(account, reason):
    return [entry.text for entry in account.entries if entry.reason == reason]


def turns(article):
    """Return (speaker, time, text) of every paragraph."""
    said = [p.text for s in article.sections for p in s.paragraphs]
    columns = [article.sentence_values.get(name, [None] * len(said)) for name in ("speaker", "time")]
    return list(zip(*columns, said, strict=True))
