import json

import pytest

from tests.core.readers.samples import read, turns, write
from themescope.core.errors import ReadError
from themescope.core.readers.documents.packages import made
from themescope.core.readers.formats import detect
from themescope.core.text.splitting import SentenceSplitter, split_article

TALKS = {
    "[10:01] Ada: bus late\n[10:02] Bea: i walk\n": [("Ada", "10:01", "bus late"), ("Bea", "10:02", "i walk")],
    "A  0:03\nSo.\n\nB  0:07\nYes.\n\nTranscribed by https://otter.ai\n": [("A", "0:03", "So."), ("B", "0:07", "Yes.")],
    "2024-01-01 09:00:00,123 Ada: late\n2024-01-01 09:00:01,456 Bea: yes\n": [
        ("Ada", "2024-01-01 09:00:00,123", "late"),
        ("Bea", "2024-01-01 09:00:01,456", "yes"),
    ],
    "[Ada Lee] 09:12:01\nOh.\n\n[B] 09:12:20\nYes.\n": [("Ada Lee", "09:12:01", "Oh."), ("B", "09:12:20", "Yes.")],
    "Ada Lee\n00:03\nLate.\n\nBea\n00:21\nYes.\n": [("Ada Lee", "00:03", "Late."), ("Bea", "00:21", "Yes.")],
    "--------------- 2024년 3월 1일 금요일 ---------------\n[홍길동] [오후 3:04] 늦어요.\n[김철수] [오후 3:05] 네.\n"
    "--------------- 2024년 3월 2일 토요일 ---------------\n[홍길동] [오후 3:06] 예.\n": [
        ("홍길동", "오후 3:04", "늦어요."),
        ("김철수", "오후 3:05", "네."),
        ("홍길동", "오후 3:06", "예."),
    ],
    "14.03.24, 09:13 - Ada: Am\n14.03.2024\num zehn?\n14.03.24, 09:14 - Bea: Ja.\n": [
        ("Ada", "14.03.24, 09:13", "Am"),
        ("Ada", "14.03.24, 09:13", "14.03.2024"),
        ("Ada", "14.03.24, 09:13", "um zehn?"),
        ("Bea", "14.03.24, 09:14", "Ja."),
    ],
    "Präsidentin Bas:\nWir beginnen.\n\nDr. Ada Lee (SPD):\nZu spät.\n\nPräsidentin Bas:\nDanke.\n": [
        ("Präsidentin Bas", None, "Wir beginnen."),
        ("Dr. Ada Lee (SPD)", None, "Zu spät."),
        ("Präsidentin Bas", None, "Danke."),
    ],
    "<Ada> the bus\n<Bea> is late\n": [("Ada", None, "the bus"), ("Bea", None, "is late")],
    "A: Why?\nB: So. Note: this.\nA: I see.\nB: Yes.\n": [
        ("A", None, "Why?"),
        ("B", None, "So. Note: this."),
        ("A", None, "I see."),
        ("B", None, "Yes."),
    ],
    "And you? [00:01:15] Bea: I walk. [00:01:20] Ada: Fine.\n": [
        (None, None, "And you?"),
        ("Bea", "00:01:15", "I walk."),
        ("Ada", "00:01:20", "Fine."),
    ],
    "09:12:01\t From  Ada Lee : Late.\n09:12:20\t From  Bea  to  Everyone : Yes.\n09:13:00\t From  Ada Lee : So.\n": [
        ("Ada Lee", "09:12:01", "Late."),
        ("Bea", "09:12:20", "Yes."),
        ("Ada Lee", "09:13:00", "So."),
    ],
    "--- Log opened Tue Mar 14 2023\n09:12 -!- ada [~a@b.org] has joined #bus\n09:13 < ada> late\n09:14 <@bea> yes\n"
    "09:15 * cem waves\n09:16 * ada sets mode: +o cem\n09:17 -!- bea [~b@b.org] has quit [Ping]\n": [
        ("ada", "09:13", "late"),
        ("bea", "09:14", "yes"),
        ("cem", "09:15", "waves"),
    ],
    "I: Why? #00:00:05-3#\nB: So. #00:00:07-1# Late. #00:00:09-1#\nI: I see. #00:00:12-0#\n": [
        ("I", None, "Why?"),
        ("B", None, "So. Late."),
        ("I", None, "I see."),
    ],
    "Interview 3\nWith Ada and Bea\n" + "Ada: Why?\nBea: So.\n" * 6: [("Ada", None, "Why?"), ("Bea", None, "So.")] * 6,
    "[00:01] Ada: It was late today and we all had to walk\nall the way. [00:09]\n[00:12] Bea: Yes.\n": [
        ("Ada", "00:01", "It was late today and we all had to walk all the way."),
        ("Bea", "00:12", "Yes."),
    ],
}


