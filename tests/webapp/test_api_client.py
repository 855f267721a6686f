"""The Python client: every operation of the description is reached, pages are hidden, errors are sentences."""

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from starlette.responses import PlainTextResponse

import themescope
from tests.jobs.helpers import worker_thread
from tests.places import ROOT
from tests.served import served
from tests.test_documentation import blocks
from tests.webapp.browsers import APP, SECRET
from tests.webapp.filled import fill
from themescope.core.client import Client
from themescope.core.errors import ConfigError, DataError, RequestError
from themescope.core.records.stored import Role
from themescope.db.store import Store
from themescope.jobs.api.application import description
from themescope.jobs.services import people

pytestmark = pytest.mark.usefixtures("cheap_passwords")


@pytest.fixture
def client(sqlite_store: Store) -> Iterator[Client]:
    """A client where nobody signs in."""
    fill(sqlite_store)
    with served(APP) as address, themescope.Client(address) as client:
        yield client


def test_labels_are_changed_and_exported(client: Client, tmp_path: Path) -> None:
    (corpus,) = client.corpora()
    assert (corpus.name, corpus.sentences, corpus.created.tzinfo is not None) == ("Rivers", 72, True)
    made = client.create_labelling(1, "mine", start="sections", shared=True)
    assert client.change_labelling(made.id, name="ours").name == "ours" and client.labellings() != []
    step = client.assign(made.id, [1, 2], 3, reason="because")
    assert step is not None and step.reason == "because" and client.assign(made.id, [1, 2], 3) is None
    client.create_cluster(made.id, "new", [5]), client.rename_cluster(made.id, 7, "newer")
    client.unassign(made.id, [5]), client.mark(made.id, 5 * pd.Series([1]), True), client.note(made.id, [5], "?")
    client.merge_clusters(made.id, [4, 5], 4), client.delete_cluster(made.id, 7)
    (label,) = client.labels(made.id, -1)
    assert (label.sentence.id, label.cluster, label.uncertain, label.note) == (5, None, True, "?")
    assert [step.operation for step in client.steps(made.id)][:3] == ["delete", "merge", "note"]
    undone = client.undo(made.id)
    assert undone is not None and undone.kind == "undo" and client.redo(made.id) is not None
    client.export_labels(made.id, tmp_path / "labels.parquet")
    client.export_labels(made.id, str(tmp_path / "labels.jsonl"))
    assert pq.read_table(tmp_path / "labels.parquet").num_rows == 72
    assert len([json.loads(line) for line in (tmp_path / "labels.jsonl").read_text().splitlines()]) == 72
    kinds = [client.change_labelling(made.id, shared=shared).kind for shared in (False, True)]
    assert kinds == ["own", "shared"]
    client.delete_labelling(made.id)
    assert client.labellings() == [] and client.restore_labelling(made.id).name == "ours"


def test_themes_of_sentences_in_one_line(sqlite_store: Store, tmp_path: Path) -> None:
    texts = [
        f"{start} in {town}."
        for start in ("Wind farms disturb birds", "A curfew lowers crime", "The orchestra plays music")
        for town in ("York", "Bath", "Ely", "Leeds", "Ripon", "Truro", "Wells", "Derby")
    ]
    with worker_thread(sqlite_store), served(APP) as address, themescope.Client(address) as client:
        run = client.themes(texts, corpus="claims", k=3, language="en", model="static-wikipedia")
        assert run.sentences == len(texts) and [theme.size for theme in run.themes] == [8, 8, 8]
        members = {member.sentence.text: member.theme for member in client.theme_members(run.id)}
        assert [members[text] for text in texts] == [members[text] for text in texts[::8] for _ in range(8)]
        assert run.levels[run.level].run_id == run.id and [level.themes for level in run.levels] == [2, 3]
        joined = client.theme_run(run.levels[0].run_id)
        assert (joined.level, joined.levels) == (0, run.levels) and [theme.size for theme in joined.themes] == [16, 8]
        assert [found.id for found in client.theme_runs(run.corpus_id)] == [run.id]
        inside = {(members[m.sentence.text], m.theme) for m in client.theme_members(joined.id)}
        assert len(inside) == 3, "each theme of a level lies inside one of the level above"
        assert client.rename_theme(run.id, 1, "Curfews").themes[1].name == "Curfews"
        with pytest.raises(RequestError, match="A corpus called 'claims' exists already"):
            client.themes(texts, corpus="claims")
        wave = client.append_sentences(run.corpus_id, ["Wind farms are loud.", texts[0]], "May", only_new=True)
        assert client.wait(wave[0].id).status == "done" and client.corpus(run.corpus_id).sentences == len(texts) + 1
        file = tmp_path / "more.csv"
        file.write_text("text\nSolar power is cheap.\nCoal is dirty.\n", encoding="utf-8")
        arguments = {"files": [client.upload(file).path], "corpus": "more", "language": "en"}
        job = client.queue("import-corpus", arguments)
        done = client.wait(job.id)
        assert done.status == "done", done.error
        client.delete_job(job.id), client.delete_corpus(done.result["corpus_id"])
        assert [corpus.name for corpus in client.corpora()] == ["claims"]
        with pytest.raises(RequestError, match="is failed"):
            client.themes(["One.", "Two."], language="en", model="nothing")


