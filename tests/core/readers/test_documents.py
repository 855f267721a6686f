"""Documents: what becomes text, in which order, and that nothing is lost without being listed."""

import json
from xml.sax.saxutils import escape

import pytest

from tests.core.readers.samples import texts, write
from themescope.core.errors import ReadError
from themescope.core.readers import REGISTRY
from themescope.core.readers.documents.open_document import made_of as odt_of
from themescope.core.readers.documents.packages import made
from themescope.core.readers.documents.pdf import made_of as pdf_of
from themescope.core.readers.formats import detect
from themescope.core.text.splitting import SentenceSplitter, split_article
from themescope.core.types import SILENT


def read(path, **options):
    """Return the articles of a file and the account of its reader."""
    reader = REGISTRY.build(detect(path), options)
    return list(reader.read(path, SILENT)), reader.account


def listed(account, reason):
    return [entry.text for entry in account.entries if entry.reason == reason]


# --- Word -------------------------------------------------------------------------------------------------------------

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
    styles = (
        '<w:style w:styleId="T"><w:name w:val="Title"/></w:style>'
        '<w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style>'
        '<w:style w:styleId="Mine"><w:name w:val="mine"/><w:basedOn w:val="H2"/></w:style>'
        '<w:style w:styleId="Toc"><w:name w:val="toc 1"/></w:style>'
    )
    return made(
        {
            "word/document.xml": f"<w:document {WORD}><w:body>{body}</w:body></w:document>",
            "word/styles.xml": f"<w:styles {WORD}>{styles}</w:styles>",
            **{f"word/{name}.xml": f"<w:x {WORD}>{content}</w:x>" for name, content in parts.items()},
        }
    )


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
    assert [(e.place, e.text) for e in account.entries if e.reason == "table cell"] == [
        ("table 1, row 1", "one"),
        ("table 1, row 2", "two"),
    ]
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
    rows = "".join(
        f"<w:tr><w:tc>{par(who)}</w:tc><w:tc>{par(said)}</w:tc></w:tr>" for who, said in (("A:", "Yes."), ("B:", "No."))
    )
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
        REGISTRY.build("word").read(write(tmp_path, "a.docx", docx(par("x" * 200))), SILENT).__next__()


# --- OpenDocument -----------------------------------------------------------------------------------------------------


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


# --- PDF --------------------------------------------------------------------------------------------------------------


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
    assert article.title == "Transport" and texts(article) == {
        "": [
            "The transport authority runs a well-known line. A well-known bus is late.",
            "Another paragraph follows here and it ends.",
        ],
        "Findings": ["Trains are full today and nobody is happy about it."],
    }
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
    pages = []
    for number in range(1, 5):
        pages.append([
            (9, 72, 810, "Annual report"),
            (9, 500, 810, f"{number + 4}"),
            *column(72, 740, f"Page {number} begins a sentence that", "goes on to its end."),
            *column(72, 80, f"{number} Note {'abcde'[number]} at the foot.", size=7),
        ])  # fmt: skip
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
    pages = [column(72, 740, "The bus was"), column(72, 740, "late again."), column(72, 740, "Trains are full.")]
    (article,), _ = read(write(tmp_path, "a.pdf", pdf_of(pages)))
    assert texts(article) == {"": ["The bus was late again.", "Trains are full."]}


def test_a_pdf_without_text_says_what_to_do(tmp_path):
    with pytest.raises(ReadError, match=r"no text.*OCR"):
        read(write(tmp_path, "a.pdf", pdf_of([[]])))
    (_,), account = read(write(tmp_path, "b.pdf", pdf_of([column(72, 740, "A text."), []])))
    assert account.skipped == {"page without text": 1} and account.entries[0].place == "page 2"
    with pytest.raises(ReadError, match="damaged, or not a PDF"):
        read(write(tmp_path, "c.pdf", b"%PDF-1.7 text"))


# --- transcripts ------------------------------------------------------------------------------------------------------


def turns(article):
    """Return (speaker, time, text) of every paragraph."""
    said = [p.text for s in article.sections for p in s.paragraphs]
    columns = [article.sentence_values.get(name, [None] * len(said)) for name in ("speaker", "time")]
    return list(zip(*columns, said, strict=True))


