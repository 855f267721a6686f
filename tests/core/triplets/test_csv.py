"""Triplets from a CSV file, and the sentence that each kind of bad file gets."""

from pathlib import Path

import pytest

from themescope.core.errors import ReadError
from themescope.core.triplets.sample import read_triplets_csv

GOOD = 'Sentence1,Sentence2,Sentence3\na,b,c\n"d, e",f,g\n'


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "triplets.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_plain(tmp_path: Path) -> None:
    texts = read_triplets_csv(write(tmp_path, GOOD))
    assert texts.pivots == ["a", "d, e"]
    assert texts.positives == ["b", "f"]
    assert texts.negatives == ["c", "g"]
    assert texts.groups.tolist() == [-1, -1]


def test_columns_anywhere_with_bom_extras_and_groups(tmp_path: Path) -> None:
    header = "\ufeffnote,sentence3,Article_ID,Sentence 1,SENTENCE2"
    text = "\r\n".join([header, "x,n1,Q7,p1,q1", "", "y,n2,Q3,p2,q2", "z,n3,Q7,p3,q3", ""])
    texts = read_triplets_csv(write(tmp_path, text))
    assert texts.pivots == ["p1", "p2", "p3"] and texts.negatives == ["n1", "n2", "n3"]
    assert texts.groups.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["line 1", "empty"]),
        ("Sentence1,Sentence2\na,b\n", ["line 1", "Sentence3", "missing"]),
        ("text\na\n", ["Sentence1, Sentence2, Sentence3 are missing"]),
        ("Sentence1,Sentence2,Sentence3,x,x\na,b,c,1,2\n", ["'x' appears twice"]),
        ("Sentence1,Sentence2,Sentence3\n", ["no triplets"]),
        (GOOD + "a,b\n", ["line 4", "2 cells", "header 3"]),
        (GOOD + "a, ,c\n", ["line 4", "Sentence2 is empty"]),
        (GOOD.encode() + b"\xff\xfe,b,c\n", ["UTF-8", "line 4"]),
    ],
)
def test_bad_files(tmp_path: Path, content: str | bytes, words: list[str]) -> None:
    with pytest.raises(ReadError) as caught:
        read_triplets_csv(write(tmp_path, content))
    assert "triplets.csv" in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="cannot be opened"):
        read_triplets_csv(tmp_path / "nothing.csv")