@pytest.mark.parametrize(("text", "expected"), TALKS.items())
def test_speakers_and_times_of_a_transcript_are_columns(text, expected, tmp_path):
    path = write(tmp_path, "talk.txt", text.encode())
    assert detect(path) == "transcript"
    (article,), _ = read(path)
    assert turns(article) == expected


PHONE, LONG = "+49 170 1234567", "Ada changed the group description"
SENDERS = {
    # text: speaker of each turn, None where it cannot be told
    f"1/5/24, 3:04\u202fPM - Ada: late\n1/5/24, 3:05\u202fPM - {PHONE}: full\n1/6/24, 9:02\u202fAM - {LONG}\n"
    "1/6/24, 9:04\u202fAM - Ada: POLL:\nOPTION: seats\nOPTION: fares\n": ["Ada", PHONE, *["Ada"] * 3],
    f"\u200e[31.12.23, 22:15:31] Ada: spät\n\u200e[31.12.23, 22:16:00] ~\u202fBea: Bild\n"
    f"[31.12.23, 22:17:00] \u202a{PHONE}\u202c: Ja.\n[31.12.23, 22:18:00] \u200eAda hat „Bus: neu“ gewählt.\n"
    "[31.12.23, 22:19:00] Cem (Arbeit) 🚲!: Gut.\n": ["Ada", "~ Bea", PHONE, None, "Cem (Arbeit) 🚲!"],
    "\u200f٣١\u200f/١٢\u200f/٢٠٢٣، ١٠:١٥ م - أحمد: متأخر\n\u200f٣١\u200f/١٢\u200f/٢٠٢٣، ١٠:١٦ م - سارة: نعم\n"
    "\u200f٣١\u200f/١٢\u200f/٢٠٢٣، ١٠:١٧ م - أحمد غيّر الوصف\n": ["أحمد", "سارة"],
    "2023년 12월 31일 오후 10:15, 홍길동 : 늦어요\n2023년 12월 31일 오후 10:16, 김 : 네\n": ["홍길동", "김"],
    "2023/12/31 下午10:15 - 李雷: 晚了。\n2023/12/31 下午10:16 - 韩梅梅: 是。\n": ["李雷", "韩梅梅"],
    "31.12.2023 klo 22.15 - Ada: Bussi\n31.12.2023 klo 22.16 - Bea: Joo\n": ["Ada", "Bea"],
    "31/12/23, 10:15\u202fp.\u00a0m. - Ada: El bus\n31/12/23, 10:16\u202fp.\u00a0m. - Bea: Sí\n": ["Ada", "Bea"],
    f"Moderator: How?\nAnn O'Neil-Brown: By bus.\nP-07 (F, 34): I walk.\nModerator: And?\nDr. Smith: Seats.\n"
    f"@cem_can: Tickets.\n李雷: 晚点了。\n{PHONE}: No.\nAnn O'Neil-Brown: Yes.\n": [
        "Moderator", "Ann O'Neil-Brown", "P-07 (F, 34)", "Moderator", "Dr. Smith", "@cem_can", "李雷", PHONE,
        "Ann O'Neil-Brown",
    ],
    "采访者：你怎么上班？\n李雷：我坐公交车。\n采访者：好。\n李雷:是。\n": ["采访者", "李雷", "采访者", "李雷"],
    "A: Why?\nA bus was late.\nB: So.\nIt was full.\nB: I see.\nThe bus.\nA: I walk.\nFine.\nDr. Weber: Note this.\n"
    "It rains.\n": ["A", "A", "B", "B", "B", "B", "A", "A", None, None],
    f"Ada Lee  0:03\nHow?\n\n{PHONE}  0:07\nBy bus.\n\nP-07 (F, 34)  0:09\nWalk.\n": ["Ada Lee", PHONE, "P-07 (F, 34)"],
    "[0:01] I said this: yes.\n[0:07] Then we left.\n[0:12] It was: late.\n": [None, None, None],
    "[SPEAKER_01]: Late.\n🐻 Bea: Yes.\nLee, Ada: Full.\n[SPEAKER_01]: So.\n🐻 Bea: I see.\n[SPEAKER_01]: No.\n": [
        "SPEAKER_01", "🐻 Bea", None, "SPEAKER_01", "🐻 Bea", "SPEAKER_01",
    ],
    "22:15, 31/12/2023 - Ada: muộn\n22:16, 31/12/2023 - Bình: vâng\n": ["Ada", "Bình"],
    "I: How?\nJan van der Berg: By bus.\nI: And?\nThe reason for it: rain.\nI: So.\nB: I walk.\nI: Why?\nB: Far.\n": [
        "I", "Jan van der Berg", "I", None, "I", "B", "I", "B",
    ],
    "[3/1/24, 10:00:00] ~\u202fKen:): hi\n[3/1/24, 10:01:00] ~\u202f\"Bo\" 14:30😘: yes\n"
    "[3/1/24, 10:02:00] Ada: http://a.org: no\n": ["~ Ken:)", '~ "Bo" 14:30😘', "Ada"],
    "[3/1/24, 10:00:00] Ada: Late.\n[3/1/24, 10:01:00] Bea: \u200eimage omitted\nSee the stop.\n"
    "[3/1/24, 10:02:00] Ada: Full.\n": ["Ada", "Bea", "Ada"],
    "**Ada** [00:00:01] I walk.\n\n**Bea** [00:00:04] By bus.\n\n**Ada** [00:00:09] So.\n": ["Ada", "Bea", "Ada"],
    "[09:14] <|Ada-> hi\n[09:15] <bo> no </b>\n=== vi [~vi@x.org]  has joined #bus\n[09:16] * bo waves\n"
    "=== split: a -> b\n[09:17] <cem> yes\n[09:18] <|Ada-> ok\n[09:19] <bo> so\n"
    + "".join(f"[09:2{n}] <bo> {n}\n" for n in range(10)) + "".join(f"[09:3{n}] <cem> {n}\n" for n in range(10)): [
        "|Ada-", "bo", "bo", "cem", "|Ada-", "bo", *["bo"] * 10, *["cem"] * 10,
    ],
    "10:15:30 From Ada Lee to Everyone : hi\n10:15:40 From Bea : yes\n": ["Ada Lee", "Bea"],
}  # fmt: skip


