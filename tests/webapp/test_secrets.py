"""What a person may not see is in no answer: facts × channels × people, over a store with a secret of each kind.

A blind task is open: Lea and Ben label the same articles. Each secret is a text that nothing else contains, or a mark;
every channel is asked for everything by everybody, and all that comes back is searched for it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from argon2 import PasswordHasher
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

pytest.importorskip("mcp")

from tests import event_loops
from tests.homes import MakeHome
from tests.jobs.helpers import open_item
from tests.webapp.browsers import SECRET
from tests.webapp.browsers import browser as new_browser
from tests.webapp.columned import add
from tests.webapp.filled import add_map, add_model, add_themes, end_job, fill
from themescope.core.columns import ColumnLevel, ColumnType
from themescope.core.errors import ThemescopeError
from themescope.core.labelling import operations as op
from themescope.core.labelling.codebook.entries import PortableCode
from themescope.core.labelling.codebook.operations import adopt
from themescope.core.labelling.operations import Origin, selected
from themescope.core.labelling.task_items import DistributionPlan
from themescope.core.records.stored import LabellingRecord, Role, ScoreRecord, Sharing
from themescope.core.types import Split, TripletRows
from themescope.db import tables as t
from themescope.db.access import Right
from themescope.db.records import NewLabelling, VectorBlock
from themescope.db.repositories.failures import CollectedFailure
from themescope.db.settings import Settings
from themescope.db.store import Store, Unit
from themescope.jobs.api.application import description
from themescope.jobs.api.problems import Caller
from themescope.jobs.cli.main import main
from themescope.jobs.mcp import TOOLS
from themescope.jobs.services import corpus_edits, failures, people, report, search, tasks
from themescope.jobs.services.labelling import files, starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features import REGISTRY
from themescope.webapp.shared.people import new_token

PEOPLE = {
    "ada": Role.ADMIN, "lea": Role.LABELLER, "ben": Role.LABELLER, "tom": Role.LABELLER, "val": Role.VIEWER,
    "zenaida": Role.VIEWER,
}  # fmt: skip
ASKING = ("ada", "lea", "tom", "val")
"""An admin, a member of the blind task, a labeller and a viewer beside it."""
NOBODY = "nobody"
"""Who has not signed in, where pages and programs are asked."""
SECRETS: Mapping[str, tuple[str, ...]] = {
    "blind labels": ("OSPREY",),
    "names of hidden labellings": ("KESTREL",),
    "notes of others": ("HERON",),
    "codebooks of others": ("EGRET",),
    "gold labels": ("GOLDCREST", "GOLDFINCH"),
    "gold marks": ('"reason":"gold"', '"gold_id":1', '"gold_share":'),
    "triplets of hidden labels": ("CURLEW",),
    "models of hidden labels": ("PLOVER",),
    "maps of such models": ("SNIPE",),
    "jobs about hidden labels": ("TURNSTONE",),
    "selections by hidden labels": ("AVOCET",),
    "views of hidden labels": ("DUNLIN",),
    "deleted labellings of others": ("SANDPIPER",),
    "codes of failures": ("SMEW",),
    "texts of removed articles": ("WIGEON",),
    "values of removed articles": ("SCAUP",),
    "names of removed articles": ("GADWALL",),
    "texts before a correction": ("POCHARD",),
    "people": ("zenaida",),
    "paths of the machine": ("/srv/teal", "/var/teal"),
}
OF_THE_TASK = {*[*SECRETS][:13]} - {"gold marks"}
"""What is hidden from members of the blind task only."""


def may(person: str, fact: str) -> bool:
    if fact in ("texts of removed articles", "values of removed articles"):
        return False
    if fact == "codes of failures":
        return person in ("ada", "val")  # labellers have not begun to code them
    return person == "ada" or (fact in OF_THE_TASK and person in ("tom", "val"))


def secretive(store: Store) -> None:
    fill(store)
    for name, role in PEOPLE.items():
        people.add(store, name, role, SECRET)
    with store.reading() as r:
        corpus = r.corpora.list()[0]
        danube, nile, third = r.corpora.articles(corpus.id)
        ids, banks, others = ([s.id for s in r.corpora.sentences(article.id)] for article in (danube, nile, third))
    gold = labelled(store, corpus.id, "ada", "GOLDFINCH", "GOLDCREST", ids[:6], Sharing.GOLD)
    plan = DistributionPlan(("lea", "ben"), 1.0, 2)
    form = tasks.TaskForm(
        corpus.id, "Rivers coded", "ada", (danube.id, nile.id), plan, blind=True, gold_id=gold.id, gold_share=0.77
    )
    task = tasks.make(store, form)
    with store.reading() as r:
        items = r.tasks.items(task.id)
    for person in ("lea", "ben"):
        open_item(store.by(lambda who=person: who), next(i.id for i in items if i.person == person))
    with store.reading() as r:
        bens = next(m.labelling_id for m in r.tasks.members(task.id) if m.person == "ben")
    session = LabellingSession(store, bens or 0, "ben")
    session.do(op.create(session.partition, session.next_number, "OSPREY", np.array(ids[:9])))
    session.do(op.note(session.partition, np.array(ids[:2]), "HERON"))
    entry = PortableCode("OSPREY", "", None, {"definition": "EGRET"}, (), ())
    session.do(adopt(session.partition, [entry], lambda _: None, session.next_number).operation)
    with store.writing() as w:
        w.labellings.rename(session.record.id, "KESTREL", "ben")
    deleted = labelled(store, corpus.id, "ben", "SANDPIPER", "SANDPIPER", ids[:3])
    with store.writing() as w:
        w.labellings.delete(deleted.id, "ben")
        learned(w, corpus.id, session.record, ids)
        w.views.add("code", "DUNLIN", "code_labelling=KESTREL", "ben")
        w.selections.add(selected(corpus.id, ids[:9], Origin("theme", ("OSPREY of KESTREL",))), "AVOCET", "ben")
        w.selections.add(selected(corpus.id, others, Origin("list", ("chosen by hand",))), "by hand", "ben")
        w.selections.add(selected(corpus.id, ids, Origin("list", ("chosen by hand",))), "", "tom")
        args = {"files": ["/srv/teal/rivers.jsonl"], "corpus": corpus.name}
        end_job(w, "predict-labels", "Import more", args, error="/var/teal/x cannot be read.")
        add_model(w, "By words", config={"word_vectors": "/srv/teal/vectors.txt"})
    sides = ["left", "right", "SCAUP"]
    add(store, corpus.id, "side", ColumnType.CATEGORY, [danube.id, nile.id, third.id], sides, ColumnLevel.ARTICLE)
    made = failures.collect(
        store, corpus.id, "batch", [CollectedFailure("sentence", "It failed.", "a search", (ids[0],))], "ben"
    )
    coding = LabellingSession(store, failures.coding_of(store, made.corpus, "ben").id, "ben")
    coding.do(op.create(coding.partition, 1, "SMEW", coding.partition.ids))
    corpus_edits.correct_text(store, corpus.id, ids[-1], "POCHARD was wrong.", "ada")
    corpus_edits.correct_text(store, corpus.id, ids[-1], "This is right.", "ada")
    theme = {"name": "water", "words": ["river"], "size": 72, "central": [others[-1], ids[0]]}
    with store.writing() as w:
        about = {"settings": {"clusterer": "iclust"}, "reason": "One theme was asked for.", "sampled_from": 72}
        add_themes(w, corpus.id, "t1", ["water"], [0] * 72, themes=[theme], **about)
        own = w.triplets.create(corpus.id, "of all", "sentences", {}, 0, "all").id
        rows = [np.array(others[-1:]), np.array(others[:1]), np.array(ids[:1])]
        w.triplets.add(own, Split.TRAIN, TripletRows(np.zeros(1, int), np.array([third.id]), *rows))
        w.triplets.finish(own, {})
        for table, id, values in (
            (t.article, third.id, {"title": "GADWALL"}),
            (t.sentence, others[-1], {"text": "WIGEON stands here."}),
        ):
            w.corpora.connection.execute(table.update().where(table.c.id == id).values(values))
    labelled(store, corpus.id, "lea", "lea's own", "land", [*banks, *others])
    corpus_edits.remove_articles(store, corpus.id, [third.id], "ada")


def labelled(
    store: Store, corpus_id: int, person: str, name: str, code: str, ids: list[int], kind: Sharing = Sharing.OWN
) -> LabellingRecord:
    record = starts.begin(store, NewLabelling(corpus_id, name, person, kind), starts.from_nothing)
    session = LabellingSession(store, record.id, person)
    session.do(op.create(session.partition, session.next_number, code, np.array(ids)))
    return record


def learned(w: Unit, corpus_id: int, source: LabellingRecord, ids: list[int]) -> None:
    """Triplets that were learned from a labelling, and what was made of these; jobs; predictions."""
    config = {"from": "labels", "labellings": {source.name: 3}, "per_sentence": 1}
    made = w.triplets.create(corpus_id, "CURLEW", "sentences", config, 0, "learned")
    article = w.corpora.sentences_by_id(ids[:1])[ids[0]].article_id
    columns = [np.array(ids[i : i + 4]) for i in (0, 1, 9)]
    w.triplets.add(made.id, Split.TRAIN, TripletRows(np.zeros(4, int), np.full(4, article), *columns))
    w.triplets.finish(made.id, {"triplets": {"train": 4, "validation": 0, "test": 0}})
    trained = add_model(w, "PLOVER", corpus_id=corpus_id, triplet_set_id=made.id)
    vectors = [VectorBlock(a.id, np.ones((a.sentences, 2), np.float32)) for a in w.corpora.articles(corpus_id)]
    w.embeddings.add(trained.id, vectors)
    metric = {"labelling": source.name, "judged sentences": 9}
    add_model(w, "PLOVER metric", corpus_id=corpus_id, metrics=metric)
    scores = [ScoreRecord(0, None, "triplet accuracy", 0.75, 0.6, 0.9, 3)]
    w.runs.add(kind="triplets", digest="e2", model_id=trained.id, config={"of": "PLOVER"}, scores=scores)
    add_map(w, corpus_id, "SNIPE", np.array(ids), trained.id)
    for title, args, result in (
        ("TURNSTONE", {"name": "CURLEW", "labellings": [source.name]}, {"set": "CURLEW"}),
        ("TURNSTONE", {"labelling": source.name}, {"labelling": source.name, "labelling_id": source.id}),
        ("TURNSTONE", {"labelling": "its former name"}, {}),
        ("TURNSTONE", {"model": "PLOVER"}, {}),
    ):
        end_job(w, "predict-labels", title, args, result)
    found = {"ids": np.array(ids), "probabilities": np.zeros((len(ids), 1), np.float16)}
    w.predictions.replace(source.id, model="Mean", step=1, labels=9, codes=np.array([1]), report={}, **found)


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("themescope.db.passwords.HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        return make_home(secretive)


@pytest.fixture
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The store; pages and programs are those of its home, where people sign in."""
    monkeypatch.setenv("THEMESCOPE_HOME", str(home))
    monkeypatch.setenv("THEMESCOPE_LOGIN", "always")
    store = Store(Settings.from_environment())
    yield store
    store.close()


