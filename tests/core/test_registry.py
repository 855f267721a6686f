import subprocess
import sys

import pytest

from core.errors import DuplicateNameError, UnknownNameError
from core.registry import Card, Registry


def card(id):
    return Card(id, id.title(), "s", "here", "collections:Counter", "tests.core.test_config:Kettle")


def test_unknown_id_names_the_nearest():
    registry = Registry("method", [card("mean-vectors"), card("tfidf")])
    with pytest.raises(UnknownNameError, match="Did you mean 'mean-vectors'"):
        registry.get("mean-vector")


def test_unknown_id_lists_what_there_is():
    with pytest.raises(UnknownNameError, match="Known: tfidf"):
        Registry("method", [card("tfidf")]).get("qqqq")


def test_duplicate_is_refused():
    with pytest.raises(DuplicateNameError, match="exists already"):
        Registry("method", [card("tfidf"), card("tfidf")])


def test_listing_methods_does_not_import_torch():
    code = (
        "import sys, core.models, core.clustering, core.readers, core.metrics;"
        "print([m for m in ('torch', 'umap', 'numba', 'sklearn', 'gensim') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