@pytest.mark.parametrize(("text", "speakers"), SENDERS.items())
def test_no_turn_has_the_speaker_of_another_one(text, speakers, tmp_path):
    (article,), account = read(write(tmp_path, "talk.txt", text.encode()))
    assert [speaker for speaker, _, _ in turns(article)] == speakers
    unknown = any(speaker is None for speaker in speakers) and any(speakers)
    assert account.changed == ({"turn whose speaker is not known": 1} if unknown else {})


@pytest.mark.parametrize("name", ["a.json", "a.tsv", "x.json", "cpp.json", "list.json", "long.json"])
def test_segments_of_whisper_are_joined_to_sentences(tmp_path, name):
    said = [(0.0, "The bus"), (1.5, "is late."), (3661.25, "It is full.")]
    if name == "a.tsv":
        rows = "".join(f"{1000 * start:.0f}\t{1000 * start + 9:.0f}\t{part}\n" for start, part in said)
        text = f"start\tend\ttext\n{rows}"
    else:
        own = {"speaker": "SPEAKER_00"} if name == "x.json" else {"tokens": [1, 2], "temperature": 0.0}
        segments = [{"id": 1, "start": start, "end": start + 1, "text": f" {part}", **own} for start, part in said]
        whole = {} if name == "x.json" else {"task": "transcribe", "duration": 9.5, "text": 'The "bus" is late.'}
        if name == "long.json":
            whole["text"] = "word " * 20_000
        text = json.dumps(segments if name == "list.json" else whole | {"segments": segments, "language": "en"})
        if name == "cpp.json":
            own = [{"offsets": {"from": int(1000 * start), "to": 9}, "text": f" {part}"} for start, part in said]
            text = json.dumps({"systeminfo": "x", "model": {"type": "base"}, "transcription": own})
    (article,), account = read(write(tmp_path, name, text.encode()))
    who = "SPEAKER_00" if name == "x.json" else None
    assert turns(article) == [(who, "00:00:00.000", "The bus is late."), (who, "01:01:01.250", "It is full.")]
    assert not account.skipped and not account.changed