TALKS = {
    "[10:01] Ada: the bus was late\n[10:02] Bea: i walk\n": [
        ("Ada", "10:01", "the bus was late"),
        ("Bea", "10:02", "i walk"),
    ],
    "Ada  0:03\nHello there.\n\nBea  0:07\nFine.\n\nTranscribed by https://otter.ai\n": [
        ("Ada", "0:03", "Hello there."),
        ("Bea", "0:07", "Fine."),
    ],
    "2024-01-01 09:00:00,123 Ada: late\n2024-01-01 09:00:01,456 Bea: yes\n": [
        ("Ada", "2024-01-01 09:00:00,123", "late"),
        ("Bea", "2024-01-01 09:00:01,456", "yes"),
    ],
    "[Ada Lee] 09:12:01\nLate.\n\n[Bea] 09:12:20\nYes.\n": [
        ("Ada Lee", "09:12:01", "Late."),
        ("Bea", "09:12:20", "Yes."),
    ],
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
    "12/31/23, 10:15 PM - Ada: hi\n12/31/23, 10:16 PM - Bea: yo\nnew line\n": [
        ("Ada", "12/31/23, 10:15 PM", "hi"),
        ("Bea", "12/31/23, 10:16 PM", "yo"),
        ("Bea", "12/31/23, 10:16 PM", "new line"),
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


def test_a_name_and_a_time_above_a_text_in_one_paragraph_are_columns(tmp_path):
    """Teams writes Word transcripts so."""
    said = (("Ada Lee", "0:03", "How?"), ("Bea Brown", "0:07", "By bus."), ("Cem Can (Guest)", "0:19", "I walk."))
    body = "".join(f"<w:p>{run(f'{who}   {time}')}<w:r><w:br/></w:r>{run(text)}</w:p>" for who, time, text in said)
    (article,), account = read(write(tmp_path, "a.docx", docx(body + par("Ada Lee started transcription"))))
    assert turns(article) == [*said] and not account.changed
    assert account.skipped == {"message of the program": 1}


@pytest.mark.parametrize("name", ["a.json", "a.tsv", "x.json", "cpp.json", "list.json", "long.json"])
def test_segments_of_whisper_are_joined_to_sentences(tmp_path, name):
    said = [(0.0, "The bus"), (1.5, "is late."), (3661.25, "It is full.")]
    if name == "a.tsv":
        text = "start\tend\ttext\n" + "".join(
            f"{round(1000 * start)}\t{round(1000 * start) + 9}\t{part}\n" for start, part in said
        )
    else:
        own = {"speaker": "SPEAKER_00"} if name == "x.json" else {"tokens": [1, 2], "temperature": 0.0}
        segments = [
            {"id": i, "start": start, "end": start + 1, "text": f" {part}", **own}
            for i, (start, part) in enumerate(said)
        ]
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


def test_a_cue_without_a_name_among_cues_with_names_belongs_to_nobody(tmp_path):
    cues = ["Ada Lee: How do you", "Ada Lee: get to work?", "yeah.", "Bea: By bus.", "Bea: It is late.", "Ada Lee: So."]
    text = "WEBVTT\n\n" + "\n\n".join(f"{n}\n00:0{n}.000 --> 00:0{n}.900\n{cue}" for n, cue in enumerate(cues, 1))
    (article,), account = read(write(tmp_path, "zoom.vtt", text.encode()))
    assert [who for who, _, _ in turns(article)] == ["Ada Lee", None, "Bea", "Bea", "Ada Lee"]
    assert account.changed == {"turn whose speaker is not known": 1}


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
SLACK = [
    {"type": "message", "subtype": "channel_join", "user": "U0BMQB6JE", "text": "<@U0BMQB6JE> is here", "ts": "1.1"},
    {"type": "message", "user": "U0BMQB6JE", "text": "So late.", "ts": "1704103260.000200", "attachments": [{"a": 1}]},
    {
        "type": "message",
        "user": "U0BMYT2FL",
        "text": "<@U0BMQB6JE>: see <http://a.org|the stop> &amp; go.",
        "ts": "1704103320.000300",
        "thread_ts": "1704103260.000200",
    },
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
    assert name in ("Discord", "Matrix", "Meta") or columns["reply to"] == [
        None,
        {"Slack": "1704103260.000200"}.get(name, 2),
    ]
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
    "deepgram.json": json.dumps(
        {
            "metadata": {},
            "results": {
                "channels": [],
                "utterances": [
                    {"start": 0.59, "speaker": 0, "transcript": "The bus is late."},
                    {"start": 4.16, "speaker": 1, "transcript": "Always."},
                ],
            },
        }
    ),
    "assembly.json": json.dumps(
        {
            "id": "x",
            "words": [{"text": "The"}],
            "utterances": [
                {"start": 590, "speaker": "A", "text": "The bus is late."},
                {"start": 4160, "speaker": "B", "text": "Always."},
            ],
        }
    ),
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


def test_the_speaker_of_a_single_cue_is_known(tmp_path):
    cues = ["Ada Lee: How?", "Speaker 2: By bus. It is", "Speaker 2: late, but", "I like it."]
    text = "WEBVTT\n\n" + "\n\n".join(f"00:0{n}.000 --> 00:0{n}.900\n{cue}" for n, cue in enumerate(cues))
    (article,), _ = read(write(tmp_path, "a.vtt", text.encode()))
    assert [speaker for speaker, *_ in turns(article)] == ["Ada Lee", "Speaker 2"]


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


def test_interviews_in_word_have_speakers_too(tmp_path):
    body = par("Interview", "T") + "".join(par(f"{who}: {said}") for who, said in zip("ABAB", "ijkl", strict=True))
    (article,), account = read(write(tmp_path, "a.docx", docx(body)))
    assert turns(article) == [("A", None, "i"), ("B", None, "j"), ("A", None, "k"), ("B", None, "l")]
    assert account.notes == {"speakers": "A, B"}


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


# --- HTML and Markdown ------------------------------------------------------------------------------------------------


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


def test_a_markdown_document_may_begin_with_html(tmp_path):
    articles, _ = read(write(tmp_path, "a.md", b"<p align='center'>Logo</p>\n\n# Bus\n\nIt is **late**.\n"))
    assert [(article.title, texts(article)) for article in articles] == [
        ("a", {"": ["Logo"]}),
        ("Bus", {"": ["It is late."]}),
    ]


def test_lists_and_tables_are_kept_where_there_is_nothing_else(tmp_path):
    (article,), account = read(write(tmp_path, "a.md", b"# Notes\n\n- One.\n- Two.\n"))
    assert texts(article) == {"": ["One.", "Two."]} and account.notes == {"text": "only in lists"}


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

Buses are
late

SECTION: NEWS; Pg. 3

LENGTH: 120 words

The bus was
late.

Nobody said: why?

LOAD-DATE: January 12, 2020

                 Copyright 2020 Own Media

                 2 of 2 DOCUMENTS

                 Own Post

                 January 11, 2020 Saturday

Trains are full

SECTION: NEWS

Passengers stand.
"""
FACTIVA = """\
NEWS|Buses are late|By Ada Lee|120 words|January 10, 2020 Friday|12:30|Own Times|OWNT|English
(c) 2020 Own Media|The bus was late.|Nobody said: why?|Document OWNT000020200110eg1a000xx
NEWS|Trains are full|12 words|January 11, 2020 Saturday|Own Post|POST|English|(c) 2020 Own Media
Passengers stand.|Document POST000020200110eg1a000yy|Search Summary|bus""".replace("\n", "|").split("|")
CODED = """\
SE NEWS
HD Buses are late
WC 120 words
PD January 10, 2020 Friday
SN Own Times
LP The bus was late.
TD
Nobody said: why?
NS gtrans : Buses
AN Document OWNT000020200110eg1a000xx
SE NEWS
HD Trains are full
PD January 11, 2020 Saturday
SN Own Post
LP Passengers stand.
AN Document POST000020200110eg1a000yy
"""
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
    assert article.sentence_values["party"] == ["Green", None] and article.sentence_values["role"] == [
        "chair",
        "regular",
    ]
    assert listed(account, "note") == ["The Chair:", "Applause"]
    corpus = (
        '<teiCorpus xmlns="http://www.tei-c.org/ns/1.0"><teiHeader/><xi:include xmlns:xi="x" href="a.xml"/></teiCorpus>'
    )
    with pytest.raises(ReadError, match=r"its texts are in other files.*ZIP"):
        read(write(tmp_path, "b.xml", corpus.encode()))


def test_the_licence_of_a_book_is_listed(tmp_path):
    marks = ["*** START OF THE PROJECT GUTENBERG EBOOK ADA ***", "*** END OF THE PROJECT GUTENBERG EBOOK ADA ***"]
    book = f"Free for all.\n{marks[0]}\n\nThe bus is late.\n\n{marks[1]}\nSee www.gutenberg.org.\n"
    (article,), account = read(write(tmp_path, "a.txt", book.encode()))
    assert texts(article) == {"": ["The bus is late."]}
    assert [text.split()[0] for text in listed(account, "licence of Project Gutenberg")] == ["Free", "***"]
