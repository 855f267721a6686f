"""Rows of JSON documents, in particular the messages of chats: Telegram, Slack, Discord, Matrix, Facebook, Instagram.

Whatever a program calls who writes, when and what, it gets the same columns; what programs write is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from themescope.core.columns import as_text, plain_value
from themescope.core.errors import ReadError
from themescope.core.readers.documents.turns import PROGRAM, SPEAKER, TIME
from themescope.core.text.cleaning import one_line
from themescope.core.types import ReadAccount

_SUBTYPES = ("_join", "_leave", "_topic", "_purpose", "_name", "_archive", "_unarchive", "bot_add", "bot_remove")
"""Ends of the subtypes of messages that Slack writes itself."""
_WRITTEN = ("Default", "Reply", "ThreadStarterMessage", "ChatInputCommand", "0", "19", "20", "21", "23", "None")
"""Types of the messages of Discord that people write."""
_MARKED = re.compile(r"<([@#!]?)([^<>|\s][^<>|]*)(?:\|([^<>]*))?>")
"""A mention, a channel or a link of Slack, with its label."""
_COLUMNS = {
    "text": ("text", "content"),
    SPEAKER: ("from", "actor", "user", "username"),
    TIME: ("date", "timestamp"),
    "reply to": ("reply_to_message_id", "thread_ts"),
}
_OF_META = frozenset({"sender_name", "timestamp_ms", "content", "type"})
_WORDS = frozenset({"tokens", "words"})
_TURNS = (("role", "content"), ("from", "value"))
"""Keys of who says something in the chats of data sets, and what."""


def rows_of(path: Path, value: Any, account: ReadAccount) -> tuple[list[tuple[int, Any]], bool]:
    """Return the numbered rows of a JSON document, and whether they are the messages of a chat.

    They are those of a list, also of the only list in an object, or else the document itself. Raises
    :class:`ReadError` for an object with several lists.
    """
    if isinstance(value, dict):
        value = _rows_in(path, value, account)
    elif not isinstance(value, list):
        value = [value]
    inner = [[*item.items()] if isinstance(item, dict) and len(item) == 1 else [("", None)] for item in value]
    if value and all(pair[0][0] == inner[0][0][0] and isinstance(pair[0][1], dict) for pair in inner):
        value = [pair[0][1] for pair in inner]  # each in an object of its own, such as {"tweet": {…}}
    rows = list(enumerate(value, 1))
    messages = _messages(rows, account)
    return messages or rows, bool(messages)


def _rows_in(path: Path, value: dict[str, Any], account: ReadAccount) -> list[Any]:
    def skip_all_but(name: str, reason: str) -> None:
        for key in value.keys() - {name}:
            account.skip(reason, key, as_text(plain_value(value[key])))

    if isinstance(value.get("chats"), dict):  # all chats of an account of Telegram
        skip_all_but("chats", "part of an account beside its chats")
        chats = (chat for chat in value["chats"].get("list", ()) if isinstance(chat, dict))
        return [{**each, "chat": chat.get("name")} for chat in chats for each in chat.get("messages", ())]
    lists = {key: part for key, part in value.items() if isinstance(part, list) and part}
    sent = lists.get("messages", [])
    if sent and all(isinstance(one, dict) and isinstance(one.get("timestamp_ms"), int) for one in sent):
        skip_all_but("messages", "part of a chat beside its messages")
        lists = {"messages": _messages_of_meta(sent, account)}
    if len(lists) > 1:
        problem = f"this JSON object has several lists that may be the rows ({', '.join(list(lists)[:5])})."
        raise ReadError(path, problem, advice="Save the rows as one list, or as JSON lines: one object per line.")
    for name in lists:  # at most one
        account.notes["list"] = name
    return next(iter(lists.values()), [value])


def fields_of(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield keys and values; of objects each key, of the messages of a chat each role, and words as a text."""
    for name, value in row.items():
        turns = value if isinstance(value, list) and all(isinstance(turn, dict) for turn in value) else []
        keys = next((two for two in _TURNS if all(isinstance(turn.get(key), str) for turn in turns for key in two)), ())
        if isinstance(value, dict) and not any(isinstance(part, list | dict) for part in value.values()):
            yield from ((f"{name}.{key}", part) for key, part in value.items())
        elif turns and keys:
            said = [(turn[keys[0]], turn[keys[1]]) for turn in turns]
            for role in dict.fromkeys(role for role, _ in said):
                yield f"{name}.{role}", "\n\n".join(text for by, text in said if by == role)
        elif isinstance(value, list) and name.lower() in _WORDS and all(isinstance(word, str) for word in value):
            yield name, one_line("\n".join(value))
        else:
            yield name, value