def web_cues(*cues):
    return "WEBVTT\n\n" + "\n\n".join(f"{n}\n00:0{n}.000 --> 00:0{n}.900\n{cue}" for n, cue in enumerate(cues))


def test_a_cue_without_a_name_among_cues_with_names_belongs_to_nobody(tmp_path):
    cues = ["Ada Lee: How do you", "Ada Lee: get to work?", "yeah.", "Bea: By bus.", "Bea: It is late.", "Ada Lee: So."]
    (article,), account = read(write(tmp_path, "zoom.vtt", web_cues(*cues).encode()))
    assert [who for who, _, _ in turns(article)] == ["Ada Lee", None, "Bea", "Bea", "Ada Lee"]
    assert account.changed == {"turn whose speaker is not known": 1}


def test_the_speaker_of_a_single_cue_is_known(tmp_path):
    text = web_cues("Ada Lee: How?", "Speaker 2: By bus. It is", "Speaker 2: late, but", "I like it.")
    (article,), _ = read(write(tmp_path, "a.vtt", text.encode()))
    assert [speaker for speaker, *_ in turns(article)] == ["Ada Lee", "Speaker 2"]


def message(number, text, **more):
    entities = [part if isinstance(part, dict) else {"type": "plain", "text": part} for part in text]
    own = {"text": text if len(text) > 1 else "".join(text), "text_entities": entities}
    return {"id": number, "type": "message", "date": f"2024-01-01T10:0{number}:00", **own, **more}


TELEGRAM = [
    {"id": 1, "type": "service", "date": "2024-01-01T10:00:00", "actor": "Ada", "action": "create_group", "text": ""},
    message(1, ["So ", {"type": "bold", "text": "late"}, "."], **{"from": "Ada", "file": "(File not included.)"}),
    message(2, ["Full."], **{"from": "Bea", "reply_to_message_id": 2}),
    message(3, [], **{"from": "Bea", "photo": "(File not included. Change the settings to save it, please.)"}),
]
REPLY = {"ts": "1704103320.000300", "thread_ts": "1704103260.000200"}
SLACK = [
    {"type": "message", "subtype": "channel_join", "user": "U0BMQB6JE", "text": "<@U0BMQB6JE> is here", "ts": "1.1"},
    {"type": "message", "user": "U0BMQB6JE", "text": "So late.", "ts": "1704103260.000200", "attachments": [{"a": 1}]},
    {"type": "message", "user": "U0BMYT2FL", "text": "<@U0BMQB6JE>: see <http://a.org|the stop> &amp; go.", **REPLY},
]
DISCORD = [
    {"type": kind, "timestamp": f"2024-01-01T10:0{n}:00", "content": text, "author": {"id": str(n), "name": name}}
    for n, (kind, text, name) in enumerate(
        [("Default", "So late.", "Ada"), ("Reply", "Full.", "Bea"), ("GuildMemberJoin", "Joined the server.", "Cem")], 1
    )
]
MATRIX = [
    {"type": kind, "sender": who, "origin_server_ts": at, "content": {"body": text}}
    for kind, who, at, text in (
        ("m.room.message", "Ada", 1704103260000, "So late."),
        ("m.room.member", "Cem", 1704103270000, "x"),
        ("m.room.message", "Bea", 1704103320000, "Full."),
    )
]
META = {
    "participants": [{"name": "Ada"}, {"name": "Bea"}],
    "messages": [
        {"sender_name": "Bea", "timestamp_ms": 1704103320000, "content": "Full \u00c3\u00a4."},
        {"sender_name": "Ada", "timestamp_ms": 1704103260000, "content": "So late.", "reply to": None},
        {"sender_name": "Ada", "timestamp_ms": 1704103200000, "photos": [{"uri": "x"}]},
    ],
    "title": "Bus",
}
PEOPLE = [{"id": "U0BMQB6JE", "name": "a", "real_name": "Ada"}, {"id": "U0BMYT2FL", "name": "Bea", "real_name": ""}]
ALL_CHATS = {"contacts": {"list": [1]}, "chats": {"list": [{"name": "Bus", "messages": TELEGRAM}]}}
DAY = {"users.json": json.dumps(PEOPLE), "channels.json": "[]", "bus/2024-01-01.json": json.dumps(SLACK)}
CHATS = {
    "Telegram": ("a.json", json.dumps({"name": "Bus", "messages": TELEGRAM}).encode(), "Full."),
    "Telegram, all chats": ("a.json", json.dumps(ALL_CHATS, indent=1).encode(), "Full."),
    "Slack": ("a.zip", made(DAY), "@Ada: see the stop & go."),
    "Matrix": ("a.json", json.dumps({"room_name": "Bus", "messages": MATRIX}).encode(), "Full."),
    "Meta": ("message_1.json", json.dumps(META).encode(), "Full ä."),
    "Discord": ("a.json", json.dumps({"guild": {}, "messages": DISCORD}).encode(), "Full."),
}