def leaks(person: str, asked: str, answer: str) -> list[str]:
    """What an answer tells a person who may not see it; what they asked for by name is no secret to them."""
    return [
        f"{person}: {asked}: {fact}"
        for fact, signs in SECRETS.items()
        if not may(person, fact) and any(sign in answer and sign not in asked for sign in signs)
    ]


def told(person: str, answers: Mapping[str, str], expected: set[str]) -> str:
    """The leaks of answers, which tell what of ``expected`` the person may know."""
    found = {fact for fact, signs in SECRETS.items() for one in answers.values() if any(sign in one for sign in signs)}
    missing = [f"{person} does not find: {fact}" for fact in expected if may(person, fact) and fact not in found]
    return "\n".join([*missing, *(leak for path, answer in answers.items() for leak in leaks(person, path, answer))])


def ids_of(store: Store) -> dict[str, list[Any]]:
    """The values of the parameters of paths: every id, of sentences those with secrets."""
    with store.reading() as r:
        tables = ("corpus", "article", "labelling", "run", "map", "model", "triplet_set", "task", "job", "selection")
        of = {f"{name}_id": [*r.corpora.connection.scalars(sa.select(t.metadata.tables[name].c.id))] for name in tables}
        secret = sa.select(t.sentence.c.id).where(t.sentence.c.text.contains("WIGEON"))
        hidden = [*r.corpora.connection.scalars(secret)]
    return {**of, "set_id": of["triplet_set_id"], "sentence_id": [1, *hidden], "kind": ["train"]}


