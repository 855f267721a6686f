import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.jobs.helpers import PATIENCE_S, program_environment, wait_for
from tests.jobs.readings import Order
from themescope.core.errors import ThemescopeError, UnknownNameError
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services import search
from themescope.jobs.services.search import ModelProcess


@pytest.fixture
def process() -> Iterator[ModelProcess]:
    process = ModelProcess(idle_s=600)
    yield process
    if process._process is not None:
        process._end(process._process)


def fail() -> None:
    raise UnknownNameError("model", "x", ["y"])


def test_calls_go_to_one_other_process_whatever_becomes_of_them(process: ModelProcess) -> None:
    assert not process.running
    first = process.call(os.getpid)
    assert first != os.getpid() and process.running
    assert np.array_equal(process.call(np.multiply, np.arange(3), 2), [0, 2, 4])
    with pytest.raises(UnknownNameError, match="no model called 'x'"):
        process.call(fail)
    assert process.call(print, "what a function prints is not its result") is None
    with pytest.raises((AttributeError, pickle.PicklingError)):
        process.call(lambda: 1)
    assert process.call(os.getpid) == first


def test_ends_when_it_is_not_used() -> None:
    process = ModelProcess(idle_s=0.05)
    assert process.call(len, "abc") == 3
    child = process._process
    wait_for(lambda: not process.running)
    assert child is not None and child.wait(PATIENCE_S) == 0
    assert process.call(len, "abc") == 3


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="reads /proc")
def test_ends_with_a_killed_parent() -> None:
    script = (
        "import os; from themescope.jobs.services.search import ModelProcess\n"
        "print(ModelProcess().call(os.getpid), flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=program_environment(), capture_output=True, text=True, check=False
    )
    wait_for(lambda: not os.path.exists(f"/proc/{int(done.stdout)}/fd/0"))


def forged(answer: bytes) -> None:
    """Write an answer and end, as a model may that has taken the process over."""
    os.write(1, answer)
    os._exit(0)


def test_a_model_that_has_taken_it_over_gives_no_orders(process: ModelProcess, tmp_path: Path) -> None:
    order = pickle.dumps(Order(mark := tmp_path / "mark"))
    for answer in (order, len(order).to_bytes(8) + order, b"\x7f" + bytes(7), (1).to_bytes(8) + b"?"):
        with pytest.raises(ThemescopeError, match="sent something else than a result"):
            process.call(forged, answer)
        assert not process.running and not mark.exists()
    with pytest.raises(ThemescopeError, match="ended unexpectedly"):
        process.call(forged, (9).to_bytes(8) + b"?")
    with pytest.raises(ThemescopeError, match=r"ended unexpectedly \(exit code 7\)"):
        process.call(os._exit, 7)
    with pytest.raises(ThemescopeError, match="sent something else than a result"):
        process.call(Order, mark)
    assert process.call(len, "abc") == 3 and not mark.exists()


def test_queries_are_embedded_as_here(process: ModelProcess, twelve: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(twelve, "train", {"method": "tfidf", "name": "M", "corpus": "C"}, quiet=True)
    with twelve.reading() as r:
        model = r.models.by_name("M")
        text = next(listed[0].text for _, _, listed in r.corpora.iterate(r.corpora.by_name("C").id))
    here = search.query_vector(twelve, model, text)
    monkeypatch.setattr(search, "_models", process)
    there = search.query_vector(twelve, model, text)
    assert process.running and (here != there).nnz == 0
