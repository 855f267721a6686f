"""From what a person types to what is in the store: models by name or method, benchmarks and sets by name or file."""

from __future__ import annotations

from pathlib import Path

from core.errors import ConfigError, UnknownNameError
from core.types import Split
from jobs.cli.shell import Shell
from jobs.common.digests import file_digest
from jobs.kinds.import_sources import up_to_date


def model_for(shell: Shell, wanted: str, corpus: str = "") -> str:
    """The name of the model that ``wanted`` means: a model's name, or a method.

    A method that needs no triplets and no other models is fitted on the spot with its default settings (the store
    remembers it). For one that does, its newest model is taken.
    """
    from core.models import REGISTRY as METHODS

    with shell.store.reading() as r:
        models = r.models.list()
    if any(model.name == wanted for model in models):
        return wanted
    if wanted not in METHODS:
        raise UnknownNameError("model or method", wanted, [*METHODS.ids(), *(model.name for model in models)])
    tags = METHODS.get(wanted).tags
    if not tags & {"needs-triplets", "needs-models"}:
        data = {"corpus": corpus} if "needs-sentences" in tags else {}
        return str(_here(shell, "train", {"method": wanted, "name": wanted, **data})["model"])
    own = [model for model in models if model.method == wanted]
    if not own:
        from_what, how = (
            ("triplets", "--triplets SET") if "needs-triplets" in tags else ("other models", "--model A --model B")
        )
        raise ConfigError(
            f"{wanted!r} has no model yet, because it is made from {from_what}. Train one first: "
            f"themescope train {wanted} {how}"
        )
    return own[-1].name


def benchmark_for(shell: Shell, source: str, splits: tuple[str, ...], rules_json: str, seed: int) -> tuple[str, str]:
    """(benchmark, corpus) for a published CSV file, or for a corpus or benchmark by name; made when it is not there."""
    with shell.store.reading() as r:
        by_name = {b.name: b for b in r.benchmarks.list()}
        if source in by_name:
            return source, r.corpora.get(by_name[source].corpus_id).name
    if looks_like_file(source):
        corpus = corpus_of_csv(shell, Path(source))
        rules_json, splits = '{"as_given": true}', tuple(s.value for s in Split)
    else:
        corpus = source
    with shell.store.reading() as r:
        name = r.benchmarks.usable_name(f"{corpus} benchmark")
    args: dict[str, object] = {"corpus": corpus, "name": name, "rules_json": rules_json, "seed": seed}
    args |= {"splits": list(splits)} if splits else {}
    return str(_here(shell, "build-benchmark", args)["benchmark"]), corpus


def corpus_of_csv(shell: Shell, path: Path) -> str:
    """The corpus made of this benchmark file; imported if it is not there yet."""
    args: dict[str, object] = {"files": [str(path.absolute())], "reader": "scb-csv"}
    if path.is_file():
        digest = [file_digest(path)]
        with shell.store.reading() as r:
            for corpus in r.corpora.list():
                same = (corpus.report.get("file_digests"), corpus.report.get("readers")) == (digest, ["scb-csv"])
                if same and up_to_date(corpus):
                    return corpus.name
    with shell.store.reading() as r:
        name = r.corpora.usable_name(path.stem)
    return str(_here(shell, "import-corpus", args | {"corpus": name})["corpus"])


def looks_like_file(source: str) -> bool:
    """True for an existing file, and for a name that can only be meant as one."""
    return Path(source).is_file() or source.lower().endswith((".csv", ".csv.gz"))


def _here(shell: Shell, kind: str, args: dict[str, object]) -> dict[str, object]:
    """Run a job in the foreground even if the command's own work goes to the background."""
    background, shell.background = shell.background, False
    try:
        return shell.run(kind, args)
    finally:
        shell.background = background