def questions(store: Store) -> list[str]:
    """The addresses of everything that programs read."""
    ids, found = ids_of(store), []
    for path, operations in description()["paths"].items():
        if "get" not in operations:
            continue
        names = re.findall(r"{(\w+)}", path)
        wanted = [""]
        for one in operations["get"].get("parameters", ()):
            choices = one["schema"].get("enum") or []
            if "$ref" in one["schema"]:
                choices = description()["components"]["schemas"][one["schema"]["$ref"].rpartition("/")[2]]["enum"]
            if one["in"] == "query" and choices and one["name"] != "split":
                wanted = [f"{one['name']}={choice}" for choice in choices if choice not in ("parquet", "meaning")]
        if path.endswith("/search"):
            wanted = [f"method={way}&text={word}" for way in ("text", "words") for word in ("river", "sentence")]
        for values, query in product(product(*(ids[name] for name in names)), wanted):
            address = path.format(**dict(zip(names, values, strict=True)))
            found.append(f"{address}?{query}&limit=1000" if "limit" in str(operations["get"]) else f"{address}?{query}")
    return found


def asked_by_program(store: Store, person: str) -> dict[str, str]:
    """Question → answer of the HTTP API, of everything there is."""
    token = people.create(store, person, "a token").secret if person in PEOPLE else ""
    client = new_browser(headers={"authorization": f"Bearer {token}"} if token else {})
    answers = {path: client.get(f"/api/v1{path}") for path in questions(store)}
    assert {answer.status_code for answer in answers.values()} <= ({200, 403, 404, 409} if token else {401})
    return {path: answer.text for path, answer in answers.items()}


