"""Themes by the columns of the sentences: what the page shows, and its files."""

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.columned import add_columns
from tests.webapp.filled import CORPUS
from tests.webapp.test_themes import cards
from themescope.core.types import Split
from themescope.db.store import Store
from themescope.webapp.features import themes as state

Open = Callable[..., AppTest]


@pytest.fixture
def themed(filled_store: Store) -> Store:
    """Two themes of all sentences of the corpus, which has columns."""
    add_columns(filled_store)
    with filled_store.writing() as w:
        ids = w.corpora.sentence_ids(1)
        sentences = w.corpora.sentences_by_id(ids)
        labels: dict[int, list[int]] = {}
        for i, id in enumerate(ids.tolist()):
            labels.setdefault(sentences[id].article_id, []).append(int(i % 4 == 0))
        themes = [
            {"name": name, "words": [], "size": n, "central": ids[:3].tolist()} for name, n in (("a", 54), ("b", 18))
        ]
        w.runs.add(
            kind="themes", digest="th2", model_id=1, corpus_id=1, clusterer="iclust", seconds=0.1,
            config={
                "settings": {}, "themes": themes, "reason": "", "compared": 72, "corpus_id": 1,
                "curves": {"ks": [2], "silhouette": [0.1], "gain": [0.1], "stability": [0.1], "sentences": 72},
            },
            assignments={article: np.array(codes, np.int32) for article, codes in labels.items()},
            margins={Split.TEST: (ids, np.linspace(-0.1, 0.5, 72).astype(np.float32))},
        )  # fmt: skip
    return filled_store


def test_themes_are_compared_with_columns(themed: Store, open_page: Open) -> None:
    at = open_page("themes", corpus=CORPUS, view=state.BY_COLUMN)
    assert not at.exception
    assert any(box.label == "Column" and box.value == "side" for box in at.selectbox)
    said = "\n".join(caption.value for caption in at.caption)
    assert "54 units. Cramér’s V 1.00; chi-square 54.0 with 2 degrees of freedom, p < 0.001." in said
    assert "depend on each other" in said
    for shown in ("Shares within categories", "Shares within themes", "Residuals"):
        at.session_state["themes_cells"] = shown
        at.run()
        assert not at.exception
    at = open_page("themes", corpus=CORPUS, view=state.OVER_TIME)
    assert not at.exception
    assert any(box.label == "Period" and box.value == "day" for box in at.selectbox)
    at.session_state["themes_time_values"] = True
    at.run()
    assert not at.exception and any("share" in frame.value.columns for frame in at.dataframe)


def test_a_card_says_in_which_column_its_theme_differs(themed: Store, open_page: Open) -> None:
    at = open_page("themes", corpus=CORPUS)
    assert not at.exception
    notes = {card["name"]: card["notes"] for card in cards(at)}
    assert any(note.startswith("side: ") and "(all: " in note for own in notes.values() for note in own)
