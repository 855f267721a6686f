"""Methods of the client for labellings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from themescope.core.client.connection import Connection
from themescope.core.labelling.changes import Step
from themescope.core.records.answers import LabellingState, Page, SentenceLabel
from themescope.core.records.stored import LabellingRecord

_NO_STEP: Any = Step | None


class LabellingMethods:
    """The part of :class:`core.client.client.Client` about labellings."""

    _http: Connection

    def labellings(self, corpus_id: int | None = None) -> list[LabellingRecord]:
        """Return all labellings (of one corpus), oldest first."""
        return self._http.get(list[LabellingRecord], "/labellings", corpus_id=corpus_id)

    def labelling(self, labelling_id: int) -> LabellingState:
        """Return a labelling with its clusters."""
        return self._http.get(LabellingState, f"/labellings/{labelling_id}")

    def create_labelling(
        self,
        corpus_id: int,
        name: str,
        start: Literal["nothing", "sections", "themes", "labelling"] = "nothing",
        source_id: int | None = None,
        **options: Any,
    ) -> LabellingRecord:
        """Create a labelling; ``source_id`` is the run or the labelling to copy.

        Options are ``article_id``, to label one article, and ``shared``, to let everybody change it.
        """
        body = {"corpus_id": corpus_id, "name": name, "start": start, "source_id": source_id, **options}
        return self._http.send(LabellingRecord, "POST", "/labellings", body)

    def rename_labelling(self, labelling_id: int, name: str) -> LabellingRecord:
        """Rename a labelling."""
        return self._http.send(LabellingRecord, "PATCH", f"/labellings/{labelling_id}", {"name": name})

    def delete_labelling(self, labelling_id: int) -> None:
        """Delete a labelling. Its owner or an admin can restore it on the page Relabel."""
        self._http.send(type(None), "DELETE", f"/labellings/{labelling_id}")

    def labels(self, labelling_id: int, cluster: int | None = None) -> Iterator[SentenceLabel]:
        """Yield the sentences of a labelling (of one cluster, -1 for unassigned ones) in reading order."""
        return self._http.pages(Page[SentenceLabel], f"/labellings/{labelling_id}/labels", cluster=cluster)

    def steps(self, labelling_id: int) -> Iterator[Step]:
        """Yield the history of a labelling, newest first."""
        return self._http.pages(Page[Step], f"/labellings/{labelling_id}/steps")

    def export_labels(self, labelling_id: int, file: str | Path, columns: bool = False) -> None:
        """Write the sentences of a labelling with their clusters (and columns) into a .csv, .jsonl or .parquet file."""
        self._http.save(f"/labellings/{labelling_id}/export", Path(file), columns=columns)

    def assign(self, labelling_id: int, sentences: Sequence[int], cluster: int, **about: Any) -> Step | None:
        """Put sentences into a cluster.

        Every change accepts ``reason``, for the history; ``coder``, the name of the program or model that decides,
        whose labels are then a machine's; and ``seen``, the id of the last step that you know: a change of what others
        changed after it is refused with the status 409.
        """
        return self._change(labelling_id, "assign", {"sentences": [*sentences], "cluster": cluster, **about})

    def give_code(
        self, labelling_id: int, sentences: Sequence[int], code: int, remove: bool = False, **about: Any
    ) -> Step | None:
        """Give sentences a code besides those that they have, or take it away, where several are allowed."""
        return self._change(labelling_id, "codes", {"sentences": [*sentences], "code": code, "remove": remove, **about})

    def unassign(self, labelling_id: int, sentences: Sequence[int], **about: Any) -> Step | None:
        """Remove sentences from their clusters."""
        return self._change(labelling_id, "unassign", {"sentences": [*sentences], **about})

    def mark(self, labelling_id: int, sentences: Sequence[int], uncertain: bool = True, **about: Any) -> Step | None:
        """Mark sentences as uncertain or certain."""
        return self._change(labelling_id, "mark", {"sentences": [*sentences], "uncertain": uncertain, **about})

    def note(self, labelling_id: int, sentences: Sequence[int], text: str, **about: Any) -> Step | None:
        """Set the note of sentences; "" removes it."""
        return self._change(labelling_id, "note", {"sentences": [*sentences], "text": text, **about})

    def create_cluster(self, labelling_id: int, name: str, sentences: Sequence[int] = (), **about: Any) -> Step | None:
        """Create a cluster with these sentences, possibly none."""
        return self._change(labelling_id, "clusters", {"name": name, "sentences": [*sentences], **about})

    def rename_cluster(self, labelling_id: int, cluster: int, name: str, **about: Any) -> Step | None:
        """Rename a cluster."""
        return self._change(labelling_id, f"clusters/{cluster}", {"name": name, **about}, "PATCH")

    def delete_cluster(self, labelling_id: int, cluster: int) -> Step | None:
        """Delete a cluster; its sentences become unassigned."""
        return self._change(labelling_id, f"clusters/{cluster}", None, "DELETE")

    def merge_clusters(self, labelling_id: int, clusters: Sequence[int], into: int, **about: Any) -> Step | None:
        """Merge clusters into one of them."""
        return self._change(labelling_id, "merge", {"clusters": [*clusters], "into": into, **about})

    def undo(self, labelling_id: int) -> Step | None:
        """Undo your last step."""
        return self._change(labelling_id, "undo")

    def redo(self, labelling_id: int) -> Step | None:
        """Redo the step that you undid last."""
        return self._change(labelling_id, "redo")

    def _change(
        self, labelling_id: int, path: str, body: Mapping[str, Any] | None = None, method: str = "POST"
    ) -> Step | None:
        step: Step | None = self._http.send(_NO_STEP, method, f"/labellings/{labelling_id}/{path}", body)
        return step
