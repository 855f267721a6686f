"""Tools that change labellings. Each change is a step of the history, and the person of the server can undo it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from themescope.core.client import records
from themescope.db.access import Actor
from themescope.db.store import Store
from themescope.jobs.mcp.read_tools import CorpusId, LabellingId
from themescope.jobs.services.remote import MOST_ITEMS, labellings
from themescope.jobs.services.remote.labellings import LabellingChanges, Start

Sentences = Annotated[list[int], Field(max_length=MOST_ITEMS, description="Ids of sentences of the labelling.")]
ClusterNumber = Annotated[int, Field(description="Number of a cluster, see read_labelling.")]
Reason = Annotated[str, Field(description="Why, for the history.")]
Seen = Annotated[
    int | None,
    Field(description="Step that was read last: what others changed after it is not overwritten. null: no check."),
]


class LabelTools:
    """Tools that require the right to label."""

    def __init__(self, store: Store, actor: Callable[[], Actor]) -> None:
        self._store, self._actor = store, actor

    @property
    def tools(self) -> list[Callable[..., Any]]:
        """Functions that become tools."""
        return [
            self.create_labelling, self.assign_sentences, self.unassign_sentences, self.create_cluster,
            self.rename_cluster, self.merge_clusters, self.delete_cluster, self.undo, self.redo,
        ]  # fmt: skip

    def create_labelling(
        self,
        corpus_id: CorpusId,
        name: Annotated[str, Field(description="Name of the labelling.")],
        start: Annotated[Start, Field(description="Initial clusters; themes and labelling need source_id.")],
        source_id: Annotated[int | None, Field(description="Id of a run with themes, or of a labelling.")] = None,
        article_id: Annotated[int | None, Field(description="Id of an article; null for the whole corpus.")] = None,
        shared: Annotated[bool, Field(description="Whether everybody may change it.")] = False,
    ) -> records.Labelling:
        """Create a labelling of a corpus or of one article."""
        actor = self._actor()
        new = labellings.new_labelling(actor, corpus_id, name, article_id, shared)
        return labellings.create(self._store, actor, new, start, source_id)

    def assign_sentences(
        self, labelling_id: LabellingId, sentences: Sentences, cluster: ClusterNumber, reason: Reason = "",
        seen: Seen = None,
    ) -> records.Step | None:  # fmt: skip
        """Put sentences into a cluster. The result is null if nothing changes."""
        return self._changes(labelling_id, reason, seen).assign(sentences, cluster)

    def unassign_sentences(
        self, labelling_id: LabellingId, sentences: Sentences, reason: Reason = "", seen: Seen = None
    ) -> records.Step | None:
        """Remove sentences from their clusters. The result is null if nothing changes."""
        return self._changes(labelling_id, reason, seen).unassign(sentences)

    def create_cluster(
        self,
        labelling_id: LabellingId,
        name: Annotated[str, Field(description="Name of the cluster.")],
        sentences: Sentences,
        reason: Reason = "",
        seen: Seen = None,
    ) -> records.Step | None:
        """Create a cluster with the given sentences, possibly none."""
        return self._changes(labelling_id, reason, seen).create_cluster(name, sentences)

    def rename_cluster(
        self,
        labelling_id: LabellingId,
        cluster: ClusterNumber,
        name: Annotated[str, Field(description="New name.")],
        reason: Reason = "",
        seen: Seen = None,
    ) -> records.Step | None:
        """Rename a cluster. The result is null if nothing changes."""
        return self._changes(labelling_id, reason, seen).rename_cluster(cluster, name)

    def merge_clusters(
        self,
        labelling_id: LabellingId,
        clusters: Annotated[list[int], Field(max_length=MOST_ITEMS, description="Numbers of clusters.")],
        into: Annotated[int, Field(description="Number of the cluster that remains.")],
        reason: Reason = "",
        seen: Seen = None,
    ) -> records.Step | None:
        """Merge clusters into one of them. The result is null if nothing changes."""
        return self._changes(labelling_id, reason, seen).merge_clusters(clusters, into)

    def delete_cluster(
        self, labelling_id: LabellingId, cluster: ClusterNumber, reason: Reason = "", seen: Seen = None
    ) -> records.Step | None:
        """Delete a cluster; its sentences become unassigned."""
        return self._changes(labelling_id, reason, seen).delete_cluster(cluster)

    def undo(self, labelling_id: LabellingId) -> records.Step | None:
        """Undo the last own step in a labelling. The result is null if there is none."""
        return self._changes(labelling_id).undo()

    def redo(self, labelling_id: LabellingId) -> records.Step | None:
        """Redo the own step that was undone last. The result is null if there is none."""
        return self._changes(labelling_id).redo()

    def _changes(self, labelling_id: int, reason: str = "", seen: int | None = None) -> LabellingChanges:
        return LabellingChanges(self._store, self._actor(), labelling_id, reason, seen)
