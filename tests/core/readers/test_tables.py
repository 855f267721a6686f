import csv
import io
import json
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook

from tests.core.readers.samples import read, texts, write
from tests.core.readers.test_hostile_values import NEAR
from themescope.core.errors import ReadError
from themescope.core.readers.dialects import LINES, dialect_of
from themescope.core.readers.table import TableChoice
from themescope.core.readers.tables import TableForm, alternatives, open_table, read_sheet
from themescope.core.types import ReadAccount
from themescope.jobs.services.table_files import excel_sheets

WRITTEN = {
    # name: file name, content, columns, number of texts in the likely column
    "commas in a list": ("a.csv", "sentence\nLate, again.\nIn May, it rains.\nFull.\n", "sentence", 3),
    "commas in every line of a list": ("a.csv", "claim\nLate, again.\nFull, too.\n", "claim", 2),
    "commas in a header": ("a.csv", "Zeit;Was, wenn?\n1;The bus is late.\n2;Voll.\n", "Zeit|Was, wenn?", 2),
    "line break in a header": ("a.csv", 'id;"Why\nso?"\n1;Always late.\n2;Full.\n', "id|Why so?", 2),
    "separator line": ("a.csv", "sep=;\nid;answer\n1;The bus is late.\n", "id|answer", 1),
    "title above": ("a.csv", "Survey 2024\n\nid,answer,place\n1,Late.,N\n2,Full bus.,S\n", "id|answer|place", 2),
    "open quotation mark": ("a.tsv", 'id\ttext\n1\t"Late.\n2\tFull.\n3\tRain.\n', "id|text", 3),
    "quotation marks inside": ("a.tsv", 'id\ttext\n1\tShe said "late", and left.\n2\t"Full" he said.\n', "id|text", 2),
    "spaces": ("a.csv", 'id, text , party\n1, "Late, and full.", A\n2 , "Fine." , B\n', "id|text|party", 2),
    "prose": ("a.csv", "More buses, also late.\nCheaper tickets.\nFine, thanks.\n", "sentence", 3),
    "named like a workbook": ("a.xls", "id\ttext\n1\tLate.\n2\tFull.\n", "id|text", 2),
    "backslash": ("a.csv", 'id,text\n1,"He said \\"late, again\\"."\n2,Full.\n', "id|text", 2),
    "lines with commas": ("a.csv", 'a,x\n"Late, again.\nFull, too.",1\n"One,\nsix, two\nand a half.",2\n', "a|x", 2),
    "no header": ("a.csv", "The bus is late.,N\nTrains are full.,S\nIt rains.,W\n", "column 1|column 2", 3),
    "Qualtrics": ("a.csv", 'S,Q\nDate,Why\n"{""ImportId"":""s""}","{""ImportId"":""q""}"\n2024,Late bus.\n', "S|Q", 1),
    "delimiter at the end": ("a.csv", "id,answer,\n1,The bus is late.,\n", "id|answer", 1),
    "old Macintosh": ("a.csv", "id,text\r1,The bus is late.\r2,Full.\r", "id|text", 2),
    "a table called txt": ("a.txt", "id\tsentence\tx\n1\tThe bus is late.\t3\n2\tFull.\t4\n", "id|sentence|x", 2),
    **{
        f"delimiter {sign!r} in {suffix}": (
            f"a.{suffix}",
            f"id{sign}answer{sign}x\n1{sign}The bus is late, again.{sign}3\n2{sign}Full, he said.{sign}4\n",
            "id|answer|x",
            2,
        )
        for sign in ("^", "~", "||", "::", "\t|\t", "|~|", ";;", "§")
        for suffix in ("csv", "txt")
    },
    "ids before short texts": ("a.csv", "who,a\nR_2c8DxgGh1LpQ,Late bus.\nR_9k8JhgGh2MnOpQr,Full.\n", "who|a", 2),
    "browsers": ("a.csv", "a,ua\nLate bus.,Mozilla/5.0 (X11; Linux x86_64)\nFull.,Mozilla/5.0 (iPhone)\n", "a|ua", 2),
    "posts of Reddit": (
        "a.jsonl",
        '{"id": "a", "title": "A long title of a post without a meaning", "selftext": "The bus is late."}\n'
        '{"id": "b", "title": "Another title of a post like that one", "selftext": "Full."}\n',
        "id|title|selftext",
        2,
    ),
    "texts beside lists of objects": (
        "a.json",
        '[{"a": [{"fallback": "a long one in JSON", "n": 1}], "b": "Late bus."}, {"a": [], "b": "Full."}]',
        "a|b",
        2,
    ),
    "JSON array": ("a.json", '[{"id": 1, "text": "The bus is late."},\n {"id": 2, "text": "Full."}]', "id|text", 2),
    "JSON object": ("a.json", '{"made": "x", "rows": [{"text": "The bus is late."}]}', "text", 1),
    "JSON text": ("a.json", '"The bus is late."', "sentence", 1),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_every_text_arrives_whole(name: str, tmp_path: Path) -> None:
    file, content, columns, count = WRITTEN[name]
    sheet = read_sheet(write(tmp_path, file, content.encode()))
    assert "|".join(sheet.columns) == columns
    found = sheet.column(sheet.likely_columns()[0])
    assert len(found) == count
    assert all(" ".join(text.split()) in " ".join(content.replace("\\", "").split()) for text in found)
    assert any("bus" in text.lower() or "late" in text.lower() for text in found)


DOUBTFUL = {
    "more cells than columns": ("id,answer\n1,Late\n2,Late, again\n3,Full\n4,Rain\n", "row 3: this row has 3 cells"),
    "narrow first row above data": ("id,answer\n1,Late, again\n2,Full, too\n", "row 1 has 2 and row 2 has 3 cells"),
    "mostly UTF-8": ("text\nÄpfel\nBäume\n".encode() + "Größe\n".encode("cp1252"), "line 4: this line is not UTF-8"),
    "unknown encoding": (b"x\n" + bytes([0xC4, 0xE5, 0xF0, 10]), "line 2: the encoding of this text is not known"),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_is_doubtful_stops_with_the_place(name: str, tmp_path: Path) -> None:
    content, said = DOUBTFUL[name]
    path = write(tmp_path, "a.csv", content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ReadError, match=said):
        read_sheet(path)
    assert alternatives(path)


def test_an_open_quotation_mark_far_below_is_found(tmp_path: Path) -> None:
    rows = [f'{n},"text {n}"' for n in range(5_000)]
    rows[3_000] = '3000,"open'
    path = write(tmp_path, "a.csv", "\n".join(["id,text", *rows]).encode())
    with pytest.raises(ReadError, match=r"line 3,00\d"):
        read_sheet(path)
    assert len(read_sheet(path, form=TableForm(quoting="none")).rows) == 5_000


def book(folder: Path, **sheets: list[list[object]]) -> Path:
    made = Workbook()
    made.remove(made.worksheets[0])
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
        if name == "hidden":
            sheet.sheet_state = "hidden"
    made.save(folder / "a.xlsx")
    return folder / "a.xlsx"


def test_sheets_are_named_and_chosen(tmp_path: Path) -> None:
    data: list[list[object]] = [["id", "answer"], [1, "The bus is late."]]
    with pytest.raises(ReadError, match=r"several sheets: “about” \(1 rows\), “data” \(2 rows\)"):
        read_sheet(book(tmp_path, about=[["Read me"]], data=data))
    assert read_sheet(tmp_path / "a.xlsx", form=TableForm(sheet="data")).column("answer") == ["The bus is late."]
    assert [form.sheet for form, _ in alternatives(tmp_path / "a.xlsx")] == ["about", "data"]
    sheet = read_sheet(book(tmp_path, hidden=[["old"], ["x"]], data=[["Report of May"], [], *data]))
    assert sheet.columns == ("id", "answer") and sheet.numbers == (4,)
    assert sheet.account.skipped == {"hidden sheet": 1, "line above the header": 1}


def test_formulas_without_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"1 formula has no computed value \(B2\)"):
        read_sheet(book(tmp_path, data=[["id", "answer"], [1, '="The bus" & " is late."']]))


# Other control characters make a file binary.
CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"], include_characters="\n\t\f\x1b")
CELL = st.text(CHARACTERS, max_size=12)


@NEAR
@given(rows=st.lists(st.tuples(CELL, CELL, CELL), min_size=2, max_size=8), delimiter=st.sampled_from(",;\t|"))
def test_rows_read_are_rows_stored_and_listed(rows: list[tuple[str, str, str]], delimiter: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([("first name", "second name", "third name"), *rows])
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    account = ReadAccount()
    form = TableForm(delimiter="tab" if delimiter == "\t" else delimiter, quoting="quotes", header_row=1)
    table = open_table(path, form=form, account=account)
    stored = [values for _, values in table.rows]
    blank = account.skipped["blank row"]
    assert len(stored) + blank == len(rows) and blank == sum(not any(row) for row in rows)
    same = [tuple(row) for row in rows if any(row)]
    changed = sum(a != b for one, two in zip(stored, same, strict=True) for a, b in zip(one, two, strict=True))
    reasons = account.changed.values()  # cells for each; a cell may have two
    assert max(reasons, default=0) <= changed <= sum(reasons)


@given(st.lists(st.text(max_size=30), max_size=12))
def test_any_lines_have_a_dialect(lines: list[str]) -> None:
    whole = [line for text in lines for line in (text.split("\n") or [""])]
    found = dialect_of(whole)
    assert found.delimiter == LINES or found.width >= 1


def test_backslashes_of_texts_escape_nothing_in_a_file_with_doubled_marks(tmp_path: Path) -> None:
    said = ['Say "yes", or "no".', 'The path "C:\\", he said, is wrong.', "Full.", 'A \\"b" c, d.']
    out = io.StringIO()
    csv.writer(out).writerows([["text", "code"], *([text, "x"] for text in said)])
    file = write(tmp_path, "a.csv", out.getvalue().encode())
    assert list(open_table(file).rows) and [row[0] for row in read_sheet(file).rows] == said


def test_lines_are_taken_whole(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", b'a,b\n"c,d\n')
    assert read_sheet(path, form=TableForm(lines=True)).column("sentence") == ["a,b", '"c,d']


def test_lists_are_no_texts(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="“text” is a list"):
        read(write(tmp_path, "a.jsonl", b'{"text": ["The bus is late.", "Full."]}'))
    looks_like_one = b'text\nThe bus is late.\n"[""No"", ""Never""]"\nTrains are full.\n'
    (article,), _ = read(write(tmp_path, "b.csv", looks_like_one))
    assert texts(article)[""][1] == '["No", "Never"]'


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("When,What should change?,Why?,What should change?\n1,More buses.,Late.,More trains.\n2,Less noise.,Loud.,\n",
         ("When", "What should change?", "Why?", "What should change? (2)")),
        ("ID,What should change?,Which do you use?,,Your age?\n,Open-Ended Response,Bus,Train,Response\n"
         "1,The bus is late.,Bus,,31\n2,Tickets cost too much.,,Train,45\n",
         ("ID", "What should change?", "Bus", "Train", "Your age?")),
        ("ID,Morning?,,Evening?,\n,Bus,Train,Bus,Response\n1,Bus,,Bus,It is late.\n2,,Train,,It is full.\n",
         ("ID", "Morning?: Bus", "Train", "Evening?: Bus", "Evening?")),
        ("CASE,STARTED,A001,A002\nNumber of the interview,When it began,Age,What should change?\n"
         "1,2024-01-15 10:00:01,31,More buses.\n2,2024-01-16 10:00:01,45,Less noise.\n",
         ("CASE", "STARTED", "A001", "A002")),
        ("Response ID\tLast page\tWhat should change?\nid\tlastpage\tG1Q1\n1\t3\tMore buses.\n2\t3\tLess noise.\n",
         ("Response ID", "Last page", "What should change?")),
        ("Place,Date,What is needed?\n#adm1,#date,#need\nNorth,2024-01-15,Buses.\nSouth,2024-01-16,Trains.\n",
         ("Place", "Date", "What is needed?")),
        ("age,income,answer\nunknown,N/A,Trains.\n31,2000,Buses.\n", ("age", "income", "answer")),
        ("ID,<p>What should <b>change</b> &amp; why?</p>\n1,More buses.\n2,Less noise.\n",
         ("ID", "What should change & why?")),
    ],
    ids=["equal titles", "options below", "equal options", "labels", "codes", "tags", "missing values", "markup"],
)  # fmt: skip
def test_headers_of_survey_tools(tmp_path: Path, text: str, columns: tuple[str, ...]) -> None:
    sheet = read_sheet(write(tmp_path, "a.csv", text.encode()))
    assert sheet.columns == columns and len(sheet.rows) == 2


MISSING = {
    "SoSci": "CASE\tQUESTNNR\tA1\tA2\n1\tbase\t-9\tMore buses.\n2\tbase\t-1\t-9\n",
    "Qualtrics": 'A,B\nAge,Why\n"{""ImportId"":""a""}","{""ImportId"":""b""}"\n-99,More buses.\n31,-99\n',
    "LimeSurvey": "id\tpage\tG1Q1\n1\t3\tMore{newline}buses.\n2\t{question_not_shown}\t{question_not_shown}\n",
    "another tool": "id,page,G1Q1\n1,3,More buses.\n2,3,-99\n",
}


@pytest.mark.parametrize("tool", MISSING)
def test_codes_of_missing_answers_are_no_texts(tool: str, tmp_path: Path) -> None:
    data = MISSING[tool].encode("utf-16" if tool == "SoSci" else "utf-8")
    (article,), account = read(write(tmp_path, "a.csv", data))
    assert texts(article) == {"": ["More buses."]}
    assert account.skipped["no text"] + account.skipped["code of a missing answer"] == 1
    kept = {str(value) for column in article.sentence_values.values() for value in column}
    assert not {"-9", "-1", "{question_not_shown}"} & kept
    assert account.notes["texts"].startswith("column “")


@pytest.mark.parametrize("rows", ["sentences", "documents"])
def test_the_columns_that_are_kept_are_found_once_not_for_every_row(
    rows: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for name in ("values", "row"):
        found = getattr(TableChoice, name)
        once = lambda choice, name=name, found=found: asked.append(name) or found.fget(choice)  # noqa: E731
        monkeypatch.setattr(TableChoice, name, property(once))
    path = write(tmp_path, "a.csv", b"text,place\n" + b"The bus is late.,North\n" * 20)
    articles, _ = read(path, text="text", rows=rows)
    assert sum(len(article.sentence_values.get("row", [1])) for article in articles) == 20
    assert sorted(asked) == ["row", "values"]


def json_lines(found: list[object]) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in found).encode()


def test_entities_links_and_removed_posts_are_counted(tmp_path: Path) -> None:
    linked = ["I ", {"type": "bold", "text": "never"}, " get a seat."]
    posts = ["Late &amp; full &lt;again&gt;, AT&T says &nosuch;", "[deleted]", linked, "[removed]"]
    (article,), account = read(write(tmp_path, "a.jsonl", json_lines(posts)))
    assert texts(article) == {"": ["Late & full <again>, AT&T says &nosuch;", "I never get a seat."]}
    assert account.skipped["text that its site has removed"] == 2 and sum(account.changed.values()) == 2


def test_tags_of_web_pages_in_cells_are_taken_off_and_counted(tmp_path: Path) -> None:
    pages = ["<p>It is late.</p><p>I <b>never</b> sit.</p>", "Late<br>and full &amp; cold", "I <3 it, a<b and b>c"]
    (article,), account = read(write(tmp_path, "a.jsonl", json_lines(pages)))
    assert texts(article) == {"": ["It is late. I never sit.", "Late and full & cold", "I <3 it, a<b and b>c"]}
    assert account.changed["text with HTML tags, without them"] == 2
    own = b"sentence_id,cluster,cluster_number\n1,<b>bold</b> &amp; italic,1\n"
    ((_, row),) = open_table(write(tmp_path, "own.csv", own)).rows
    assert row == ("1", "<b>bold</b> &amp; italic", "1")


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 1), (2, 0), (2, 1), (3, 2)])
def test_merged_labels_are_filled_beside_empty_rows_and_columns(rows: int, columns: int, tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.active
    cells = (("place", "answer", "year"), ("North", "Late.", 2024), (None, "Full.", None), ("South", "Rain.", None))
    for at, row in enumerate(cells, 1 + rows):
        for place, value in enumerate(row, 1 + columns):
            sheet.cell(at, place, value)
    sheet.merge_cells(start_row=2 + rows, end_row=3 + rows, start_column=1 + columns, end_column=1 + columns)
    sheet.merge_cells(start_row=2 + rows, end_row=4 + rows, start_column=3 + columns, end_column=3 + columns)
    if columns and rows:  # ranges without a value, above and beside the table
        sheet.merge_cells(start_row=1, end_row=2, start_column=1, end_column=4)
        sheet.merge_cells(start_row=rows + 2, end_row=rows + 3, start_column=9, end_column=10)
    book.save(tmp_path / "a.xlsx")
    account = ReadAccount()
    found = [values for _, values in open_table(tmp_path / "a.xlsx", account=account).rows]
    assert found == [("North", "Late.", 2024), ("North", "Full.", 2024), ("South", "Rain.", 2024)]
    assert account.changed == {"cell of a merged range filled": 3}


def test_a_workbook_of_themescope_needs_no_choice_of_a_sheet(tmp_path: Path) -> None:
    sheets = {"labels": [["sentence", "cluster"], ["Late.", "a"]], "by party": [["party", "a"], ["A", 1.0]]}
    (tmp_path / "a.xlsx").write_bytes(excel_sheets(sheets | {"summary": [["fact", "value"], ["n", 1]]}))
    found = read_sheet(tmp_path / "a.xlsx")
    assert found.rows == (("Late.", "a"),) and found.account.skipped == {"other sheet": 2}


def test_no_cell_of_a_workbook_is_a_formula_or_an_error():
    rows = [["=a", "b"], ["=1+1", "#N/A"], ["'=1", "#REF!"], ["plain", 2]]
    book = openpyxl.load_workbook(io.BytesIO(excel_sheets({"t": rows})))
    assert [[(cell.value, cell.data_type) for cell in row] for row in book.active.iter_rows()] == [
        [("'=a", "s"), ("b", "s")], [("'=1+1", "s"), ("#N/A", "s")], [("''=1", "s"), ("#REF!", "s")],
        [("plain", "s"), (2, "n")],
    ]  # fmt: skip