def test_the_documented_way_predicts(sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = ("A wind farm disturbs birds", "A curfew lowers crime")
    rows = [f"{claim} in town {i}." for i in range(30) for claim in about]
    (tmp_path / "claims.csv").write_text("claim\n" + "\n".join(rows) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THEMESCOPE_TOKEN", "")
    with worker_thread(sqlite_store), served(APP) as address:
        code = "".join(blocks(ROOT / "docs" / "http-api.md", "py")).replace("http://127.0.0.1:8501", address)
        exec(code, {})
    labels = pd.read_csv("labels.csv")
    assert len(labels) == 60 and {*labels["source"]} == {"machine"} and labels["probability"].notna().all()
    about_wind = labels["sentence"].str.contains("wind")
    assert [*labels["cluster"].groupby(about_wind).nunique()] == [1, 1] and labels["cluster"].nunique() == 2


def test_errors_are_the_sentences_of_the_server(client: Client, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="There is no corpus called '9'") as caught:
        client.corpus(9)
    assert caught.value.status == 404
    for file in ("labels.parquet", "labels.csv"):
        with pytest.raises(RequestError, match="There is no labelling"):
            client.export_labels(9, tmp_path / file)
    with pytest.raises(DataError, match=r"\.csv, \.jsonl, \.parquet"):
        client.export_labels(9, tmp_path / "labels.xlsx")
    assert [*tmp_path.iterdir()] == []
    with pytest.raises(RequestError, match=r"No answer from http://127\.0\.0\.1:9"):
        themescope.Client("http://127.0.0.1:9").corpora()
    with pytest.raises(RequestError):
        themescope.Client("nonsense").corpora()


def test_a_server_that_is_another_is_told() -> None:
    with served(PlainTextResponse("<html>", 502)) as address, pytest.raises(RequestError, match="502 Bad Gateway"):
        themescope.Client(address).corpora()


def test_a_token_is_sent(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEMESCOPE_LOGIN", "always")
    people.add(sqlite_store, "val", Role.VIEWER, SECRET)
    token = people.create(sqlite_store, "val", "notebook").secret
    with served(APP) as address:
        assert themescope.Client(address, token=token).me().name == "val"
        with pytest.raises(RequestError, match="needs a token") as caught:
            themescope.Client(address).me()
    assert caught.value.status == 401
    with pytest.raises(ConfigError, match="no token"):
        themescope.Client(token="themescope_…")


def test_methods_are_the_operations_with_their_signatures(client: Client) -> None:
    for operation in (one for path in description()["paths"].values() for one in path.values()):
        name = operation["operationId"]
        short = {"search_sentences": "search", "list_similar_sentences": "similar"}.get(name)
        short = short or re.sub("^(list|get)_|^(?=queue)|(?<=queue)_job|(?<=cancel)_job|(?<=retry)_job", "", name)
        method = getattr(client, short)
        assert short in dir(client) and method.__doc__, name
    assert [*inspect.signature(client.assign).parameters] == [
        "labelling_id", "sentences", "cluster", "reason", "seen", "coder",
    ]  # fmt: skip
    assert [*inspect.signature(client.export_labels).parameters] == ["labelling_id", "file", "columns"]
    with pytest.raises(TypeError, match="missing a required argument: 'cluster'"):
        client.assign(1, [2])
    made = client.create_labelling(1, "stays", start="sections")
    for cluster in ("..", "1/..", "%2e%2e", 1.5):
        with pytest.raises(TypeError):
            client.delete_cluster(made.id, cluster)
    assert client.labelling(made.id).labelling.deleted is None
    with pytest.raises(AttributeError, match="has no method 'nothing'"):
        _ = client.nothing
