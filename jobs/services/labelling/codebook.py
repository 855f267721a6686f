"""Codebooks of labellings as files, and schemes.

A scheme is the clusters of a labelling without its sentences, as the start of another labelling; as a file, it is the
codebook: names, themes, sizes and codebook entries.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from themescope.core.columns import as_text
from themescope.core.errors import DataError, ReadError
from themescope.core.labelling import methods_section as methods
from themescope.core.labelling.agreement import agreement_on_codes, common_codes, compare, pair_alpha, replacement_test
from themescope.core.labelling.changes import NO_LABELLING, Kind, Step, apply
from themescope.core.labelling.codebook import entries
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import PortableCode, one_line, text_of
from themescope.core.labelling.codebook.qda_project import codebook as qda_codebook
from themescope.core.labelling.codebook.qda_project import read_codebook
from themescope.core.labelling.consensus import fit, fit_codes
from themescope.core.labelling.markup import as_html, as_markdown, cited, latex_text, markdown
from themescope.core.labelling.partition import EntryKind, Partition
from themescope.core.readers.tables import TableForm, open_table, raw_cell
from themescope.core.records.stored import LabellingRecord
from themescope.core.text.languages import language_name
from themescope.core.types import Estimate, Ids, Labels, ReadAccount
from themescope.db.records import NewLabelling, Reason, TaskRecord
from themescope.db.store import Store, Unit
from themescope.jobs.common.articles import code_version
from themescope.jobs.common.labelled import MAKER
from themescope.jobs.common.models import corpus_shares
from themescope.jobs.common.reading import call_apart
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.agreement import CodedText, coded_text, gold_on, person_of
from themescope.jobs.services.samples import SAMPLE, DrawnSample, frame_of
from themescope.jobs.services.table_files import csv_text

CODE_FILES = ("qdc", "json", "csv")
"""Suffixes of files of codes that Themescope writes."""
MOST_MB = 20
"""Maximum size of a file of codes in MB."""
READ_FILES = (*CODE_FILES, "tsv", "xlsx", "txt")
"""Suffixes of files of codes that :func:`read_codes` reads."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A codebook as files hold it."""

    title: str
    about: str
    codes: list[PortableCode]
    seed: str
    """Text from which ids in REFI-QDA files follow."""


def exported(store: Store, labelling_id: int) -> Exported:
    """Return the present codebook of a labelling."""
    with store.reading() as r:
        record, snapshot = r.labellings.get(labelling_id), r.labellings.snapshot(labelling_id)
    return exported_from(store, record, snapshot.partition)


def exported_from(store: Store, record: LabellingRecord, partition: Partition) -> Exported:
    """Return the codebook of a labelling in a state of it."""
    listed = entries.codes(partition)
    wanted = {id for code in listed for name in entries.SENTENCES for id in getattr(code.entry, name)}
    with store.reading() as r:
        project = r.corpora.get(record.corpus_id).name
    about = f"Project {project}, {record.sentences:,} sentences"
    shown = entries.portable(listed, references(store, np.array(sorted(wanted), dtype=np.int64)), partition.sizes())
    return Exported(record.name, about, shown, f"{record.id} {record.created.isoformat()}")


def references(store: Store, ids: Ids) -> dict[int, str]:
    """Return sentences by id, each as its text with its article and its number in it."""
    with store.reading() as r:
        found = r.corpora.sentences_by_id(ids)
        titles = r.corpora.articles_by_id({s.article_id for s in found.values()})
    return {id: entries.reference(s.text, titles[s.article_id].title, s.position + 1) for id, s in found.items()}


def written(store: Store, labelling_id: int, suffix: str) -> str | bytes:
    """Return a codebook as a file for reading (``md``, ``html``) or with its codes (one of :data:`CODE_FILES`).

    The cells of CSV are safe for spreadsheets. Raises :class:`DataError` for a REFI-QDA file without clusters.
    """
    found = exported(store, labelling_id)
    if suffix == "json":
        return entries.json_text(found.title, found.codes)
    if suffix == "csv":
        return csv_text(entries.HEADER, entries.rows(found.codes))
    if suffix == "qdc":
        if not found.codes:
            raise DataError("There are no codes yet, and a REFI-QDA codebook needs one.")
        return qda_codebook(found.codes, found.seed)
    title = f"Codebook: {found.title}"
    blocks = entries.blocks(title, found.about, found.codes)
    return as_markdown(blocks) if suffix == "md" else as_html(blocks, title, entries.PRINTED)


