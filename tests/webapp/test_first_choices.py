"""What pages choose where nobody has chosen yet: that on which there is something to see."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import BENCHMARK, CORPUS, SET
from themescope.core.types import Article, Paragraph, Section
from themescope.db import tables as t
from themescope.db.engine import open_engine
from themescope.db.store import Store

OpenPage = Callable[..., AppTest]


def _box(at: AppTest, label: str) -> str:
    return str(next(box for box in at.selectbox if box.label == label).value)


@pytest.fixture
def with_more(filled_store: Store) -> Store:
    """Another corpus, set and benchmark, of which nothing was made; they stand first in the lists."""
    with filled_store.writing() as w:
        corpus = w.corpora.create("Mountains", "en")
        w.corpora.add_articles(corpus.id, [Article("Alps", (Section("Alps", 2, (Paragraph("", ("High.",)),), ()),))])
        w.corpora.finish(corpus.id, {})
        made = w.triplets.create(corpus.id, "a set that nobody measured", "sentences", {}, 0, "t2")
        w.triplets.finish(made.id, {"triplets": {}})
        w.benchmarks.add(corpus.id, "a benchmark that nobody ran", {}, "b2", {"articles": {"taken": 0}}, [])
    later = datetime.now(UTC) + timedelta(hours=1)
    with open_engine(filled_store.settings).begin() as connection:
        connection.execute(sa.update(t.benchmark).where(t.benchmark.c.digest == "b2").values(created=later))
    return filled_store


@pytest.mark.usefixtures("with_more")
def test_a_page_opens_on_what_has_something_to_see(open_page: OpenPage) -> None:
    assert _box(open_page("triplets", corpus=CORPUS), "Triplet set") == SET
    assert _box(open_page("compare", corpus=CORPUS), "Benchmark") == BENCHMARK
    one = open_page("compare", tab="Pair", corpus=CORPUS)
    assert [_box(one, label) for label in ("Article", "Right")] == ["Danube", "Sections"]
