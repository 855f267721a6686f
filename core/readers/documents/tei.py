"""TEI documents, such as the speeches of ParlaMint: paragraphs and utterances with speakers and parties as columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from themescope.core.errors import ReadError
from themescope.core.readers.blocks import Block, Document, DocumentConfig, DocumentReader, Kind
from themescope.core.readers.documents.packages import attribute, local, parsed_xml, whole_bytes
from themescope.core.readers.documents.turns import SPEAKER, TIME
from themescope.core.readers.streams import FileHead
from themescope.core.types import Report, Value

_ROOT = re.compile(r"<(?:\w+:)?(?:TEI|teiCorpus|TEI\.2)[\s>]")
_PARAGRAPHS = {
    **dict.fromkeys(("p", "ab", "seg", "lg", "l", "quote"), Kind.PARAGRAPH),
    "item": Kind.LIST,
    "cell": Kind.TABLE,
    "head": Kind.HEADING,
}
_LISTED = {
    **dict.fromkeys(("note", "kinesic", "vocal", "incident", "gap", "desc", "bibl"), ""),
    "figDesc": "description",
    "teiHeader": "header of the file",
    "standOff": "annotation",
    "fw": "running head",
    "stage": "stage direction",
    "del": "deleted text",
    **dict.fromkeys(("sic", "orig", "abbr"), "other reading"),
}
"""Elements that are no running text → the kind under which they are listed; "": their name."""
_PARTY = re.compile("party|group", re.IGNORECASE)

SAMPLE = b"""\
<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>Ada</title></titleStmt></fileDesc>
</teiHeader><text><body><div><head>Buses</head><note>The sitting began.</note>
<u who="#Bea" ana="#regular"><seg>It was founded in 1200.</seg><seg>Then it grew.</seg></u></div></body></text></TEI>
"""


class Tei(DocumentReader[DocumentConfig]):
    """Reader of a TEI file, or of a corpus of texts in one, as an article for each text."""

    def documents(self, path: Path, report: Report) -> Iterator[Document]:
        """Yield the texts. Raises :class:`ReadError` for the root of a corpus whose texts are in other files."""
        root = parsed_xml(path, whole_bytes(path, report))
        texts = [each for each in root.iter() if local(each.tag).startswith("TEI") and "text" in _children(each)]
        if not texts:
            advice = "Choose the files with the texts, or all files packed as one ZIP archive."
            raise ReadError(path, "this TEI file has no text of its own: its texts are in other files.", advice=advice)
        if texts[0] is not root:
            self.account.skip("header of the corpus", "", " ".join(_joined(e) for e in root if e not in texts))
        people = _people(root)
        for text in texts:
            title = next((each for each in text.iter() if local(each.tag) == "title"), None)
            days = (attribute(each, "when") for each in text.iter() if local(each.tag) == "date")
            values: dict[str, Value] = {"date": day} if (day := next(filter(None, days), "")) else {}
            try:
                blocks = list(_blocks(text, people, {}, title, 0))
            except RecursionError:
                raise ReadError(path, "its elements are nested too deeply.", advice="Correct it.") from None
            yield Document(_joined(title), blocks, values)


def _children(element: Any) -> set[str]:
    return {local(child.tag) for child in element}


def _joined(element: Any, without: Any = None) -> str:
    """Return all text of an element but that of another one, "" for None."""
    if element is None:
        return ""
    inner = [_joined(child, without) + " " + (child.tail or "") for child in element]
    return "" if element is without else " ".join(" ".join([element.text or "", *inner]).split())


def _people(root: Any) -> dict[str, dict[str, Value]]:
    """Return id of a person → columns of what he or she says."""
    known = (each for each in root.iter() if local(each.tag) in ("org", "person"))
    named = {id: each for each in known if (id := attribute(each, "id"))}

    def name_of(id: str) -> str:
        name = next((each for each in named[id].iter() if local(each.tag) in ("orgName", "persName")), None)
        parts = [_joined(e) for tag in ("forename", "nameLink", "surname") for e in name or () if local(e.tag) == tag]
        return " ".join(parts) or _joined(name) or id

    found: dict[str, dict[str, Value]] = {}
    for id, each in named.items():
        member = (attribute(e, "ref") for e in each.iter() if local(e.tag) == "affiliation")
        orgs = [ref for refs in member for ref in refs.replace("#", "").split() if ref in named]
        parties = [name_of(org) for org in orgs if _PARTY.search(attribute(named[org], "role"))]
        found[id] = {SPEAKER: name_of(id), "party": "; ".join(dict.fromkeys(parties))}
    return found


def _blocks(
    element: Any, people: Mapping[str, Mapping[str, Value]], values: Mapping[str, Value], title: Any, level: int
) -> Iterator[Block]:
    """Yield the blocks of an element; ``values`` are those of the speech around it, ``title`` is not one of them."""
    name = local(element.tag)
    if name in ("u", "sp"):
        who = attribute(element, "who").replace("#", "").split()
        of = [people.get(one, {SPEAKER: one}) for one in who]
        known = {key: "; ".join(str(one[key]) for one in of if key in one) for key in (SPEAKER, "party")}
        for spoken in (child for child in element if local(child.tag) == "speaker"):
            if who and who[0] in people:
                yield Block("name of a speaker", _joined(spoken))
            else:
                known[SPEAKER] = _joined(spoken)
        values = {**known, "role": attribute(element, "ana").replace("#", ""), TIME: attribute(element, "start")}
    if name in _LISTED:
        yield Block(_LISTED[name] or name, _joined(element, title))
    elif name in _PARAGRAPHS or (name == "u" and not _PARAGRAPHS.keys() & _children(element)):
        left_out: list[Block] = []
        text = _text(element, left_out)
        yield Block(_PARAGRAPHS.get(name, Kind.PARAGRAPH), text, level if name == "head" else 0, values=values)
        yield from left_out
    elif name != "speaker":
        yield Block(Kind.PARAGRAPH, element.text or "", values=values)
        for child in element:
            yield from _blocks(child, people, values, title, level + name.startswith("div"))
            yield Block(Kind.PARAGRAPH, child.tail or "", values=values)


def _text(element: Any, left_out: list[Block]) -> str:
    """Return the text of a paragraph; what in it is none is added to ``left_out``."""
    pieces = [element.text or ""]
    for child in element:
        name, tail = local(child.tag), child.tail or ""
        if name in _LISTED:
            left_out.append(Block(_LISTED[name] or name, _joined(child)))
        else:
            pieces.append(_text(child, left_out) + (" " if name in ("lb", "l", "p", "item") else ""))
        glued = name in ("w", "pc") and attribute(child, "join") in ("right", "both") and not tail.strip()
        pieces.append("" if glued else tail)
    return "".join(pieces)


def recognises(head: FileHead) -> bool:
    """Return whether a file is XML with the root of TEI."""
    return head.text.startswith("<") and bool(_ROOT.search(head.text[:4_000]))
