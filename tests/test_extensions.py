"""A package that adds a method, a clusterer, a reader, a metric, a job kind and a page is found everywhere.

Each of the six is one file with one card, declared as an entry point. The package lies in a temporary folder, and every
check looks at what one fresh process found, because registries load plug-ins once.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

import pytest

from tests.places import ROOT
from themescope.core.config import Config
from themescope.core.models.base import BaseModel

FILES = {
    "model.py": """
from dataclasses import dataclass

import numpy as np

from themescope.core.config import Config, option
from themescope.core.models.artifact import read_settings, write_settings
from themescope.core.types import SILENT
from themescope.core.registry import Card

CARD = Card("toy-letters", "Toy letters", "Counts letters.", "A test", "toy.model:Letters", "toy.model:LettersConfig")

@dataclass(frozen=True)
class LettersConfig(Config):
    letters: str = option("aeiou", "Letters that are counted.")

class Letters:
    def __init__(self, config, seed):
        self.config, self.seed = config, seed

    def fit(self, corpus, report=SILENT):
        return self

    def embed(self, sentences):
        counts = [[s.text.count(c) for c in self.config.letters] for s in sentences]
        return np.array(counts, np.float32).reshape(len(sentences), len(self.config.letters))

    def distances(self, a, b):
        return np.abs(a - b).sum(axis=1)

    def save(self, folder):
        write_settings(folder, self.config, self.seed)

    @classmethod
    def load(cls, folder):
        return cls(*read_settings(folder, LettersConfig))
""",
    "clusterer.py": """
import numpy as np

from themescope.core.registry import Card

CARD = Card("toy-turns", "Toy turns", "Deals rows out.", "Test", "toy.clusterer:Turns", "themescope.core.config:Config",
            frozenset({"needs-k"}))

class Turns:
    def __init__(self, config):
        self.config = config

    def fit_predict(self, x, k=None, seed=0):
        return (np.arange(x.shape[0]) % k).astype(np.int32)
""",
    "reader.py": """
from themescope.core.readers import ReaderCard
from themescope.core.readers.streams import whole_text
from themescope.core.types import Article, Paragraph, Section

SAMPLE = b"TOY\\nAda\\nIt was founded in 1200.\\n"
CARD = ReaderCard("toy-format", "Toy format", "Files that begin with TOY.", "A test", "toy.reader:Toy",
                  "themescope.core.config:Config",
                  detector="toy.reader:recognises", sample="toy.reader:SAMPLE", suffixes=("toy",))

def recognises(head):
    return head.text.startswith("TOY\\n")

class Toy:
    skipped: dict = {}

    def __init__(self, config):
        self.config = config

    def read(self, path, report):
        _, title, *lines = whole_text(path, report).splitlines()
        yield Article(title, (Section("", 1, tuple(Paragraph(line) for line in lines)),))
""",
    "metric.py": """
from themescope.core.registry import Card

CARD = Card("toy-difference", "Toy difference", "Compares numbers of clusters.", "A test", "toy.metric:Difference",
            "themescope.core.config:Config")

class Difference:
    def __init__(self, config):
        self.config = config

    def score(self, truth, labels):
        return float(len({*truth.tolist()}) - len({*labels.tolist()}))
""",
    "job.py": """
from dataclasses import dataclass

from themescope.core.config import option
from themescope.jobs.common.job import JobConfig
from themescope.jobs.kinds import JobCard

CARD = JobCard("toy-add", "Add two numbers", "Adds two numbers.", factory="toy.job:run", config="toy.job:AddConfig")

@dataclass(frozen=True)
class AddConfig(JobConfig):
    first: int = option(1, "The first number.")
    second: int = option(2, "The second number.")

    def title(self):
        return f"Add {self.first} and {self.second}"

def run(config, context):
    return {"sum": config.first + config.second}
""",
    "page.py": """
import streamlit as st

st.title("A toy page")
""",
    "__init__.py": """
def __getattr__(name):
    from themescope.webapp.shared.pages import PageCard

    return PageCard(id="toy", title="Toy page", summary="A page.", factory="toy.page", icon=":material/toys:")
""",
}
ENTRY_POINTS = """
[themescope.models]
toy = toy.model:CARD
[themescope.clusterers]
toy = toy.clusterer:CARD
[themescope.readers]
toy = toy.reader:CARD
[themescope.metrics]
toy = toy.metric:CARD
[themescope.job_kinds]
toy = toy.job:CARD
[themescope.pages]
toy = toy:PAGE
"""
IDS = {"methods": "toy-letters", "clusterers": "toy-turns", "readers": "toy-format", "metrics": "toy-difference"}
IDS["jobs"] = "toy-add"
SENTENCES = ["It was founded in 1200.", "Then it grew.", "It has a harbour.", "Ships call there."]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package and its metadata, as an installer leaves them."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "toy").mkdir()
    for name, source in FILES.items():
        (folder / "toy" / name).write_text(source, encoding="utf-8")
    info = folder / "toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


EVERYWHERE = """
import json, sys
from pathlib import Path

