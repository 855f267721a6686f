"""Methods of the client for labellings and tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from themescope.core.client.connection import Connection
from themescope.core.labelling.changes import Step
from themescope.core.labelling.codebook.portable import PortableCode
from themescope.core.records.answers import LabellingState, OpenedItem, Page, SentenceLabel
from themescope.core.records.people import ItemRecord, TaskRecord
from themescope.core.records.stored import LabellingRecord, PredictionRecord

_NO_STEP: Any = Step | None
_NO_ITEM: Any = ItemRecord | None


class LabellingMethods:
    """The part of :class:`core.client.client.Client` about labellings and tasks."""

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
        start: Literal["nothing", "sections", "themes", "labelling", "predictions"] = "nothing",
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
        """Delete a labelling. Its owner or an admin can restore it."""
        self._http.send(type(None), "DELETE", f"/labellings/{labelling_id}")

    def share_labelling(self, labelling_id: int, shared: bool = True) -> LabellingRecord:
        """Let everybody change a labelling, or its owner alone."""
        return self._http.send(LabellingRecord, "PATCH", f"/labellings/{labelling_id}", {"shared": shared})

    def restore_labelling(self, labelling_id: int) -> LabellingRecord:
        """Restore a deleted labelling."""
        return self._http.send(LabellingRecord, "POST", f"/labellings/{labelling_id}/restore")

    def labels(self, labelling_id: int, cluster: int | None = None) -> Iterator[SentenceLabel]:
        """Yield the sentences of a labelling (of one cluster, -1 for unassigned ones) in reading order."""
        return self._http.pages(Page[SentenceLabel], f"/labellings/{labelling_id}/labels", cluster=cluster)

    def steps(self, labelling_id: int) -> Iterator[Step]:
        """Yield the history of a labelling, newest first."""
        return self._http.pages(Page[Step], f"/labellings/{labelling_id}/steps")

    def export_labels(self, labelling_id: int, file: str | Path, columns: bool = False) -> None:
        """Write the sentences of a labelling with their clusters (and columns) into a .csv, .jsonl or .parquet file."""
        self._http.save(f"/labellings/{labelling_id}/export", Path(file), columns=columns)

    def codebook(self, labelling_id: int) -> list[PortableCode]:
        """Return the codes of a labelling with their definitions and examples."""
        return self._http.get(list[PortableCode], f"/labellings/{labelling_id}/codebook")

    def adopt_codebook(self, labelling_id: int, codes: Sequence[PortableCode], **about: Any) -> Step | None:
        """Take over codes: those of clusters with the same name are replaced, the others are created."""
        entries = [{name: value for name, value in asdict(code).items() if name != "sentences"} for code in codes]
        return self._change(labelling_id, "codebook", {"codes": entries, **about})

    def export_codebook(self, labelling_id: int, file: str | Path) -> None:
        """Write the codebook into a .md, .html, .json, .csv or .qdc (REFI-QDA) file."""
        suffix = Path(file).suffix.lower()[1:]
        self._http.download(f"/labellings/{labelling_id}/codebook/export", Path(file), format=suffix)

    def predictions(self, labelling_id: int) -> list[PredictionRecord]:
        """Return what was predicted for the sentences without a label, with its measured quality."""
        return self._http.get(list[PredictionRecord], f"/labellings/{labelling_id}/predictions")

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

    # --- tasks ----------------------------------------------------------------------------------------------------

    def tasks(self, corpus_id: int | None = None) -> list[TaskRecord]:
        """Return the labelling tasks (of one corpus)."""
        return self._http.get(list[TaskRecord], "/tasks", corpus_id=corpus_id)

    def task_items(self, task_id: int) -> list[ItemRecord]:
        """Return your items of a task in their order; as its maker or an admin, those of all people."""
        return self._http.get(list[ItemRecord], f"/tasks/{task_id}/items")

    def close_task(self, task_id: int, closed: bool = True) -> TaskRecord:
        """Close a task that you made, or open it again."""
        return self._http.send(TaskRecord, "PATCH", f"/tasks/{task_id}", {"closed": closed})

    def delete_task(self, task_id: int) -> None:
        """Delete a task that you made; the labellings of its people stay."""
        self._http.send(type(None), "DELETE", f"/tasks/{task_id}")

    def open_item(self, item_id: int) -> OpenedItem:
        """Begin with an item of yours, and return your labelling and the selection of its sentences."""
        return self._http.send(OpenedItem, "POST", f"/task-items/{item_id}/open")

    def finish_item(self, item_id: int, reason: str = "") -> ItemRecord | None:
        """Mark an item of yours as done, and return your next one; ``reason`` is why sentences have no code."""
        found: ItemRecord | None = self._http.send(
            _NO_ITEM, "POST", f"/task-items/{item_id}/finish", parameters={"reason": reason or None}
        )
        return found

    def reopen_item(self, item_id: int) -> ItemRecord:
        """Mark an item of yours as not done."""
        return self._http.send(ItemRecord, "POST", f"/task-items/{item_id}/reopen")
