"""Codebook entries on pages: to read, to edit, and the differences between two states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape

import streamlit as st

from themescope.core.labelling.code_sets import has_code
from themescope.core.labelling.codebook.entries import (
    EXAMPLE_LIMIT,
    SENTENCES,
    TEXT_LIMIT,
    TEXTS,
    Code,
    CodebookEntry,
    Difference,
    Piece,
)
from themescope.core.labelling.partition import UNASSIGNED, Cluster, Partition
from themescope.webapp.shared.components import ASSETS
from themescope.webapp.shared.figures import Tones
from themescope.webapp.shared.text import count, shorten

STYLE = ASSETS / "codebook.css"
_SHAPES = {"circle": "●", "square": "■", "diamond": "◆", "triangle-up": "▲"}
_ORDER = ("definition", "include", "exclude", "examples", "counter_examples", "notes")
_HELP = {
    "definition": "What the cluster is about, in one or two sentences.",
    "include": "What belongs into it: one rule on each line.",
    "exclude": "What does not, although one might think so, and where it belongs.",
    "notes": "Open questions, decisions and their reasons.",
}
_OPTIONS, _LONGEST = 400, 160
"""Maximum number of sentences that a field offers, and of characters of each."""


def title_html(cluster: Cluster, tones: Tones, sentences: int) -> str:
    """Return the heading of a code: its colour and shape, its name, and its number of sentences."""
    shape = _SHAPES[tones.symbol(cluster.colour)]
    mark = f"<span style='color:{tones.colour(cluster.colour)}' aria-hidden='true'>{shape}</span>"
    size = f"<span class='size'>{count(sentences, 'sentence')}</span>"
    return f"<h3 class='code-title'>{mark} {escape(cluster.name)} {size}</h3>"


def entry_html(code: Code, partition: Partition, texts: Mapping[int, str]) -> str:
    """Return the fields of a code; empty ones are left out. An example that is elsewhere now says where."""
    rows = {name: escape(text) for name in TEXTS if (text := getattr(code.entry, name))}
    for name in SENTENCES:
        own = code.cluster.number if name == "examples" else None
        items = [_example_html(id, own, partition, texts) for id in getattr(code.entry, name)]
        rows |= {name: f"<ul>{''.join(items)}</ul>"} if items else {}
    if not rows:
        return "<p class='code-empty'>No codebook entry yet.</p>"
    titles = {**TEXTS, **SENTENCES}
    return _fields_html([(titles[name], body, name) for name in _ORDER if (body := rows.get(name))])


def _fields_html(rows: Iterable[tuple[str, str, str]]) -> str:
    parts = [f"<div class='{kind}'><dt>{title}</dt><dd>{body}</dd></div>" for title, body, kind in rows]
    return f"<dl class='code-entry'>{''.join(parts)}</dl>"


def _example_html(id: int, own: int | None, partition: Partition, texts: Mapping[int, str]) -> str:
    number = int(partition.numbers[partition.rows([id])[0]])
    place = "now unassigned" if number == UNASSIGNED else f"now in {escape(partition.clusters[number].name)}"
    return f"<li>{escape(texts.get(id, ''))}{'' if own in (None, number) else f' <em>({place})</em>'}</li>"


def editor(
    key: str,
    code: Code,
    partition: Partition,
    texts: Callable[[Iterable[int]], Mapping[int, str]],
    save: Callable[[CodebookEntry], bool],
) -> bool:
    """Draw the form of a codebook entry; return whether ``save`` has just saved it.

    If the stored entry has changed since the form was opened, nothing is saved: both are shown, and the button then
    replaces the stored one. What ``save`` refuses stays in the form.
    """
    held = f"{key}_{code.cluster.number}"
    base, draft = st.session_state.setdefault(held, (code.entry, code.entry))
    if draft != base:
        st.warning("This entry was not saved. The stored one:", icon=":material/merge:")
        st.html(entry_html(code, partition, texts(code.entry.examples + code.entry.counter_examples)))
        st.caption("Yours, which replaces it when you save:")
    edited = _form(key, Code(code.cluster, draft), partition, texts)
    if edited is None:
        return False
    if code.entry == base and save(edited):
        close_editor(key, code.cluster.number)
        return True
    st.session_state[held] = (code.entry, edited)
    st.rerun()


def close_editor(key: str, number: int) -> None:
    """Forget what was typed into the form of a cluster; for callbacks."""
    st.session_state.pop(f"{key}_{number}", None)


def _form(
    key: str, code: Code, partition: Partition, texts: Callable[[Iterable[int]], Mapping[int, str]]
) -> CodebookEntry | None:
    number, entry = code.cluster.number, code.entry
    # The fields begin anew when the stored entry has changed.
    key = f"{key}_{number}_{hash(entry)}"
    own = has_code(partition, number)
    offered = {
        "examples": list(dict.fromkeys([*entry.examples, *partition.ids[own][:_OPTIONS].tolist()])),
        "counter_examples": list(dict.fromkeys([*entry.counter_examples, *partition.ids[~own][:_OPTIONS].tolist()])),
    }
    shown = texts([id for ids in offered.values() for id in ids])
    with st.form(key, border=False):
        typed = {
            name: st.text_area(
                title,
                value=getattr(entry, name),
                key=f"{key}_{name}",
                max_chars=TEXT_LIMIT,
                height=90,
                placeholder=_HELP[name],
            )
            or ""
            for name, title in TEXTS.items()
        }
        chosen = {
            name: st.multiselect(
                SENTENCES[name],
                ids,
                default=getattr(entry, name),
                format_func=lambda id: shorten(shown.get(id, ""), _LONGEST),
                key=f"{key}_{name}",
                max_selections=EXAMPLE_LIMIT,
                placeholder="Choose sentences",
            )
            for name, ids in offered.items()
        }
        if not st.form_submit_button("Save entry", type="primary", icon=":material/save:"):
            return None
    return CodebookEntry(
        **typed, examples=tuple(chosen["examples"]), counter_examples=tuple(chosen["counter_examples"])
    )


# --- differences ------------------------------------------------------------------------------------------------------


def difference_html(found: Difference, texts: Mapping[int, str]) -> str:
    """Return what differs in one code: removed words are struck through, added ones underlined."""
    rows = [
        (title, "".join(_piece_html(piece) for piece in pieces), "definition") for title, pieces in found.texts.items()
    ]
    for title in SENTENCES.values():
        items = [f"<li><del>{escape(texts.get(id, ''))}</del></li>" for id in found.gone.get(title, ())]
        items += [f"<li><ins>{escape(texts.get(id, ''))}</ins></li>" for id in found.added.get(title, ())]
        rows += [(title, f"<ul>{''.join(items)}</ul>", "definition")] if items else []
    code = found.new or found.old
    assert code is not None
    headline = {"added": "New: ", "removed": "Removed: "}.get(found.kind, "") + code.cluster.name
    if found.kind == "renamed" and found.old is not None:
        headline = f"{found.old.cluster.name} is now {code.cluster.name}"
    return f"<p class='code-kind'>{escape(headline)}</p>{_fields_html(rows) if rows else ''}"


def _piece_html(piece: Piece) -> str:
    """Return a piece; spaces before its words are not marked."""
    if not piece.state:
        return escape(piece.text)
    tag, words = {"old": "del", "new": "ins"}[piece.state], piece.text.lstrip()
    return f"{escape(piece.text[: len(piece.text) - len(words)])}<{tag}>{escape(words)}</{tag}>"
