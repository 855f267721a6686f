import subprocess
import sys

import pytest

from themescope.core.errors import DuplicateNameError, PluginError, UnknownNameError
from themescope.core.registry import Card, Registry

PLUGIN = """
from themescope.core.registry import Card
CARD = Card("toy", "Toy", "A toy.", "here", "collections:Counter", "themescope.core.config:Config")
_CONFIG = "themescope.core.config:Config"
OTHER = Card("tfidf", "Second", "Has the id of a built-in card.", "here", "collections:Counter", _CONFIG)
WRONG = "not a card"
"""


def card(id):
    return Card(id, id.title(), "s", "here", "collections:Counter", "tests.core.test_config:Kettle")


def test_an_unknown_id_names_the_nearest_and_a_second_one_is_refused():
    registry = Registry("method", [card("mean-vectors"), card("tfidf")])
    with pytest.raises(UnknownNameError, match="Did you mean 'mean-vectors'"):
        registry.get("mean-vector")
    with pytest.raises(DuplicateNameError, match="exists already"):
        Registry("method", [card("tfidf"), card("tfidf")])


def test_the_package_and_lists_of_methods_import_nothing_heavy():
    code = (
        "import sys, themescope; themescope.load;"
        "print([m for m in ('torch', 'numpy', 'sklearn') if m in sys.modules]);"
        "from themescope.core import models, clustering, readers, metrics;"
        "print([m for m in ('torch', 'umap', 'numba', 'sklearn', 'gensim') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["[]", "[]"]


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a package with one entry point on the path, as an installer would."""

    def put(target):
        (tmp_path / "toy_plugin.py").write_text(PLUGIN)
        info = tmp_path / "toy_plugin-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-plugin\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[themescope.test]\ntoy = {target}\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "toy_plugin", raising=False)
        return Registry("method", [card("tfidf")], plugin_group="themescope.test")

    return put


def test_a_plugin_adds_its_card_after_the_built_in_ones(install):
    registry = install("toy_plugin:CARD")
    assert registry.ids() == ["tfidf", "toy"]
    assert registry.get("toy").title == "Toy"


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("toy_plugin:OTHER", "adds a second method called 'tfidf'"),
        ("toy_plugin:WRONG", "is not a Card"),
        ("toy_plugin:MISSING", "cannot be imported"),
    ],
)
def test_a_faulty_plugin_is_named(install, target, problem):
    with pytest.raises(PluginError, match=f"'{target}' cannot be used: it {problem}"):
        install(target).ids()