@pytest.mark.parametrize("person", [*ASKING, NOBODY])
def test_programs(store: Store, person: str) -> None:
    expected = SECRETS.keys() - {"views of hidden labels", "deleted labellings of others"}
    assert told(person, asked_by_program(store, person), expected) == ""


def asked_by_tool(store: Store, person: str) -> dict[str, str]:
    """Question → answer or error of the tools that read."""

    def given(name: str) -> list[dict[str, Any]]:
        ids = ids_of(store)
        of_labellings = [{"labelling_id": id} for id in ids["labelling_id"]]
        return {
            "search_sentences": [{"corpus_id": 1, "text": word, "limit": 1000} for word in ("stands", "sentence")],
            "list_theme_members": [{"run_id": id, "theme": 0} for id in ids["run_id"]],
            "agreement": [{"labellings": [a, b]} for a, b in product(ids["labelling_id"], repeat=2)],
            "estimate": [{"labellings": [id]} for id in ids["labelling_id"]],
            "get_job": [{"job_id": id} for id in ids["job_id"]],
            **dict.fromkeys(("get_labelling", "list_labels"), of_labellings),
        }.get(name, [{}])

    async def answers() -> dict[str, str]:
        with store.reading() as r:
            caller = Caller(store, r.people.actor(person))
        found = {}
        for name, tool in TOOLS.items():
            for arguments in given(name) if tool.right is Right.LOOK else ():
                try:
                    found[f"{name} {arguments}"] = await tool.call(caller, arguments)
                except ThemescopeError as error:
                    found[f"{name} {arguments}"] = str(error)
        return found

    return event_loops.run(answers)


@pytest.mark.parametrize("person", ASKING)
def test_tools(store: Store, person: str) -> None:
    assert told(person, asked_by_tool(store, person), {"blind labels", "notes of others", "gold labels"}) == ""


def asked_of_the_store(store: Store, person: str) -> dict[str, str]:
    """Search, report and messages of errors, as pages and programs have them."""
    own, found = store.by(lambda: person), dict[str, str]()
    for word in ("of", "stands", "sentence", "KES", "PLOV", "water"):
        found[f"search {word}"] = str(search.find_everything(own, word, 1))
    with own.reading() as r:
        corpus, known = r.corpora.get(1), r.labellings.list(1)
    for long in (False, True):
        found[f"report {long}"] = report.report_file(own, corpus, known, ".md", long).decode()
    for one in known:
        found[f"lines of {one.id}"] = files.export_lines(own, one.id)
        found[f"for other programs {one.id}"] = files.label_studio(own, one.id) + files.doccano(own, one.id)
    refused: tuple[Callable[[Unit], Any], ...] = (
        lambda r: r.labellings.by_name("KESTRE"),
        lambda r: r.triplets.by_name("CURLE"),
        lambda r: r.models.by_name("PLOVE"),
        lambda r: r.corpora.article(3),
        *(lambda r, id=id: r.labellings.rename(id, "mine", person) for id in ids_of(store)["labelling_id"]),
        *(lambda r, id=id: r.labellings.delete(id, person) for id in ids_of(store)["labelling_id"]),
    )
    for number, refuse in enumerate(refused):
        try:
            with own.writing() as w:
                refuse(w)
                raise _Undo
        except (ThemescopeError, _Undo) as error:
            found[f"refused {number}"] = str(error)
    return found


