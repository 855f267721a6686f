"""Labellings as partitions: person beside person, model and sections on the Compare page."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS
from themescope.core.labelling import operations as op
from themescope.db.label_records import NewLabelling, Sharing
from themescope.db.store import Store
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.shared.results import partition_queries

Open = Callable[..., AppTest]


def labelled(store: Store, name: str, owner: str, moved: int = 0, blind: bool = False, whole: bool = False) -> int:
    """A labelling of the Danube (or the whole corpus) from its sections, with some sentences put elsewhere."""
    with store.reading() as r:
        corpus = r.corpora.by_name(CORPUS)
        article = r.corpora.articles_by_title(corpus.id, "Danube")[0]
        ids = np.array([s.id for s in r.corpora.sentences(article.id)])
    new = NewLabelling(corpus.id, name, owner, Sharing.OWN, blind, None if whole else article.id)
    session = LabellingSession(store, starts.begin(store, new, starts.from_sections).id, owner)
    if moved:
        session.do(op.create(session.partition, session.next_number, "Floods", ids[5::4][:moved]))
    return article.id


def test_people_stand_beside_each_other(filled_store: Store, open_page: Open) -> None:
    article_id = labelled(filled_store, "first", "ada")
    labelled(filled_store, "second", "ben", moved=3, whole=True)
    labelled(filled_store, "hidden", "eve", moved=2, blind=True)
    with filled_store.reading() as r:
        article = r.corpora.article(article_id)
        corpus = r.corpora.by_name(CORPUS)
        other = r.corpora.articles_by_title(corpus.id, "Nile")[0]
    found = {p.name: p for p in partition_queries.partitions(article, corpus.created) if p.kind == "labelling"}
    assert list(found) == ["second · ben", "first · ada"]
    assert all(len(p.load().labels) == len(p.load().sentence_ids) == 24 for p in found.values())
    assert "Floods" in found["second · ben"].load().names.values()
    elsewhere = [p.name for p in partition_queries.partitions(other, corpus.created) if p.kind == "labelling"]
    assert elsewhere == ["second · ben"]
    for left, right, moved in (
        ("first · ada", "second · ben", 3), ("second · ben", "Sections", 3), ("first · ada", "Sections", 0),
    ):  # fmt: skip
        at = open_page("compare", tab="Pair", corpus=CORPUS, article="Danube", left=left, right=right)
        said = "\n".join(str(m.value) for m in at.markdown).replace("\\", "")
        assert not at.exception
        assert re.search(rf"{moved} of 24 sentences \**changed cluster", said), said
