from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import themescope
from themescope.core.errors import ArtifactError, ConfigError, DataError, UnknownNameError
from themescope.core.sentence_model import SentenceModel
from themescope.core.themes import Themes

VERBS = ("meets", "joins", "feeds", "fills", "leaves")
NOUNS = {"river": 5, "opera": 4, "tax": 3}
TEXTS = [f"The {noun} {verb} a {noun}." for noun, n in NOUNS.items() for verb in VERBS[:n]]
SUBJECTS = np.repeat(np.arange(3), list(NOUNS.values()))


class Subjects:
    """An encoder of another package: a dimension for each noun, and noise."""

    def encode(self, sentences: list[str], **options: object) -> np.ndarray:
        noise = np.array([[len(s) % 3, ord(s[-2]) % 5] for s in sentences]) / 20
        return np.hstack([[[noun in s for noun in NOUNS] for s in sentences], noise]).astype(np.float32)


@pytest.fixture(scope="module")
def themes() -> Themes:
    return themescope.find_themes([*TEXTS, "  ", TEXTS[0].upper()], Subjects(), 3, invalid="drop")


def test_rows_and_tables_are_those_that_were_given(themes: Themes) -> None:
    assert themes.labels.tolist() == [*SUBJECTS, -1, 0]
    assert [theme.size for theme in themes.themes] == [6, 4, 3]
    assert np.isnan(themes.margins[12]) and (themes.margins[:12] > 0).all()
    assert all(themes.labels[row] == label for label, theme in enumerate(themes.themes) for row in theme.central)
    assert repr(themes) == "<Themes: 3 themes of 13 sentences>"
    frame = pd.DataFrame({"answer": TEXTS}, index=[f"person {i}" for i in range(12)])
    found = themescope.find_themes(frame, Subjects(), 3, text="answer").to_frame()
    assert found.index.equals(frame.index) and found.columns.tolist() == ["sentence", "theme", "name", "margin"]
    assert found["sentence"].tolist() == TEXTS and found["theme"].tolist() == SUBJECTS.tolist()
    out = themes.to_frame().iloc[12]
    assert (out["theme"], pd.isna(out["name"]), pd.isna(out["margin"])) == (-1, True, True)


def test_new_sentences_get_themes_with_probabilities(themes: Themes) -> None:
    found = themes.predict(pd.DataFrame({"new": ["A tax feeds.", "An opera."]}), text="new")
    assert found.labels.tolist() == [2, 1] and found.probabilities.shape == (2, 3)
    assert found.probabilities.sum(axis=1) == pytest.approx(1) and (found.probability > 0.9).all()
    assert themes.predict([]).labels.tolist() == [] and themes.predict("A river.").labels.tolist() == [0]
    assert themes.predict(TEXTS).labels.tolist() == SUBJECTS.tolist()
    with pytest.raises(DataError, match="Row 1, counting from 0, is None"):
        themes.predict(["A tax.", None])  # type: ignore[list-item]


def test_themes_are_renamed_by_label_or_name(themes: Themes) -> None:
    renamed = themes.rename({0: "Rivers", 2: " Taxes "}).rename({"Rivers": "Water"})
    assert [theme.name for theme in renamed.themes] == ["Water", themes.themes[1].name, "Taxes"]
    assert themes.themes[0].name != "Water"
    for names in ({0: "Same", 1: "Same"}, {0: " "}):
        with pytest.raises(ConfigError, match="a name of its own"):
            themes.rename(names)
    with pytest.raises(UnknownNameError, match="Did you mean 'Taxes'"):
        renamed.rename({"Taxis": "Cars"})
    with pytest.raises(UnknownNameError, match="no theme called '3'"):
        renamed.rename({3: "Cars"})


def test_merged_themes_are_ordered_and_described_again(themes: Themes) -> None:
    merged = themes.rename({0: "Rivers"}).merge(1, 2, name="Society")
    assert [(theme.name, theme.size) for theme in merged.themes] == [("Society", 7), ("Rivers", 6)]
    assert merged.labels.tolist() == [*np.where(SUBJECTS == 0, 1, 0), -1, 1]
    assert all(merged.labels[row] == label for label, theme in enumerate(merged.themes) for row in theme.central)
    assert merged.predict(["A tax.", "A river."]).labels.tolist() == [0, 1]
    assert merged.margins[0] == pytest.approx(themes.margins[0], abs=0.3)
    one = themes.merge(0, themes.themes[1].name, 2)
    assert len(one.themes) == 1 and one.themes[0].name and one.reason == ""
    for wrong in ((0,), (1, 1)):
        with pytest.raises(ConfigError, match="at least two themes"):
            themes.merge(*wrong)


def test_sentences_are_moved_with_those_that_are_identical(themes: Themes) -> None:
    named = themes.rename({0: "Rivers", 1: "Opera", 2: "Taxes"})
    moved = named.move([0, 5], "New")
    assert [(theme.name, theme.size) for theme in moved.themes] == [
        ("Rivers", 4), ("Opera", 3), ("New", 3), ("Taxes", 3),
    ]  # fmt: skip
    assert moved.labels.tolist() == [2, *[0] * 4, 2, *[1] * 3, *[3] * 3, -1, 2]
    assert moved.move([13], "Rivers").labels[[0, 13]].tolist() == [0, 0]
    gone = named.move(np.flatnonzero(named.labels == 2), 1)
    assert [(theme.name, theme.size) for theme in gone.themes] == [("Opera", 7), ("Rivers", 6)]
    for rows in ([], [12], [-1], [99]):
        with pytest.raises(DataError, match="at least one row"):
            themes.move(rows, "New")
    with pytest.raises(UnknownNameError, match="no theme called '3'"):
        themes.move([0], 3)