class _Undo(Exception):
    """Rolls a transaction back."""


@pytest.mark.parametrize("person", ASKING)
def test_search_reports_files_and_errors(store: Store, person: str) -> None:
    answers = asked_of_the_store(store, person)
    assert told(person, answers, {"blind labels", "names of hidden labellings", "models of hidden labels"}) == ""


OWNER = "ada"
"""Commands act for the owner of the data folder, who may see what an admin may."""


def asked_by_command(store: Store, folder: Path) -> dict[str, str]:
    """Command line → output, and file → content, of the commands that read."""
    with store.reading() as r:
        corpus, names = r.corpora.get(1).name, [one.name for one in r.labellings.list()]
    stored = ("corpora", "triplets", "models", "benchmarks", "runs", "maps", "labellings")
    lines = [["list", what] for what in stored] + [["list", "skipped", corpus], ["edit", corpus], ["jobs", "list"]]
    lines += [["jobs", "show", str(id)] for id in ids_of(store)["job_id"]]
    lines += [["people", "list"], ["people", "list", "--tokens"], ["people", "list", "--log", "99"]]
    lines += [["estimate", name] for name in names] + [["report", corpus, "--methods", "latex"]]
    lines += [[*line, "--json"] for line in lines]
    lines += [["labels", "export", name, str(folder / f"{at}{end}")] for at, name in enumerate(names) for end in _ENDS]
    lines += [["report", corpus, "--long", "--out", str(folder / "report.md")]]
    lines += [["export", "bundle", corpus, str(folder / "bundle.zip")]]
    found = {" ".join(line): CliRunner().invoke(main, line).output for line in lines}
    return found | {file.name: "".join(_contents(file)) for file in folder.iterdir()}


_ENDS = (".jsonl", ".parquet")


def _contents(file: Path) -> Iterator[str]:
    if file.suffix == ".zip":
        with ZipFile(file) as archive:
            yield from (archive.read(name).decode("utf-8", "ignore") for name in archive.namelist())
    elif file.suffix == ".parquet":
        yield str(pq.read_table(file).to_pylist())
    else:
        yield file.read_text("utf-8", "ignore")


def test_commands(store: Store, tmp_path: Path) -> None:
    token = people.create(store, "lea", "a token of commands").secret
    answers = asked_by_command(store, tmp_path)
    expected = SECRETS.keys() - {"views of hidden labels", "selections by hidden labels", "gold marks"}
    assert told(OWNER, answers, expected - {"deleted labellings of others"}) == ""
    for secret in (token, SECRET, "$argon2"):
        assert not [asked for asked, answer in answers.items() if secret in answer]


def shown(at: AppTest) -> str:
    """All that a page sent to the browser, also in tables, components and files."""
    found: list[str] = []

    def collect(node: Any) -> None:
        proto = getattr(node, "proto", None)
        if proto is not None:
            found.append(proto.SerializeToString().decode("utf-8", "ignore"))
        for child in getattr(node, "children", {}).values():
            collect(child)

    collect(at._tree)
    return "\n".join(found)


def test_pages(store: Store, browser: Callable[[str], None], open_page: Callable[..., AppTest]) -> None:
    """An admin comes first: what pages keep for a while must not pass from one person to another."""
    addresses: list[tuple[str, dict[str, str]]] = [(card.id, {}) for card in REGISTRY]
    addresses += [
        ("code", {"labelling": "KESTREL"}), ("code", {"labelling": "lea's own"}), ("triplets", {"set": "CURLEW"}),
        ("triplets", {"set": "of all"}), ("map", {"map": "SNIPE"}), ("tasks", {"task": "Rivers coded"}),
        ("texts", {"view": "Read"}), ("texts", {"view": "Import report"}), ("texts", {"view": "Bundle and dataset"}),
    ]  # fmt: skip
    expected = {"blind labels", "names of hidden labellings", "gold labels", "models of hidden labels"}
    for person in (*ASKING, NOBODY):
        browser(people.sign_in(store, person, SECRET, "") if person in PEOPLE else new_token())
        answers = {}
        for page, query in addresses:
            at = open_page(page, **query)
            answers[f"{page} {query}"] = shown(at)
        assert told(person, answers, expected) == ""