@pytest.mark.parametrize("name", CHATS)
def test_messages_in_json_have_speakers_times_and_replies(name, tmp_path):
    file, data, second = CHATS[name]
    (article,), account = read(write(tmp_path, file, data))
    (one, two), columns = turns(article), article.sentence_values
    assert (one[0], two[0], one[2].endswith("late."), two[2]) == ("Ada", "Bea", True, second)
    assert one[1].startswith("2024-01-01T10:01:00") and two[1].startswith("2024-01-01T10:02:00")
    replied = "1704103260.000200" if name == "Slack" else 2
    assert name in ("Discord", "Matrix", "Meta") or columns["reply to"] == [None, replied]
    assert "text_entities" not in columns
    skipped = (account.skipped["message of the program"], account.skipped["no text"])
    assert skipped == (name != "Meta", "Tele" in name or name == "Meta")


def test_what_nobody_said_in_a_chat_is_listed(tmp_path):
    text = (
        "Chat of the bus users\n1/5/24, 3:04 PM - Ada: Late.\n1/5/24, 3:05 PM - Bea: <Media omitted>\n"
        "1/5/24, 3:05 PM - Bus users: Messages and calls are end-to-end encrypted.\n"
        "1/5/24, 3:05 PM - Bea: \u200eYou joined using this group's invite link\n1/5/24, 3:05 PM - Bea: <Médias omis>\n"
        "1/5/24, 3:06 PM - Bea: This message was deleted\n1/5/24, 3:07 PM - Cem joined using this group's link\n"
        "1/5/24, 3:08 PM - Bea: IMG-20240105-WA0001.jpg (file attached)\n1/5/24, 3:09 PM - Ada: Full.\nAs always.\n"
        "Group B 14:00\n5:00pm – 8:00pm\n7:30 at the stop\nas on Monday\n"
    )
    (article,), account = read(write(tmp_path, "chat.txt", text.encode()))
    later = ("Full.", "As always.", "Group B 14:00", "5:00pm – 8:00pm", "7:30 at the stop", "as on Monday")
    assert [turn[::2] for turn in turns(article)] == [("Ada", said) for said in ("Late.", *later)]
    assert {time for _, time, _ in turns(article)[1:]} == {"1/5/24, 3:09 PM"}
    found = {"line before the first turn": 1, "file or deleted message": 4, "message of the program": 3}
    assert account.skipped == found and not account.changed


SPOKEN = {
    "a.sbv": "0:00:00.599,0:00:04.160\nThe bus\nis late.\n\n0:00:04.160,0:00:08.000\nAlways.\n",
    "rolling.vtt": "WEBVTT\n\n0:00:00.590 --> 0:00:02.000\n \nThe<0:00:01.000><c> bus</c>\n\n"
    "0:00:02.000 --> 0:00:02.010\nThe bus\n \n\n0:00:02.010 --> 0:00:03.000\nThe bus\nis late.\n\n"
    "0:00:03.000 --> 0:00:04.000\n[music]\n\n0:00:04.160 --> 0:00:05.000\nAlways.\n",
    "deepgram.json": '{"metadata": {}, "results": {"channels": [], "utterances": ['
    '{"start": 0.59, "speaker": 0, "transcript": "The bus is late."},'
    '{"start": 4.16, "speaker": 1, "transcript": "Always."}]}}',
    "assembly.json": '{"id": "x", "words": [{"text": "The"}], "utterances": ['
    '{"start": 590, "speaker": "A", "text": "The bus is late."}, {"start": 4160, "speaker": "B", "text": "Always."}]}',
    "a.ass": "[Script Info]\nTitle: x\n\n[Events]\nFormat: Layer, Start, End, Style, Name, Text\n"
    "Comment: 0,0:00:00.00,0:00:01.00,Default,,x\n"
    "Dialogue: 0,0:00:00.59,0:00:04.16,Default,,The bus\\N{\\i1}is{\\i0} late.\n"
    "Dialogue: 0,0:00:04.16,0:00:08.00,Default,,Always.\n",
}


