"""Job kind: predict the relatedness of sentence pairs (SICK), measured by correlation and error."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from themescope.core.config import option
from themescope.core.errors import ReadError
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.models import find_model
from themescope.jobs.common.results import find_run, folder_digest, run_result, total, work_digest
from themescope.jobs.common.vectors import fitted_model, method_of
from themescope.jobs.kinds import REGISTRY as KINDS

KIND = "relatedness"


@dataclass(frozen=True)
class EvaluateRelatednessConfig(JobConfig):
    """Arguments of an evaluation on sentence pairs."""

    model: str = option("", "Name of the model.")
    sick: str = option("", "Folder with the three files of SICK, or the file of its full release.", file=True)
    regressor: bool = option(True, "Fit a regressor to the training pairs; otherwise use the cosine.")
    seed: int = option(0, "Seed of the regressor.", low=0)

    def validate(self) -> None:
        """Check that model and data are given."""
        self.require("model", "sick")

    def title(self) -> str:
        """Return a title with model and data."""
        return f"Relatedness by “{self.model}” on “{Path(self.sick).name}”"


def run(args: EvaluateRelatednessConfig, context: JobContext) -> dict[str, Any]:
    """Evaluate and store. A stored evaluation with the same digest is returned."""
    from themescope.core.tasks.relatedness import evaluate_sick, read_sick

    store, path = context.store, Path(args.sick)
    model = find_model(store, args.model)
    if not path.exists():
        raise ReadError(path, "this file or folder does not exist.", advice="Give the folder of SICK.")
    settings = {"pairs": folder_digest(path), "regressor": args.regressor}
    cards = KINDS.get("evaluate-relatedness"), method_of(model)
    digest = work_digest(*cards, model=model.digest, seed=args.seed, **settings)
    if existing := find_run(store, digest):
        return run_result(store, existing, cached=True, model=model.name)
    pairs = read_sick(path)
    context.progress(0, 1, f"Loading {model.name}")
    fitted = fitted_model(context, model)
    begun = time.monotonic()
    part = context.part(0.05, 0.98)
    scores = evaluate_sick(fitted, pairs, regressor=args.regressor, seed=args.seed, report=part)
    with context.writing() as w:
        run = w.runs.add(
            kind=KIND,
            digest=digest,
            model_id=model.id,
            config={**settings, "file": path.name, "test_pairs": len(pairs.test)},
            seed=args.seed,
            seconds=time.monotonic() - begun,
            scores=[total(metric, estimate) for metric, estimate in scores.items()],
        )
    return run_result(store, run, cached=False, model=model.name)
