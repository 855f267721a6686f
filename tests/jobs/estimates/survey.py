"""A survey with a labelled sample."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.jobs.helpers import finish_item, open_item, sentences_of_item
from tests.jobs.test_kinds import do
from themescope.core.labelling import operations as op
from themescope.core.labelling.task_items import DistributionPlan, Order
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services import tasks
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.samples import SampleForm

SUBJECTS = {"Housing": "rents flats landlords", "Transport": "buses trains trams"}
ROWS, DRAWN = 240, 60


def topic(text: str) -> str:
    return "Housing" if "rents" in text else "Transport"


def survey(folder: Path, predicted: bool = False) -> Callable[[Store], None]:
    """Return what fills a store with 240 answers of two parties, the codebook "Codes", and a sample of 60 answers that
    Ada and Ben label; if ``predicted``, also with the labelling "gold": Ada's labels, not blind, with predictions."""
    file = folder / "answers.csv"
    random = np.random.default_rng(0)
    with file.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["text", "party", "day"])
        for row in range(ROWS):
            party = "AB"[row % 2]
            subject = "Housing" if random.random() < (0.6 if party == "A" else 0.2) else "Transport"
            table.writerow([f"Answer {row}: {SUBJECTS[subject]} near us.", party, f"202{row % 3}-05-01"])

    def fill(store: Store) -> None:
        do(store, "import-corpus", files=[str(file)], corpus="C", settings={"text": "text", "rows": "sentences"})
        do(store, "train", method="tfidf", name="words", corpus="C")
        do(store, "embed", corpus="C", model="words")
        with store.reading() as r:
            corpus = r.corpora.by_name("C")
        codes = starts.begin(store, NewLabelling(corpus.id, "Codes", "Ada"), starts.from_nothing)
        session = LabellingSession(store, codes.id, "Ada")
        for name in SUBJECTS:
            session.do(op.create(session.partition, session.next_number, name, np.empty(0, np.int64)))
        plan = DistributionPlan(("Ada", "Ben"), 1.0, 2, Order.RANDOM, 1)
        task = tasks.make(
            store,
            tasks.TaskForm(
                corpus.id, "Pilot", "Ada", (), plan, blind=True, start=tasks.START_LABELLING, start_id=codes.id,
                sample=SampleForm(DRAWN),
            ),
        )  # fmt: skip
        for person in plan.people:
            label(store, task.id, person)
        if predicted:
            with store.reading() as r:
                record = r.labellings.by_name("Pilot · Ada")
            starts.begin(store, NewLabelling(corpus.id, "gold", "Ada"), starts.from_labelling(record.id))
            do(store, "predict-labels", labelling="gold")

    return fill


def label(store: Store, task_id: int, person: str) -> None:
    """Label all items of a person rightly; Ben takes every tenth sentence for the other subject."""
    with store.reading() as r:
        items = r.tasks.items(task_id, person)
    session = None
    for number, item in enumerate(items):
        opened = open_item(store, item.id)
        session = session or LabellingSession(store, opened.id, person)
        with store.reading() as r:
            (sentence,) = sentences_of_item(r, item.range)
        number_of = {cluster.name: number for number, cluster in session.partition.clusters.items()}
        name = topic(sentence.text)
        if person == "Ben" and number % 10 == 0:
            name = next(other for other in SUBJECTS if other != name)
        session.do(op.assign(session.partition, np.array([sentence.id]), number_of[name]))
        finish_item(store, item.id)