def _codes_of_workbook(path: Path) -> tuple[list[PortableCode], ReadAccount]:
    account = ReadAccount()
    table = open_table(path, form=TableForm(header_row=1), account=account)
    return entries.from_rows(table.columns, (list(map(as_text, row)) for _, row in table.rows)), account


def read_codes(path: Path, account: ReadAccount | None = None) -> list[PortableCode]:
    """Return the codes of a file, whose suffix names its format; what is left out is counted in ``account``.

    Raises :class:`ReadError` or :class:`DataError` for a damaged file or another format.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if path.stat().st_size > MOST_MB * 1_000_000:
        raise ReadError(path, f"a file of codes may have {MOST_MB} MB.", "", "Check the file, or split it.")
    if suffix == "qdc":
        with path.open("rb") as stream:
            return read_codebook(stream, path.name, account)
    if suffix not in READ_FILES:
        raise DataError(f"A file of codes ends in {', '.join(READ_FILES)}; this one in {suffix or 'nothing'}.")
    if suffix == "xlsx":
        codes, found = call_apart(path, _codes_of_workbook, path)
        if account is not None:
            account.add(found)
        return codes
    try:
        text = path.read_bytes().decode("utf-8-sig")
        if suffix == "txt":
            return entries.from_lines(text.splitlines())
        return entries.from_json(text) if suffix == "json" else _from_csv(text)
    except UnicodeDecodeError:
        raise ReadError(path, "this is not text in UTF-8.", "", "Export it again.") from None
    except csv.Error as error:
        raise ReadError(path, f"this is not a CSV table ({error}).", "", "Export it again.") from None


def _from_csv(text: str) -> list[PortableCode]:
    # Cells keep their line ends: each line of a cell of examples is one sentence.
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    rows = [[raw_cell(cell) for cell in row] for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)]
    return entries.from_rows(rows[0] if rows else (), rows[1:])


def finder(store: Store, ids: Ids, wanted: Iterable[PortableCode]) -> Callable[[str], int | None]:
    """Return a function that finds the sentence of a reference in ``wanted`` among ``ids``; of equal texts, the first.

    The sentences are not read if the codes have no examples.
    """
    if not any(code.examples or code.counter_examples for code in wanted):
        return lambda shown: None
    known = references(store, ids)
    exact = {shown: id for id, shown in reversed(known.items())}
    by_text = {text_of(shown): id for id, shown in reversed(known.items())}
    return lambda shown: exact.get(one_line(shown), by_text.get(text_of(one_line(shown))))


def from_codes(codes: Sequence[PortableCode], file: str) -> starts.Begin:
    """Return the clusters of a file with all sentences unassigned.

    Examples in codebook entries are kept where the labelling has their sentences.
    """

    def initial(store: Store, new: NewLabelling) -> starts.Beginning:
        bare = starts.from_nothing(store, new).partition
        adopted = book.adopt(bare, codes, finder(store, bare.ids, codes), 1)
        return starts.Beginning(apply(bare, adopted.operation.change_set), {"from": "scheme", "name": file})

    return initial


# The methods section of a paper that describes labellings

_FREQUENT = 0.05
"""Share of the sentences from which on a language is mentioned."""
_EPSILON = 0.15
"""That of the alternative annotator test of codings of models."""


def methods_section(store: Store, labelling_ids: Sequence[int], form: str = "markdown") -> str:
    """Return the methods section of labellings as "markdown" or "latex", or its references as "bibtex".

    Raises :class:`DataError` if they are not of one corpus.
    """
    found = methods.paragraphs(facts_of(store, labelling_ids))
    if form == "bibtex":
        return "\n\n".join(methods.REFERENCES[key].bibtex() for key in cited(found)) + "\n"
    return latex_text(found) if form == "latex" else markdown(found, methods.REFERENCES)


def facts_of(store: Store, labelling_ids: Sequence[int]) -> methods.Facts:
    """Return what the store knows about labellings."""
    with store.reading() as r:
        given = [r.labellings.get(id) for id in labelling_ids]
        records = [record for record in given if not record.by_model]
        if not records:
            raise DataError("Name at least one coding of a person.")
        if len({record.corpus_id for record in given}) > 1:
            raise DataError("These codings are of different projects. A methods section describes those of one.")
        text = coded_text(r, records)
        whole = coded_text(r, given)
        histories = [[s for s in r.label_steps.list(one.id) if s.operation not in NO_LABELLING] for one in records]
        corpus = r.corpora.get(records[0].corpus_id)
        tasks = _tasks(r, records)
        starts = Counter(_start(r, record) for record in records)
        adjudications = _adjudications(r, records)
        training = _training(r, records)
        golds = [gold_on(r, task.gold_id, text.ids) for task in tasks]
    judged, several = [coder.judged for coder in text.coders], len(records) > 1
    names, sets = [c.names for c in text.coders], [c.sets for c in text.coders]
    coding = agreement_on_codes(judged, names, text.articles, sets=sets) if several else None
    partitions = several and coding is None
    compared = [compare(*pair, text.articles) for pair in (combinations(judged, 2) if partitions else ())]
    shares = corpus_shares(corpus)
    counted, undone = _steps(histories)
    times = [step.when.date() for steps in histories for step in steps]
    return methods.Facts(
        corpus=corpus.name,
        languages=tuple(language_name(code) for code, share in shares.items() if share >= _FREQUENT),
        articles=len(np.unique(text.articles)),
        sentences=len(text.ids),
        labellings=len(records),
        people=len({*map(person_of, records)} | {(s.person, "") for steps in histories for s in steps}),
        judged=int(np.any([own >= 0 for own in judged], axis=0).sum()),
        blind=sum(record.blind for record in records),
        starts=tuple(replace(start, labellings=count) for start, count in starts.items()),
        tasks=tuple(_task(task, store) for task in tasks),
        steps=counted,
        undone=undone,
        answers=sum(kind is EntryKind.ANSWER for coder in text.coders for kind, _ in coder.state.entries),
        first=min(times, default=None),
        last=max(times, default=None),
        coding=coding,
        alpha=pair_alpha(judged, text.articles) if partitions else None,
        pairs=tuple(pair.ari for pair in compared if pair.ari is not None),
        reliability=_reliability(text, next(([one] for one in golds if (one[0] >= 0).any()), [])),
        adjudications=adjudications,
        training=training,
        version=code_version(),
        machines=_machines(whole),
    )


def _machines(text: CodedText) -> tuple[methods.MachineFact, ...]:
    people, found = [coder for coder in text.coders if not coder.machine], []
    for machine in (coder for coder in text.coders if coder.machine):
        test = None
        if len(people) > 1:
            names, sets = [coder.names for coder in (*people, machine)], [coder.sets for coder in (*people, machine)]
            judged = [coder.judged for coder in people]
            test = replacement_test(judged, machine.judged, names, machine.abstained, _EPSILON, sets)
        found.append(methods.MachineFact(str(machine.record.origin[MAKER][1]), int(machine.placed.sum()), test))
    return tuple(found)


def _steps(histories: Sequence[Sequence[Step]]) -> tuple[dict[str, int], int]:
    """Return kind of operation → number of steps that were not undone, and the number of those that were."""
    counted, undone = Counter[str](), 0
    for steps in histories:
        gone: set[int] = set()
        for step in steps:
            if step.kind is Kind.UNDO and step.target is not None:
                gone.add(step.target)
            elif step.kind is Kind.REDO and step.target is not None:
                gone.discard(step.target)
        counted.update(step.operation for step in steps if step.kind is Kind.DO and step.id not in gone)
        undone += len(gone)
    return dict(counted), undone


def _reliability(text: CodedText, gold: Sequence[tuple[Labels, Mapping[int, str]]]) -> methods.ReliabilityFact | None:
    people, coders = len(text.coders), text.coders
    raters = [*(coder.judged for coder in coders), *(labels for labels, _ in gold)]
    names = [*(coder.names for coder in coders), *(called for _, called in gold)]
    known = [people] if gold else []
    codes = common_codes(raters, names, [*(coder.sets for coder in coders), *({} for _ in gold)], codebooks=True)
    rows: list[tuple[Estimate | None, ...]]
    words: tuple[str, ...]
    if codes is not None:
        model = fit_codes(codes.labels, len(codes.values), text.articles, known)
        words, rows, why = ("accuracy",), [(one,) for one in model.accuracy[:people]], model.equal_because
        over = model.intervals_over
    else:
        of_pairs = fit(raters, text.articles, known)
        words, why, over = ("sensitivity", "specificity"), "", of_pairs.intervals_over
        rows = [(one.sensitivity, one.specificity) for one in of_pairs.reliabilities[:people]]
    rates = [[one for one in row if one is not None] for row in rows if None not in row]
    if not rates:
        return None
    ends = [
        (min(column, key=lambda e: e.value), max(column, key=lambda e: e.value)) for column in zip(*rates, strict=True)
    ]
    return methods.ReliabilityFact(len(rates), dict(zip(words, ends, strict=True)), over, why)


def _start(r: Unit, record: LabellingRecord) -> methods.StartFact:
    origin = record.origin
    kind, name, run_id = str(origin.get("from", "")), str(origin.get("name", "")), origin.get("run_id")
    run = next((run for run in r.runs.list() if run.id == run_id), None) if kind == "run" and run_id else None
    model = next((model for model in r.models.list() if run is not None and model.id == run.model_id), None)
    if run is None or model is None:
        return methods.StartFact(kind, 1, name)
    clusters = len(run.found.get("themes", ())) or None
    return methods.StartFact(kind, 1, name, model.name, model.method, run.clusterer, clusters, run.seed)


def _tasks(r: Unit, records: Sequence[LabellingRecord]) -> list[TaskRecord]:
    found = (r.tasks.of_labelling(record.id) for record in records)
    return list({task.id: task for known in found if known is not None for task in known[:1]}.values())


def _task(task: TaskRecord, store: Store) -> methods.TaskFact:
    with store.reading() as r:
        items, corpus, sample = r.tasks.items(task.id), r.corpora.get(task.corpus_id), ""
        if SAMPLE in task.settings:
            rule = DrawnSample.from_json(task.settings[SAMPLE])
            places = r.maps.places(r.corpora.sentence_ids(corpus.id))
            frame = frame_of(r, corpus, places.ids, places.articles, [rule])
            sample = rule.text() + ("" if frame.whole else f", which stand for {frame.text}")
    distributed = Counter(item.range for item in items if item.reason is Reason.DISTRIBUTION)
    gold = {item.range for item in items if item.reason is Reason.GOLD}
    people = {item.person for item in items}
    return methods.TaskFact(
        task.name,
        len(distributed.keys() | gold),
        len(people),
        sum(count > 1 for count in distributed.values()),
        str(task.settings["order"]),
        int(task.settings["seed"]),
        len(gold),
        sum(item.reason is Reason.ROUTING for item in items),
        sample,
    )


def _adjudications(r: Unit, records: Sequence[LabellingRecord]) -> tuple[methods.AdjudicationFact, ...]:
    names = {record.name for record in records}
    every = r.labellings.list(records[0].corpus_id)
    made = [one for one in every if one.origin.get("from") == "adjudication" and names & {*one.origin.get("of", ())}]
    return tuple(
        methods.AdjudicationFact(
            str(record.origin.get("method", "majority")),
            record.sentences,
            record.origin.get("expected_ari"),
            bool(record.origin.get("equal")),
            sum(_steps([r.label_steps.list(record.id)])[0].values()),
            int(record.origin.get("open", 0)),
        )
        for record in made
    )


def _training(r: Unit, records: Sequence[LabellingRecord]) -> tuple[methods.TrainingFact, ...]:
    names, every = {record.name for record in records}, r.triplets.list(records[0].corpus_id)
    of_labels = [s for s in every if s.config.get("from") == "labels"]
    sets = [s for s in of_labels if not names.isdisjoint(s.config.get("labellings", ()))]
    models = r.models.list()
    return tuple(
        methods.TrainingFact(
            sum(int(n) for n in found.counts.get("triplets", {}).values()),
            found.seed,
            tuple(model.name for model in models if model.triplet_set_id == found.id),
        )
        for found in sets
    )