from click.testing import CliRunner
from streamlit import config
from streamlit.testing.v1 import AppTest

from themescope import webapp
from themescope.jobs.cli.main import main
from themescope.webapp.features import REGISTRY

sys.path.insert(0, "docs")
import reference_tables

results = []
for arguments in json.loads(sys.argv[1]):
    done = CliRunner().invoke(main, [*arguments, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    results.append(json.loads(done.stdout))

config.set_option("server.address", "127.0.0.1")
at = AppTest.from_file(str(Path(webapp.__file__).with_name("app.py")), default_timeout=600).run()
train = at.switch_page(str(REGISTRY.get("train").script)).run()
train = next(t for t in train.toggle if t.label == "More methods").set_value(True).run()
method = next(box for box in train.selectbox if any("Toy letters" in str(option) for option in box.options))
option = next(option for option in method.options if "Toy letters" in str(option))
train = method.set_value(option).run()
form = " ".join(str(part.label) for part in [*train.selectbox, *train.text_input, *train.number_input])
page = at.switch_page(str(REGISTRY.get("toy").script)).run()
print(json.dumps({"results": results, "tables": reference_tables.document(), "form": form,
                  "title": [t.value for t in page.title],
                  "errors": [str(e.value) for e in [*train.exception, *page.exception]]}))
"""


@pytest.fixture(scope="module")
def found(package: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process that sees the package does and shows: commands, tables of the documentation, pages."""
    folder = tmp_path_factory.mktemp("toys")
    articles = [folder / f"{name}.toy" for name in ("Ada", "Bea")]
    for path in articles:
        path.write_text("\n".join(["TOY", path.stem, *SENTENCES]) + "\n")
    table = folder / "scb.csv"
    rows = [f"Ada,{text.replace(',', '')},{section},x" for section in "ABCDE" for text in SENTENCES]
    table.write_text("\n".join(["Article Title,Sentence,SectionTitle,Article Link", *rows]) + "\n")
    commands = [
        *(["list", family] for family in IDS),
        ["jobs", "run", "toy-add", "--set", "second=5"],
        ["import", *map(str, articles), "--corpus", "Toys"],
        ["train", "toy-letters", "--corpus", "Toys", "--name", "Letters", "--set", "letters=xyz"],
        ["embed", "Toys", "--method", "Letters"],
        ["evaluate", "scb", str(table), "--method", "toy-letters", "--clusterer", "toy-turns"],
    ]
    paths = os.pathsep.join([str(package), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": paths, "THEMESCOPE_HOME": str(folder / "home")}
    command = [sys.executable, "-c", EVERYWHERE, json.dumps(commands)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_the_command_line_lists_it(found: dict[str, Any]) -> None:
    for (family, id), rows in zip(IDS.items(), found["results"], strict=False):
        assert id in {row["id"] for row in rows[family]}


def test_the_reference_tables_have_it(found: dict[str, Any]) -> None:
    for id in (*IDS.values(), "toy"):
        assert f"| `{id}` |" in found["tables"]
    assert "Letters that are counted." in found["tables"]


def test_a_job_runs_and_a_file_is_read_trained_on_clustered_and_scored(found: dict[str, Any]) -> None:
    job, imported, model, embedded, scores = found["results"][len(IDS) :]
    assert job["sum"] == 6
    assert imported["articles"] == 2
    assert model["model"] == "Letters"
    assert embedded["sentences"] == 2 * len(SENTENCES)
    assert "toy-difference" in json.dumps(scores)


def test_forms_and_the_navigation_have_it(found: dict[str, Any]) -> None:
    assert found["errors"] == []
    assert "Letters" in found["form"]
    assert found["title"] == ["Toy page", "A toy page"]


def test_a_method_may_have_other_bases_with_arguments_of_their_own() -> None:
    notes: list[str] = []

    class Noted:
        def __init_subclass__(cls, note: str = "", **others: object) -> None:
            super().__init_subclass__(**others)
            notes.append(note)

    kind = TypeVar("kind")

    class Letters(BaseModel, Noted, Generic[kind], config=Config, note="a toy"):
        pass

    assert (Letters.config_class, notes) == (Config, ["a toy"])
    assert get_args(Letters[int]) == (int,)
