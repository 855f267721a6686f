"""Documents of sentences, by which folds of labels and standard errors are clustered."""

from __future__ import annotations

import numpy as np

from themescope.core.columns import ColumnLevel
from themescope.core.readers.table import ROW
from themescope.core.records.stored import CorpusRecord
from themescope.core.types import Ids
from themescope.db.store import Unit


def documents_of(r: Unit, corpus: CorpusRecord, ids: Ids, articles: Ids) -> Ids:
    """Return the document (n,) of n sentences: the article, but a row of a list, stored in one article, is its own.

    Rows with a column of titles belong to the article of their title.
    """
    own = np.full(len(ids), corpus.articles == 1 and not corpus.has_sections)
    settings = [corpus.report.get("settings", {})]
    settings += [by.get("settings", {}) for by in corpus.report.get("by_file", {}).values()]
    if not any(one.get("title") for one in settings):
        for column in r.columns.list(corpus.id):
            if column.level is ColumnLevel.SENTENCE and column.name == ROW and len(ids):
                own |= ~np.isnan(r.columns.values(column, ids).astype(np.float64))
    return np.where(own, -1 - ids, articles)