@pytest.mark.parametrize("name", SPOKEN)
def test_subtitles_and_speech_of_other_programs_are_read(name, tmp_path):
    (article,), account = read(write(tmp_path, name, SPOKEN[name].encode()))
    said = turns(article)
    assert {"speaker"} & {*article.sentence_values} == ({"speaker"} if name.endswith("json") else set())
    assert [text.split() for *_, text in said] == [["The", "bus", "is", "late."], ["Always."]]
    assert account.skipped.get("comment", 0) == (name == "a.ass")
    assert [time.rpartition(":")[2].lstrip("0")[:2] for _, time, _ in said] == [".5", "4."]


def test_names_above_cues_of_webex_are_speakers(tmp_path):
    cues = ('1 "Ada Lee" (3)\n00:00:00.000 --> 00:00:03.000\nLate.', '2 "Bea" (4)\n00:00:03.000 --> 00:00:05.000\nYes.')
    text = "\n\n".join(("WEBVTT", *cues))
    (article,), account = read(write(tmp_path, "a.vtt", text.encode()))
    assert turns(article) == [("Ada Lee", "00:00:00.000", "Late."), ("Bea", "00:00:03.000", "Yes.")]
    assert not account.skipped


def test_a_chat_of_telegram_in_html_says_what_to_export(tmp_path):
    page = '<html><body><div class="page_body chat_page"><div class="text">Late.</div></div></body></html>'
    with pytest.raises(ReadError, match="Export it as JSON"):
        read(write(tmp_path, "messages.html", page.encode()))


@pytest.mark.parametrize(
    "text",
    [
        "Section: NEWS\nLength: 9 words\nByline: Ada\nIt is late.\nSection: SPORT\nLength: 8 words\nByline: B\nGoal.\n",
        "Title: A\nAuthor: Ada\n\nThe bus is late.\n",
        "The bus is late.\nNote: it rains.\nAt 10:15 we left.\n",
    ],
)
def test_other_texts_are_no_transcripts(text, tmp_path):
    assert detect(write(tmp_path, "a.txt", text.encode())) == "plain"


def test_every_sentence_of_a_turn_has_its_speaker(tmp_path):
    path = write(tmp_path, "talk.txt", b"[10:01] Ada: It is late. It rains.\n[10:02] Bea: Yes.\n")
    article = split_article(read(path)[0][0], SentenceSplitter("en"))
    assert article.sentence_values["speaker"] == ["Ada", "Ada", "Bea"] and article.sentence_count() == 3


def test_subtitles_are_joined_to_sentences(tmp_path):
    cues = "1\n00:00:01,000 --> 00:00:04,000\nThe bus was <i>late</i>\n\n2\n00:00:04,000 --> 00:00:07,500\nand full.\n"
    (article,), _ = read(write(tmp_path, "a.srt", cues.encode()))
    assert turns(article) == [(None, "00:00:01.000", "The bus was late and full.")]
    voices = (
        "WEBVTT\n\nNOTE by Ada\n\nfirst\n00:01.000 --> 00:02.000\n<v Ada>Late &amp; full\n\n"
        "00:02.000 --> 00:03.000\n<v Bea>Yes.\n\n00:03.000 --> 00:04.000\n- Two.\n- Three.\n"
    )
    (article,), account = read(write(tmp_path, "a.vtt", voices.encode()))
    assert turns(article) == [
        ("Ada", "00:01.000", "Late & full"), ("Bea", "00:02.000", "Yes."),
        (None, "00:03.000", "Two."), (None, "00:03.000", "Three."),
    ]  # fmt: skip
    assert account.skipped == {"block without a time": 1, "name of a cue": 1}
