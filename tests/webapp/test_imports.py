"""The page Import: files of the server, tables, projects and labels of other programs, datasets."""

import json
import shutil
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from streamlit.testing.v1 import AppTest

from tests.bad_files import write_bad
from tests.jobs.labelling.test_codebook_files import selection, written
from tests.webapp.columned import add_columns
from tests.webapp.filled import CORPUS, of_sections
from tests.webapp.hands import Open, import_from, jobs_of, plain_words_of, press
from themescope.core.readers.formats import sample
from themescope.core.records.stored import Role
from themescope.core.types import UNREADABLE
from themescope.db.store import Store
from themescope.jobs.common.files import NO_FOLDERS
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services import people
from themescope.jobs.services.labelling import files, qda_projects

TOWNS = "# Towns\n\n## History\n\nIt was founded in 1204.\n"
CLAIMS = "claim,motion,score\nGames are violent.,games,1\nGames are fun.,games,2\nSmoking kills.,smoking,3\n"


@pytest.fixture
def form(open_page: Open, import_folder: Path) -> Open:
    """Open the page with a file of a name and a content."""

    def opened(name: str, content: str | bytes, **address: str) -> AppTest:
        path = import_folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return import_from(open_page("import", **address), path)

    return opened


def box(at: AppTest, label: str) -> Any:
    """The field with a label."""
    return next(field for field in (*at.selectbox, *at.text_input) if field.label == label)


def line_of(at: AppTest) -> str:
    """The line that says what the files become."""
    return next(text.value.replace("\\", "") for text in at.markdown if "units" in text.value or "Adds" in text.value)


@pytest.mark.usefixtures("sqlite_store")
def test_a_file_that_cannot_be_imported(open_page: Open, import_folder: Path) -> None:
    missing, latin = import_folder / "nowhere.txt", write_bad(import_folder, "latin1.txt")
    for path, said in ((missing, "There is no file"), (latin, "is not UTF-8 text, although 2 other lines are.")):
        at = import_from(open_page("import"), path)
        assert said in "\n".join(error.value.replace("\\", "") for error in at.error)
        assert not any(button.label == "Import" for button in at.button)


