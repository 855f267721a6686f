"""Plans from given rates, the measurement of rates, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from themescope.core.compute.machine import available_cores
from themescope.core.errors import DataError
from themescope.core.protocols import SILENT
from themescope.core.types import Shard
from themescope.jobs.cli.main import main
from themescope.jobs.common.results import code_version
from themescope.jobs.planning.plan import Conditions, Load, hours_as_text, predict
from themescope.jobs.planning.probe import Probe, Times
from themescope.jobs.planning.rates import Rate, Rates, cores_together, measure, per_unit
from themescope.jobs.services.demo import demo_dump

RATES = Rates(
    measured="2026-11-01T12:00:00+00:00",
    machine="a machine, 2 cores",
    version=code_version(),
    asked="default",
    model="thematic-wikipedia",
    cores=available_cores(),
    together=float(available_cores()),
    process_start_s=1.0,
    memory_mb=900.0,
    steps={
        "import": Rate("sentence", work_s=1e-4, read_s=1e-6, write_s=1e-5, shard=2_000),
        "triplets": Rate("article", work_s=0.01),
        "training": Rate("triplet", work_s=0.005),
        "embedding": Rate("sentence", work_s=0.01, write_s=1e-5, shard=4_096, spread=0.3, start_s=3.0),
        "clustering": Rate("article", work_s=0.05, shard=16),
        "map": Rate("sentence", work_s=0.002),
    },
    sentences_per_article=80.0,
    triplets_per_article=40.0,
    bytes_per_sentence=200.0,
    bytes_per_vector=768.0,
    bytes_per_triplet=35.0,
)


def test_a_single_worker_takes_the_sum_of_its_work() -> None:
    plan = predict(Load(articles=100_000, triplets=1_000), RATES, Conditions(workers=(1,)))
    hours = {step.name.partition(":")[0]: step.hours[0] for step in plan.steps}
    assert hours["Import"] == pytest.approx(1_600_000 * (1e-4 + 1e-6 + 1e-5) / 3600, rel=0.01)
    assert hours["Embedding"] == pytest.approx(1_600_000 * (0.01 + 1e-5) / 3600, rel=0.05)
    assert hours["Triplets"] == pytest.approx(100_000 * 16 / 80 * 0.01 / 3600)
    assert sum(hours.values()) == pytest.approx(plan.hours[0])
    assert plan.disk_bytes == {"text": 3.2e8, "vectors": 1_600_000 * 768.0, "triplets": 35_000.0}


def test_more_workers_take_less_time_until_storing_is_the_limit() -> None:
    plan = predict(Load(articles=100_000), RATES, Conditions(workers=(1, 4, 16, 1_024), price_per_hour=2.0))
    (embedding,) = (step for step in plan.steps if step.name == "Embedding")
    assert embedding.hours[0] > 3.5 * embedding.hours[1] > 3 * 3.5 * embedding.hours[2]
    assert embedding.hours[3] >= 1_600_000 * 1e-5 / 3600
    assert embedding.busy[3] < 0.5 < embedding.busy[1]
    assert plan.price == tuple(2.0 * h * m for h, m in zip(plan.hours, plan.machines, strict=True))


def test_without_triplets_nothing_is_trained() -> None:
    names = [step.name for step in predict(Load(articles=1_000), RATES, Conditions(workers=(1,))).steps]
    assert not [name for name in names if "riplet" in name]


@pytest.mark.parametrize(
    ("hours", "text"), [(0.01, "0.6 min"), (1.5, "90 min"), (2.0, "2.0 h"), (47.0, "47.0 h"), (72.0, "3.0 days")]
)
def test_hours_have_a_unit_that_suits_them(hours: float, text: str) -> None:
    assert hours_as_text(hours) == text


def test_a_probe_notes_every_shard_and_changes_no_result() -> None:
    probe = Probe()
    shards = (Shard(f"shard {n}", [n] * n, n) for n in range(1, 4))
    assert list(probe.map(sum, shards, report=SILENT)) == [1, 4, 9]
    assert probe.times.sizes == [1, 2, 3]
    assert all(len(times) == 3 and min(times) >= 0 for times in (probe.times.read, probe.times.work, probe.times.write))


def test_the_first_shard_has_the_time_to_start_and_the_job_what_no_shard_explains() -> None:
    times = Times(sizes=[10, 10, 20], read=[1.0, 1.0, 2.0], work=[7.0, 2.0, 4.0], write=[0.0, 0.0, 4.0])
    rate = per_unit("sentence", times, 29.0)
    assert (rate.work_s, rate.start_s, rate.read_s, rate.write_s) == pytest.approx((0.2, 5.0, 0.1, (29 - 13 - 4) / 40))
    with pytest.raises(DataError, match="three shards"):
        per_unit("sentence", Times([1], [0.0], [1.0], [0.0]), 1.0)


def test_all_cores_are_at_least_as_fast_as_one() -> None:
    together, start_s = cores_together(seconds=0.05, rounds=1)
    assert 1.0 <= together <= available_cores()
    assert start_s >= 0.0


@pytest.fixture
def measured_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("THEMESCOPE_HOME", str(tmp_path / "home"))
    RATES.save(tmp_path / "home")
    return tmp_path / "home"


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["plan", *args])


def test_the_command_prints_steps_sizes_and_assumptions(measured_home: Path) -> None:
    found = run("--articles", "6900000", "--workers", "8,1", "--price", "0.5", "--deaths", "1")
    assert found.exit_code == 0, found.output
    assert "110,400,000 sentences" in found.output
    assert "1 worker " in found.output and "8 workers" in found.output
    for part in ("Disk: ", "Memory: ", "Price", "Shards repeated after deaths", "thematic-wikipedia", "Assumptions:"):
        assert part in found.output


def test_the_command_prints_json(measured_home: Path) -> None:
    values = json.loads(run("--articles", "1000", "--json").output)
    assert values["workers"] == [1, 2, 4, 8, 16, 32, 64]
    assert len(values["hours"]) == 7
    assert values["rates"]["model"] == "thematic-wikipedia"


@pytest.mark.parametrize("wrong", ["", "0", "a", "1,,2", "2000"])
def test_numbers_of_workers_are_checked(measured_home: Path, wrong: str) -> None:
    found = run("--articles", "10", "--workers", wrong)
    assert found.exit_code == 2
    assert "separated by commas, such as 1,2,8" in found.output


def test_rates_of_another_model_or_version_are_measured_again(measured_home: Path) -> None:
    assert Rates.stored(measured_home, "default") == RATES
    assert Rates.stored(measured_home, "tfidf") is None
    text = (measured_home / "rates.json").read_text(encoding="utf-8")
    (measured_home / "rates.json").write_text(text.replace(code_version(), "0.0.0"), encoding="utf-8")
    assert Rates.stored(measured_home, "default") is None
    (measured_home / "rates.json").write_text("{}", encoding="utf-8")
    assert Rates.stored(measured_home, "default") is None


@pytest.mark.slow
def test_every_step_is_measured() -> None:
    demo_dump()
    rates = measure("static-wikipedia", lambda _: None)
    assert set(rates.steps) == set(RATES.steps)
    assert all(rate.work_s > 0 for rate in rates.steps.values())
    assert rates.bytes_per_vector > 100 and rates.bytes_per_sentence > 100 and rates.bytes_per_triplet > 10
