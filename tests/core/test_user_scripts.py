import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.places import ROOT

HEAD = """
import themescope

TEXTS = [
    "The river floods every spring.", "The stream runs into the river.", "A flood fills the river.",
    "The orchestra played a symphony.", "She plays the violin in an orchestra.", "A symphony needs violins.",
]
MODEL = "static-wikipedia"
"""
SCRIPTS = {
    "encode": """
        vectors = themescope.encode(TEXTS, MODEL)
        vector = themescope.encode(TEXTS[0], MODEL)
        assert vectors.shape[0] == 6 and vector.ndim == 1
        themescope.encode(TEXTS, MODEL, batch_size=2, device=None, precision="float32")
        model = themescope.load(MODEL, device="cpu")
        normal = model.encode(TEXTS, batch_size=2, show_progress_bar=False, normalize_embeddings=True)
        assert float(normal[0].sum()) != 0
        rows = [row for row, cosine in model.similar("A flood.", TEXTS, top_k=2) if cosine > 0]
        best: str = TEXTS[rows[0]]
    """,
    "iterables": """
        from collections.abc import Iterator

        import numpy as np

        from themescope.core.types import Sentence

        def lines() -> Iterator[str]:
            yield from TEXTS

        model: themescope.SentenceModel = themescope.load(MODEL)
        for given in (tuple(TEXTS), (text for text in TEXTS), dict.fromkeys(TEXTS).keys()):
            model.encode(given)
        model.encode(lines())
        model.encode(np.array(TEXTS))
        model.encode([Sentence(text, position=i) for i, text in enumerate(TEXTS)])
        model.encode([Sentence(TEXTS[0]), TEXTS[1]])
    """,
    "tables": """
        import pandas as pd
        import pyarrow as pa  # type: ignore[import-untyped]

        frame = pd.DataFrame({"answer": TEXTS, "age": range(6)})
        frame["theme"] = themescope.find_themes(frame, MODEL, k=2, text="answer").labels
        frame["cluster"] = themescope.SentenceClusterer(MODEL, k=2, text="answer").fit_predict(frame)
        themescope.encode(frame, MODEL, text="answer")
        table = pa.table({"answer": TEXTS})
        themescope.find_themes(table, MODEL, 2, text="answer")
        themescope.find_themes(table["answer"], MODEL, 2)
        found: pd.DataFrame = themescope.find_themes(pd.Series(TEXTS), MODEL, 2).to_frame()
        assert found["theme"].nunique() == 2
        answers = pd.Series([*TEXTS, None, float("nan")], dtype=object)
        assert themescope.find_themes(answers, MODEL, 2, invalid="drop").left_out["no text"] == 2
    """,
    "themes": """
        themes: themescope.Themes = themescope.find_themes(TEXTS, MODEL)
        for label, theme in enumerate(themes.themes):
            print(label, theme.name, theme.size, [TEXTS[row] for row in theme.central])
        low, high = themes.interval
        uncertain = [text for text, margin in zip(TEXTS, themes.margins.tolist()) if margin < 0.1]
        found = themescope.find_themes(TEXTS, MODEL, 2).predict(["A flood."])
        name: str = themes.themes[int(found.labels[0])].name
        probability: float = float(found.probabilities[0].max())
        if found.unusual[0]:
            print("fits no theme")
        settings = {"words": 2, "clusterer": "kmeans"}
        themescope.find_themes(TEXTS, MODEL, "auto", in_order=True, seed=1, settings=settings)
    """,
    "changes": """
        import tempfile
        from pathlib import Path

        themes = themescope.find_themes(TEXTS, MODEL, 3)
        themes = themes.rename({0: "Rivers"}).rename({"Rivers": "Water"}).merge(1, 2, name="Music")
        assert sorted(theme.name for theme in themes.themes) == ["Music", "Water"]
        assert themes.hierarchy().shape == (1, 4)
        chart = themescope.show(themes, height=300, theme="dark")
        if len(chart.rows):
            themes = themes.move(chart.rows, "Selected")
        themes = themes.move([0, 1], 0)
        print(chart.selection["sentence"].tolist())
        folder = Path(tempfile.mkdtemp())
        themes.save(folder)
        print(themescope.Themes.load(folder).predict(TEXTS).labels.tolist())
        themescope.Themes.load(str(folder), MODEL)
    """,
    "own": """
        import numpy as np
        import numpy.typing as npt

        from themescope.core.errors import DataError, ThemescopeError
        from themescope.core.types import NullReport

        class Printer(NullReport):
            def progress(self, done: float, total: float, message: str = "") -> None:
                print(f"{done / total:.0%} {message}")

        class Lengths:
            def encode(self, sentences: list[str]) -> npt.NDArray[np.float32]:
                return np.array([[len(text), text.count("o"), 1] for text in sentences], np.float32)

        themescope.find_themes(TEXTS, Lengths(), 2, report=Printer())
        themescope.SentenceClusterer(Lengths(), k=2).fit(TEXTS)
        for given in ([None, *TEXTS], 5):
            try:
                themescope.encode(given, MODEL)  # type: ignore[arg-type]
            except (DataError, ThemescopeError) as error:
                print(error)
    """,
    "clusterer": """
        import numpy as np
        from scipy import sparse  # type: ignore[import-untyped]
        from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]

        clusterer = themescope.SentenceClusterer(MODEL, k=2, clusterer="ward", seed=3, invalid="drop").fit(TEXTS)
        labels = clusterer.predict(["A flood."]).tolist()
        print(clusterer.n_clusters_, clusterer.cluster_centers_.shape, labels)
        vectors = np.random.default_rng(0).normal(size=(20, 4))
        themescope.SentenceClusterer(k=3).fit(vectors).predict(vectors[:2])
        themescope.SentenceClusterer(k=3).fit(sparse.csr_array(vectors))
        pipeline = make_pipeline(themescope.SentenceVectorizer(MODEL), themescope.SentenceClusterer(k="auto"))
        print(pipeline.fit_predict(TEXTS))
    """,
}


def script(name: str) -> str:
    return HEAD + textwrap.dedent(SCRIPTS[name])


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_script_runs(name: str) -> None:
    exec(compile(script(name), name, "exec"), {"__name__": name})


@pytest.mark.slow  # half a minute, since mypy reads the types of PyTorch and pandas
def test_mypy_accepts_the_scripts(tmp_path: Path) -> None:
    names = [f"use_{name}.py" for name in SCRIPTS]  # no script has the name of a package
    for name, path in zip(SCRIPTS, names, strict=True):
        (tmp_path / path).write_text(script(name), "utf-8")
    options = ["--strict", "--no-error-summary", "--follow-imports=silent", "--config-file=", "--cache-dir=cache"]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    command = [sys.executable, "-m", "mypy", *options, *names]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout + run.stderr) == (0, "")