def test_a_name_typed_just_before_the_click_counts(sqlite_store: Store, form: Open) -> None:
    at = form("towns.md", TOWNS)
    # Both reach the server in one run: the button is still the one of the page as it was before the typing.
    box(at, "Project name").set_value(" My towns ")
    box(at, "Language").set_value("de")
    press(at, "Import")
    (args,) = jobs_of(sqlite_store, "import-corpus")
    assert (args["corpus"], args["language"]) == ("My towns", "de")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that pages may read, beside one that they may not."""
    for name in ("texts", "private"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "towns.md").write_text(TOWNS, encoding="utf-8")
    return tmp_path / "texts"


def shown(at: AppTest) -> str:
    told = [str(element.value) for kind in (at.markdown, at.caption, at.error, at.text) for element in kind]
    told += [element.proto.help for element in (*at.caption, *at.file_uploader)]
    return "\n".join(told).replace("\\", "")


def has_import(at: AppTest) -> bool:
    return any(button.label == "Import" for button in at.button)


def test_without_folders_no_path_is_offered(sqlite_store: Store, open_page: Open, folder: Path) -> None:
    at = import_from(open_page("import"), folder / "towns.md")
    assert not any("path" in field.label.lower() for field in at.text_input)
    assert NO_FOLDERS in shown(at)
    assert "founded" not in shown(at) and not has_import(at)


@pytest.mark.usefixtures("sqlite_store")
def test_a_path_outside_is_not_even_previewed(open_page: Open, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEMESCOPE_IMPORT_FOLDERS", str(folder))
    secret = folder.parent / "private" / "towns.md"
    for name in ("first.md", "second.md"):
        (folder / name).symlink_to(secret)
    at = open_page("import")
    for path in (secret, folder / ".." / "private" / "towns.md", folder / "first.md", folder):
        assert "is not below the folders that pages may read" in shown(import_from(at, path))
        assert "founded" not in shown(at) and not has_import(at)
    assert len(at.error) == 1, "of a folder with links outside the first is told"


@pytest.mark.usefixtures("filled_store")
def test_forms_offer_paths_only_with_folders(open_page: Open, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for offered in (False, True):
        if offered:
            monkeypatch.setenv("THEMESCOPE_IMPORT_FOLDERS", str(folder))
        for page, label in (("import", "Source"), ("train", "Model folder on the server")):
            at = open_page(page)
            labels = [element.label for element in (*at.text_input, *at.get("button_group"))]
            assert (NO_FOLDERS not in shown(at)) is (label in labels) is offered, page


def test_a_csv_file_is_a_table_with_columns(sqlite_store: Store, form: Open) -> None:
    at = form("claims.csv", CLAIMS)
    assert line_of(at) == "**3 rows = 3 units** · text: *claim* · 2 columns · UTF-8"
    assert box(at, "Text column").value == "claim" and box(at, "Title column (optional)").value == "None"
    score = box(at, "score")
    assert score.format_func(score.value) == "Number (detected)"
    score.set_value("category").run()
    box(at, "Title column (optional)").set_value("motion").run()
    assert "motion" not in {field.label for field in at.selectbox}
    press(at, "Import")
    (args,) = jobs_of(sqlite_store, "import-corpus")
    assert (args["reader"], args["types"]) == ("table", {"score": "category"})
    assert [args["settings"][name] for name in ("text", "title", "rows")] == ["claim", "motion", "auto"]


def test_a_doubtful_column_of_the_texts_is_asked(sqlite_store: Store, form: Open) -> None:
    one = "Anna,the quiet park near my house {},too much noise at night here {}\n"
    other = "Anna,red tape at the office {},no bus {}\n"
    at = form("survey.csv", "name,good,bad\n" + one.format(0, 0) + other.format(1, 1))
    question = box(at, "Which column has the texts?")
    assert question.value == "good" and "text: *good*" in line_of(at)
    assert any("*bad* has many too" in caption.value for caption in at.caption)
    question.set_value("bad").run()
    assert "text: *bad*" in line_of(at)


def test_files_are_added_to_a_project(filled_store: Store, form: Open, import_folder: Path) -> None:
    at = form("claims.csv", CLAIMS)
    box(at, "Project").set_value(CORPUS).run()
    assert "Project name" not in {field.label for field in at.text_input}
    assert box(at, "Wave").value == "wave 2"
    box(at, "Wave").set_value("spring").run()
    assert line_of(at).startswith("**Adds 3 units to the ")
    press(at, "Add to the project")
    assert "“spring” is being added to" in at.info[0].value
    (args,) = jobs_of(filled_store, "append-corpus")
    wanted = {"corpus": CORPUS, "wave": "spring", "date": "", "duplicates": "keep"}
    assert {name: args[name] for name in wanted} == wanted and args["files"] == [str(import_folder / "claims.csv")]


def test_a_table_is_added_as_those_before(filled_store: Store, form: Open, import_folder: Path) -> None:
    """Text, title and kind of rows are those of the project, though the texts are long and another column is longer."""
    first = import_folder / "first.csv"
    first.write_text(CLAIMS, encoding="utf-8")
    args = {"files": [str(first)], "corpus": "Claims", "settings": {"text": "claim", "title": "motion"}}
    run_here(filled_store, "import-corpus", args, quiet=True)
    long = f"{'The tax is unfair. It hurts. ' * 15},{'A very long motion ' * 40},"
    at = form("claims.csv", "claim,motion,score\n" + "".join(f"{long}{score}\n" for score in range(3)))
    box(at, "Project").set_value("Claims").run()
    assert line_of(at).startswith("**Adds 3 units to the 3 of “Claims”**")
    chosen = [box(at, label).value for label in ("Text column", "Title column (optional)", "Rows are")]
    assert chosen == ["claim", "motion", "Sentences"]


def run_queued(store: Store, *kinds: str) -> None:
    """Run the queued jobs of some kinds, the first one first."""
    for kind in kinds:
        for args in reversed(jobs_of(store, kind)):
            run_here(store, kind, args, quiet=True)


def names_of(store: Store, project: str = CORPUS) -> list[str]:
    """The names of the codings of a project."""
    with store.reading() as r:
        return [record.name for record in r.labellings.list(r.corpora.by_name(project).id)]


def sentences(store: Store, title: str) -> list[str]:
    with store.reading() as r:
        (article,) = r.corpora.articles_by_title(1, title)
        return [sentence.text for sentence in r.corpora.sentences(article.id)]


def test_a_bundle_is_looked_into_and_imported(filled_store: Store, open_page: Open, import_folder: Path) -> None:
    path = import_folder / "a.zip"
    run_here(filled_store, "export-bundle", {"corpus": CORPUS, "file": str(path)}, quiet=True)
    at = import_from(open_page("import"), path)
    assert "Project of Themescope (bundle): 3 texts, 72 units, 0 codings" in plain_words_of(at)
    press(at, "Import")
    assert jobs_of(filled_store, "import-bundle") == [{"file": str(path), "corpus": f"{CORPUS} 2"}]


def test_a_foreign_project_starts_a_project_or_adds_its_codes(filled_store: Store, form: Open) -> None:
    labelling = of_sections(filled_store)
    content = qda_projects.qdpx(filled_store, labelling.id)
    at = form("study.qdpx", content, corpus=CORPUS)
    told = plain_words_of(at)
    assert "(QDPX): 3 texts, 6 codes, 1 coder; 3 texts and 72 of 72 passages found here** for *Rivers*" in told
    press(at, "Add the codings")
    at = form("study.qdpx", content, corpus=CORPUS)
    at.button_group(key=next(g.key for g in at.button_group if g.label == "Becomes")).set_value("New project").run()
    press(at, "Import")
    run_queued(filled_store, "import-corpus", "import-codings")
    with filled_store.reading() as r:
        codes = {cluster.name for cluster in r.labellings.clusters(labelling.id).values()}
        assert [(corpus.name, corpus.articles) for corpus in r.corpora.list()] == [(CORPUS, 3), ("Mine", 3)]
        for corpus in r.corpora.list():
            (made,) = [one for one in r.labellings.list(corpus.id) if one.origin.get("name") == "study.qdpx"]
            assert {cluster.name for cluster in r.labellings.clusters(made.id).values()} == codes


def test_foreign_labels_start_a_project_with_a_coding_of_each_coder(filled_store: Store, form: Open) -> None:
    def by(coder: str, code: str) -> dict[str, object]:
        result = {"type": "choices", "value": {"choices": [code]}}
        return {"completed_by": {"email": coder}, "result": [result]}

    tasks = [
        {"data": {"text": text}, "annotations": [by("anna", code), by("ben", "housing")]}
        for text, code in (("Rents are too high.", "housing"), ("Trains are late.", "transport"))
    ]
    at = form("party answers.json", json.dumps(tasks), corpus=CORPUS)
    assert "**Labels of 2 units by anna, ben**" in plain_words_of(at)
    press(at, "Import")
    run_queued(filled_store, "import-corpus", "import-codings")
    with filled_store.reading() as r:
        assert r.corpora.by_name("party answers").sentences == 2
    assert sorted(names_of(filled_store, "party answers")) == ["party answers (anna)", "party answers (ben)"]


def test_only_a_table_of_labels_of_this_project_adds_a_coding(filled_store: Store, form: Open) -> None:
    rows = "".join(f'"{text}",{"ab"[n % 2]}\n' for n, text in enumerate(sentences(filled_store, "Nile")[:6]))
    assert "Labels of 6 units" in plain_words_of(form("codes.csv", "sentence,code\n" + rows, corpus=CORPUS))
    add_columns(filled_store)  # the table of the project itself has the column “side” of the project
    assert "6 rows = 6 units" in plain_words_of(form("again.csv", "sentence,side\n" + rows, corpus=CORPUS))
    others = "sentence,code\nRents are high.,a\nTrains are late.,b\n"
    assert "2 rows = 2 units" in plain_words_of(form("others.csv", others, corpus=CORPUS))


def test_passages_of_a_project_are_counted_and_listed(filled_store: Store, form: Open, tmp_path: Path) -> None:
    found = sentences(filled_store, "Danube")
    text = "\n".join(found)
    inner = selection(0, len(found[0]), 1) + selection(0, 2, 2) + selection(90_000, 90_009, 2)
    source = f'<TextSource name="Danube" plainTextPath="internal://t.txt">{inner}</TextSource>'
    source += '<PictureSource name="map"/>'
    at = form("study.qdpx", written(tmp_path / "made.qdpx", source, text).read_bytes(), corpus=CORPUS)
    assert "1 text and 1 of 3 passages found here, 1 in part" in plain_words_of(at)
    listed = at.dataframe[-1].value.to_numpy().tolist()
    assert ["map", "", "", "picture"] in listed
    assert ["Danube, 0–2", f"Train: {text[:2]}", "", "passage found in part"] in listed
    press(at, "Add the codings")
    assert "Study" in names_of(filled_store)


def test_rows_with_several_labels_and_without_a_sentence_are_listed(filled_store: Store, form: Open) -> None:
    first, second, *_ = sentences(filled_store, "Danube")
    rows = [(first.upper(), '["river", "water"]', "done"), (second, "[]", "done"), ("x", "NA", "")]
    content = "text\tlabel\tstatus\n" + "".join("\t".join(row) + "\n" for row in rows)
    at = form("labels.tsv", content, corpus=CORPUS)
    told = plain_words_of(at)
    assert "1 with several codes" in told and "1 × “NA” is read as no code" in told
    assert at.dataframe[-1].value.to_numpy().tolist() == [["row 4", "x", "", "no sentence has this text"]]
    assert "List as CSV" in [button.proto.label for button in at.get("download_button")]


def test_annotators_of_a_table_become_labellings(filled_store: Store, form: Open) -> None:
    first, second, *_ = sentences(filled_store, "Danube")
    at = form("labels.tsv", f"text\tada\tbea\n{first}\triver\twater\n{second}\triver\triver\n", corpus=CORPUS)
    assert "2 annotators · 1 differing" in plain_words_of(at)
    press(at, "Add the codings")
    assert {"labels (ada)", "labels (bea)"} <= {*names_of(filled_store)}


def test_a_table_that_is_not_recognised_has_codes_if_a_person_says_so(filled_store: Store, form: Open) -> None:
    """Most of its rows are units of another project, and the codes stand in a column of any name."""
    first, second, *_ = sentences(filled_store, "Danube")
    foreign = [("Rents are high.", "a", "y"), ("Trains are late.", "b", "y"), ("", "", "")] * 2
    rows = [("answer", "what", "other"), (first, "a", "x"), (second, "b", "x"), *foreign]
    at = form("answers.csv", "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows), corpus=CORPUS)
    press(at, f"These are codes of “{CORPUS}”")
    for label, column in (("Code column", "what"), ("Unit column", "answer")):
        box(at, label).set_value(column).run()
    press(at, "Add the codings")
    with filled_store.reading() as r:
        (made,) = r.labellings.list()
        assert {c.name for c in r.labellings.clusters(made.id).values()} == {"a", "b"} and made.sentences == 72


def test_a_coding_is_imported_with_its_history(filled_store: Store, form: Open) -> None:
    made = of_sections(filled_store, "mine", "lea")
    at = form("mine.jsonl", files.export_lines(filled_store, made.id), corpus=CORPUS)
    assert "Coding with its history** for *Rivers*" in plain_words_of(at)
    press(at, "Add the codings")
    with filled_store.reading() as r:
        assert [(one.name, one.owner) for one in r.labellings.list()] == [("mine", "lea"), ("mine 2", "lea")]


def test_bundle_and_dataset_are_exported_by_admins_and_downloaded(filled_store: Store, open_page: Open) -> None:
    name = of_sections(filled_store, "by section", "ada").name
    at = press(open_page("texts", view="Bundle and dataset", corpus=CORPUS), "Create bundle")
    (args,) = jobs_of(filled_store, "export-bundle")
    assert (args["corpus"], args["file"]) == (CORPUS, "")
    run_here(filled_store, "export-bundle", args, quiet=True)
    at = open_page("texts", view="Bundle and dataset", corpus=CORPUS)
    assert plain_words_of(at).count("deleted after a week") == 1
    assert name in box(at, "Labels").options
    box(at, "Labels").select(name)
    at = press(at, "Create dataset")
    (args,) = jobs_of(filled_store, "export-dataset")
    assert (args["corpus"], args["labelling"], args["themes"], args["folder"]) == (CORPUS, name, False, "")
    run_here(filled_store, "export-dataset", args, quiet=True)
    at = open_page("texts", view="Bundle and dataset", corpus=CORPUS)
    assert "sentences; deleted after a week" in plain_words_of(at)
    people.set_role(filled_store, "somebody", Role.ADMIN)
    at = open_page("texts", view="Bundle and dataset", corpus=CORPUS)
    assert "Create dataset" not in [button.label for button in at.button]


def test_the_zip_file_of_a_dataset_is_imported(filled_store: Store, open_page: Open, tmp_path: Path) -> None:
    run_here(filled_store, "export-dataset", {"corpus": CORPUS, "folder": str(tmp_path / "rivers")}, quiet=True)
    archive = Path(shutil.make_archive(str(tmp_path / "rivers again"), "zip", tmp_path, "rivers"))
    uploaded = (archive.name, archive.read_bytes(), "application/zip")
    at = open_page("import").file_uploader(key="texts_import_files_0").set_value(uploaded).run()
    assert not at.error and f"= {72} units" in plain_words_of(at)
    press(at, "Import")
    (args,) = jobs_of(filled_store, "import-corpus")
    run_here(filled_store, "import-corpus", args, quiet=True)
    with filled_store.reading() as r:
        first, again = r.corpora.by_name(CORPUS), r.corpora.by_name(str(args["corpus"]))
    assert (again.name, again.sentences, again.sections) == ("rivers", first.sentences, first.sections)


def test_several_files_are_read_each_in_its_own_format(sqlite_store: Store, open_page: Open, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for sheet in (book.active, book.create_sheet("Answers")):
        for row in (("id", "answer"), (1, "Trains are full."), (2, "Buses are late.")):
            sheet.append(row)
    book.save(tmp_path / "answers.xlsx")
    uploads = [
        ("Ada.txt", b"Ada was a town. It grew.\n", "text/plain"),
        ("answers.xlsx", (tmp_path / "answers.xlsx").read_bytes(), "application/octet-stream"),
        ("cut.docx", sample("word")[:-40], "application/octet-stream"),
    ]
    at = open_page("import").file_uploader(key="texts_import_files_0").set_value(uploads).run()
    assert list(at.dataframe[0].value["State"]) == ["Ready", "Choose", "Left out"]
    assert next(button for button in at.button if button.label == "Import").disabled
    at = press(at, r"Sheet\: Answers")
    assert list(at.dataframe[0].value["State"]) == ["Ready", "Chosen", "Left out"]
    at = press(at, "Import")
    (args,) = jobs_of(sqlite_store, "import-corpus")
    run_here(sqlite_store, "import-corpus", args, quiet=True)
    with sqlite_store.reading() as r:
        corpus = r.corpora.by_name("Ada and 2 more files")
        (entry,) = [entry for entry in r.corpora.entries(corpus.id) if entry.reason == UNREADABLE]
    assert (corpus.articles, corpus.sentences, entry.place) == (2, 4, "cut.docx")
