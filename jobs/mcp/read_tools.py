"""Tools that read: corpora, search, articles, themes, labellings, models and jobs.

The docstring of a tool is its description for programs, and so are those of its parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from themescope.core.client import records
from themescope.db.access import Actor, Right
from themescope.db.records import JobStatus
from themescope.db.store import Store
from themescope.jobs.common.results import code_version
from themescope.jobs.services.remote import MOST_ITEMS, corpora, jobs, labellings, models, runs, search

CorpusId = Annotated[int, Field(description="Id of a corpus, see list_corpora.")]
ArticleId = Annotated[int, Field(description="Id of an article, see list_articles.")]
LabellingId = Annotated[int, Field(description="Id of a labelling, see list_labellings.")]
Offset = Annotated[int, Field(ge=0, description="Number of items to skip.")]
Limit = Annotated[int, Field(ge=1, le=MOST_ITEMS, description="Maximum number of items to return.")]


@dataclass(frozen=True, slots=True)
class ArticleText(records.Described):
    """An article with its sentences in reading order."""

    article: records.Article
    sentences: records.Page[records.Sentence]


class ReadTools:
    """Tools that every person may use."""

    def __init__(self, store: Store, actor: Callable[[], Actor]) -> None:
        self._store, self._actor = store, actor

    @property
    def tools(self) -> list[Callable[..., Any]]:
        """Functions that become tools."""
        return [
            self.who_am_i, self.list_corpora, self.search_sentences, self.similar_sentences, self.list_articles,
            self.read_article, self.list_themes, self.theme_sentences, self.list_labellings, self.read_labelling,
            self.labelled_sentences, self.labelling_history, self.list_models, self.list_jobs,
        ]  # fmt: skip

    def who_am_i(self) -> records.Me:
        """Return the person for whom this server acts, with the role and its rights."""
        actor = self._actor()
        return records.Me(actor.name, actor.role.value, [r.name.lower() for r in Right if actor.may(r)], code_version())

    def list_corpora(self) -> list[records.Corpus]:
        """List the corpora: sets of articles that were imported together."""
        return corpora.corpora(self._store)

    def search_sentences(
        self,
        corpus_id: CorpusId,
        text: Annotated[str, Field(description="Text to search for.")],
        method: Annotated[
            search.SearchMethod,
            Field(description="text: contain the text; words: contain all its words; meaning: similar sentences."),
        ] = search.SearchMethod.TEXT,
        offset: Annotated[int, Field(ge=0, description="Number of matches to skip; 0 with method meaning.")] = 0,
        limit: Limit = 20,
    ) -> records.SearchResult:
        """Search the sentences of a corpus by text, by words or by meaning. Meaning requires an embedded corpus."""
        if method is search.SearchMethod.MEANING:
            return search.find_similar(self._store, corpus_id, text, limit=limit)
        return search.find(self._store, corpus_id, text, method, offset, limit)

    def similar_sentences(
        self,
        corpus_id: CorpusId,
        sentence_id: Annotated[int, Field(description="Id of the sentence to compare with.")],
        limit: Limit = 20,
    ) -> records.SearchResult:
        """Find the sentences of a corpus whose meaning is the most similar to that of a sentence."""
        return search.find_similar(self._store, corpus_id, sentence_id, limit=limit)

    def list_articles(
        self,
        corpus_id: CorpusId,
        title: Annotated[str, Field(description="Text in the titles; empty for all articles.")] = "",
        offset: Offset = 0,
        limit: Limit = 100,
    ) -> records.Page[records.Article]:
        """List the articles of a corpus, without their texts."""
        return corpora.articles(self._store, corpus_id, title, offset, limit)

    def read_article(self, article_id: ArticleId, offset: Offset = 0, limit: Limit = 200) -> ArticleText:
        """Read an article: its sentences with their ids and sections."""
        article = corpora.article(self._store, article_id)
        return ArticleText(article, corpora.article_sentences(self._store, article_id, offset, limit))

    def list_themes(self, corpus_id: CorpusId) -> list[records.ThemeRun]:
        """List the themes that were found in a corpus, with names, sizes and central sentences."""
        return runs.theme_runs(self._store, corpus_id)

    def theme_sentences(
        self,
        run_id: Annotated[int, Field(description="Id of the run that found the themes, see list_themes.")],
        theme: Annotated[int | None, Field(description="Number of the theme; null for all of them.")] = None,
        offset: Offset = 0,
        limit: Limit = 100,
    ) -> records.Page[records.ThemeMember]:
        """List the sentences of a theme, the most typical first."""
        return runs.theme_members(self._store, run_id, theme, offset, limit)

    def list_labellings(self, corpus_id: CorpusId) -> list[records.Labelling]:
        """List the labellings of a corpus: clusters made by people."""
        return labellings.labellings(self._store, corpus_id)

    def read_labelling(self, labelling_id: LabellingId) -> records.LabellingState:
        """Return the clusters of a labelling with names and sizes, and the id of its last step."""
        return labellings.labelling(self._store, self._actor(), labelling_id)

    def labelled_sentences(
        self,
        labelling_id: LabellingId,
        cluster: Annotated[int | None, Field(description="Number of a cluster; -1: unassigned; null: all.")] = None,
        offset: Offset = 0,
        limit: Limit = 100,
    ) -> records.Page[records.Label]:
        """List the sentences of a labelling with their clusters."""
        return labellings.labels(self._store, self._actor(), labelling_id, cluster, offset, limit)

    def labelling_history(
        self, labelling_id: LabellingId, offset: Offset = 0, limit: Limit = 50
    ) -> records.Page[records.Step]:
        """List the steps of a labelling, newest first: who changed what, and why."""
        return labellings.steps(self._store, self._actor(), labelling_id, offset, limit)

    def list_models(self) -> list[records.Model]:
        """List the stored models."""
        return models.models(self._store)

    def list_jobs(
        self,
        status: Annotated[JobStatus | None, Field(description="Only jobs with this status; null for all.")] = None,
        offset: Offset = 0,
        limit: Limit = 20,
    ) -> records.Page[records.Job]:
        """List background jobs with their state and progress, newest first."""
        return jobs.jobs(self._store, status, offset, limit)
