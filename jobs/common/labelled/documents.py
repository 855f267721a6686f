"""Documents of sentences, by which folds of labels and standard errors are clustered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from themescope.core.columns import ColumnLevel
from themescope.core.readers.table import ROW
from themescope.core.records.stored import CorpusRecord
from themescope.core.types import Ids, Sentence
from themescope.db.store import Unit
from themescope.jobs.common.importing.waves import is_list


def is_running_text(r: Unit, corpus: CorpusRecord, sentences: Sequence[Sentence]) -> bool:
    """Return whether the sentences of an article are a text in its order, not the rows of a list.

    A text without headings that is alone in its corpus is a list if most of its paragraphs are single sentences.
    """
    ids, articles = (np.array([getattr(s, name) for s in sentences], np.int64) for name in ("id", "article_id"))
    if (documents_of(r, corpus, ids, articles) == articles).all():
        return True
    if any(column.level is ColumnLevel.SENTENCE and column.name == ROW for column in r.columns.list(corpus.id)):
        return False
    sizes = Counter((s.article_id, s.section, s.paragraph) for s in sentences)
    return 2 * sum(size == 1 for size in sizes.values()) < len(sizes)


def documents_of(r: Unit, corpus: CorpusRecord, ids: Ids, articles: Ids) -> Ids:
    """Return the document (n,) of n sentences: the article, but a row of a list, stored in one article, is its own.

    Rows with a column of titles belong to the article of their title.
    """
    own = np.full(len(ids), is_list(corpus))
    settings = [corpus.report.get("settings", {})]
    settings += [by.get("settings", {}) for by in corpus.report.get("by_file", {}).values()]
    if not any(one.get("title") for one in settings):
        for column in r.columns.list(corpus.id):
            if column.level is ColumnLevel.SENTENCE and column.name == ROW and len(ids):
                own |= ~np.isnan(r.columns.values(column, ids).astype(np.float64))
    return np.where(own, -1 - ids, articles)
