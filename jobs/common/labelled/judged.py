"""What people said about the sentences of a labelling, from which a method is chosen and a metric is learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from themescope.core.labelling.partition import Partition
from themescope.core.types import Ids, Split, split_of_title
from themescope.db.label_records import LabellingRecord
from themescope.db.store import Store
from themescope.jobs.common.labelled.placed import judged_sentences

if TYPE_CHECKING:
    from themescope.core.labelling.learning import Pairs


@dataclass(frozen=True, slots=True)
class Judged:
    """Pairs of sentences that people judged, with the articles of all sentences of the labelling."""

    placed: Ids
    """(m,) ascending ids of the sentences that people placed, without those marked as uncertain."""
    pairs: Pairs
    articles: Ids
    """(n,) article of each sentence of the labelling."""
    titles: dict[int, str]
    """Article → title."""

    def for_training(self, ids: Ids) -> Pairs:
        """Return the pairs without sentences of articles of the test split; ``ids`` (n,) are those of the labelling."""
        held_out = [article for article, title in self.titles.items() if split_of_title(title) is Split.TEST]
        return self.pairs.only(ids[~np.isin(self.articles, held_out)])


def judged_pairs(store: Store, record: LabellingRecord, partition: Partition) -> Judged:
    """Return the pairs of placed sentences and of answers to questions, in the present state of a labelling.

    Pairs on which the two contradict each other are left out.
    """
    from themescope.core.labelling.answers import constraints
    from themescope.core.labelling.learning import Placed, joined, pairs_of_answers, pairs_of_placed

    with store.reading() as r:
        sure = judged_sentences(r, record, partition)
        known = r.corpora.sentences_by_id(partition.ids)
        articles = np.array([known[int(i)].article_id for i in partition.ids], dtype=np.int64)
        titles = {i: a.title for i, a in r.corpora.articles_by_id(np.unique(articles)).items()}
    pairs = joined([pairs_of_placed(Placed(partition, sure)), pairs_of_answers(constraints(partition))])
    return Judged(sure, pairs, articles, titles)