def test_merging_changes_nothing_about_the_others() -> None:
    """The margins follow from the same features: those with shared words and the order of a text."""
    text = [f"The {noun} {verb} the {noun}." for noun in ("river", "violin", "tax") for verb in VERBS]
    found = themescope.find_themes(text, "static-wikipedia", 4, in_order=True)
    assert found.order and found.shared
    merged = found.merge(2, 3)
    outside = np.isin(found.labels, (0, 1))
    assert merged.margins[outside] == pytest.approx(found.margins[outside], abs=0.2)
    assert (merged.margins[outside] >= found.margins[outside] - 1e-6).all()  # the nearest other theme is a mean now


def test_stable_themes_are_told_from_others(tmp_path: Path) -> None:
    texts = [f"{noun} {i}{'abc'[i % 3]}" for noun in ("river", "opera", "tax") for i in range(12)]
    found = themescope.find_themes(texts, Subjects(), 3)
    assert found.stability(samples=4) == pytest.approx([1, 1, 1])
    mixed = found.move(np.flatnonzero(found.labels == 0)[:6], 1)
    assert sorted(mixed.stability(samples=4).round(1)) == pytest.approx([0.5, 0.7, 1], abs=0.15)
    found.save(tmp_path)
    assert (Themes.load(tmp_path).stability(samples=2) == found.stability(samples=2)).all()


def test_saved_themes_are_loaded_also_with_sparse_vectors(themes: Themes, means: SentenceModel, tmp_path: Path) -> None:
    themes.save(tmp_path / "other")
    assert {path.suffix for path in (tmp_path / "other").iterdir()} == {".json", ".safetensors"}
    loaded = Themes.load(tmp_path / "other", Subjects())
    pd.testing.assert_frame_equal(loaded.to_frame(), themes.to_frame())
    assert (loaded.themes, loaded.left_out, loaded.frequent) == (themes.themes, themes.left_out, themes.frequent)
    assert (loaded.curves, loaded.interval, loaded.sentences) == (themes.curves, themes.interval, themes.sentences)
    assert (loaded.predict(TEXTS).probabilities == themes.predict(TEXTS).probabilities).all()
    assert loaded.merge(1, 2).themes == themes.merge(1, 2).themes
    with pytest.raises(DataError, match="have no model"):
        Themes.load(tmp_path / "other").predict(TEXTS)
    with pytest.raises(DataError, match="50 dimensions; these themes have 5"):
        Themes.load(tmp_path / "other", means).predict(TEXTS)

    class Sparse(Subjects):
        def encode(self, sentences: list[str], **options: object) -> Any:
            return sparse.csr_array(super().encode(sentences))

    found = themescope.find_themes(TEXTS, Sparse(), 3)
    found.save(tmp_path)
    again = Themes.load(tmp_path, Sparse())
    assert (again.vectors != found.vectors).nnz == 0
    assert (again.predict(TEXTS).labels == found.labels).all()


def test_the_model_of_saved_themes_is_found_by_its_name(means: SentenceModel, tmp_path: Path) -> None:
    found = themescope.find_themes(TEXTS, means, 3)
    found.save(tmp_path / "themes")
    again = Themes.load(tmp_path / "themes")
    assert again.predict(TEXTS).labels.tolist() == found.predict(TEXTS).labels.tolist()
    info = tmp_path / "themes" / "themes.json"
    text = info.read_text("utf-8")
    for old, new, said in (
        ('"digest": "', '"digest": "0', "has changed. Load with the former one as model"),
        ('"format": 1', '"format": 2', "it has format 2, not 1"),
        ('"compared"', '"compare"', "is damaged"),
    ):
        info.write_text(text.replace(old, new), "utf-8")
        with pytest.raises(ArtifactError, match=said):
            Themes.load(tmp_path / "themes")


def test_a_table_a_figure_a_tree_and_a_bar_show_the_themes(themes: Themes, capsys: pytest.CaptureFixture[str]) -> None:
    figure = themes.plot()
    assert [trace.name for trace in figure.data] == [theme.name for theme in themes.themes]
    assert [len(trace.x) for trace in figure.data] == [5, 4, 3]
    assert sorted(figure.data[0].text) == sorted(TEXTS[:5])
    tree = themes.hierarchy()
    assert tree.shape == (2, 4) and tree[-1, 3] == 3 and (np.diff(tree[:, 2]) >= 0).all()
    themescope.find_themes(TEXTS, Subjects(), 3, show_progress_bar=True)
    assert "naming the themes" in capsys.readouterr().err
    found = themescope.find_themes([*TEXTS, "<b>Tax</b> & tax", None], Subjects(), 3, invalid="drop")
    html = found.rename({0: "<i>"})._repr_html_()
    assert html.count("<tr>") == 4 and "1 left out (no text)" in html and "3 themes of 13 sentences" in html
    assert "<i>" not in html and "&lt;i&gt;" in html and "<b>" not in html