def joined_pieces(value: Any) -> str | None:
    """Return the text of a list of texts, links and marks, as Telegram has it; None for other values."""
    if not isinstance(value, list) or not any(isinstance(piece, dict) for piece in value):
        return None
    pieces: list[Any] = [piece.get("text") if isinstance(piece, dict) and "type" in piece else piece for piece in value]
    return "".join(pieces) if all(isinstance(piece, str) for piece in pieces) else None


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _messages(rows: Sequence[tuple[int, Any]], account: ReadAccount) -> list[tuple[int, dict[str, Any]]]:
    """Return the messages of a chat of Telegram, Slack, Discord or Matrix with the same columns; none of others."""
    found = []
    for number, row in rows:
        rest: dict[str, Any] = dict(row) if isinstance(row, dict) else {}
        if isinstance(body := rest.get("content"), dict) and {"sender", "origin_server_ts"} <= rest.keys():  # Matrix
            kind = "message" if rest.pop("type", "") == "m.room.message" else "service"
            when = _moment(rest.pop("origin_server_ts") / 1000)
            rest |= {"type": kind, "from": rest.pop("sender"), "date": when, "content": body.get("body", "")}
        author, ts = rest.get("author"), str(rest.pop("ts", ""))
        known = isinstance(author, dict) and {"content", "timestamp"} <= rest.keys()
        if not known and not (rest.get("type") in ("message", "service") and (ts or "date" in rest)):
            return []
        message = {
            column: next((rest.pop(key) for key in keys if rest.get(key)), None) for column, keys in _COLUMNS.items()
        }
        profile: Any = author if known else rest.get("user_profile") or {}
        names = (profile.get(key) for key in ("real_name", "nickname", "name"))
        message[SPEAKER] = next(filter(None, names), message[SPEAKER])
        if ts:
            with suppress(ValueError, OverflowError, OSError):
                message[TIME] = _moment(float(ts))
            plain = _MARKED.sub(lambda mark: f"{mark[1].strip('!')}{mark[3] or mark[2]}", str(message["text"] or ""))
            message |= {"text": plain, "reply to": message["reply to"] if message["reply to"] != ts else None}
        text = joined_pieces(message["text"]) or message["text"] or ""
        if (joined_pieces(rest.get("text_entities")) or "") == text:
            rest.pop("text_entities", None)
        by_program = known and str(rest.get("type", 0)) not in _WRITTEN
        if by_program or rest.get("type") == "service" or str(rest.get("subtype")).endswith(_SUBTYPES):
            said = " ".join(str(value) for value in [*message.values(), *rest.values()] if value)
            account.skip(PROGRAM, f"row {number:,}", said)
        else:
            found.append((number, message | rest))
    return found


def _messages_of_meta(messages: Sequence[Any], account: ReadAccount) -> list[dict[str, Any]]:
    """Return the messages of a chat of Facebook or Instagram, first to last, with the keys of Telegram.

    Meta exports each byte of UTF-8 as a letter, so that “ä” is “Ã¤”.
    """

    def plain(text: Any) -> str:
        try:
            read = str(text or "").encode("latin-1").decode("utf-8")
        except UnicodeError:
            return str(text)
        if read != (text or ""):
            account.change("text whose letters were bytes of UTF-8")
        return read

    return [
        {
            "type": "message",
            "from": plain(one.get("sender_name")),
            "date": _moment(one["timestamp_ms"] / 1000),
            "text": plain(one.get("content")),
            **{key: value for key, value in one.items() if key not in _OF_META},
        }
        for one in sorted(messages, key=lambda one: one["timestamp_ms"])
    ]
