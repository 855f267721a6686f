from pathlib import Path

import pytest

from tests.core.readers.samples import read, read_as, texts, write
from themescope.core.errors import ReadError
from themescope.core.readers.streams import guesses, is_certain

FILE = Path(__file__).with_name("encodings.txt")
LINES = [line.split("\t") for line in FILE.read_text("utf-8").splitlines() if not line.startswith("#")]
TEXTS = {language: texts for language, _, *texts in LINES}
CASES = [
    (language, encoding, text)
    for language, encodings, *texts in LINES
    for encoding in encodings.split()
    for text in (*texts, "\n".join(texts))
]


def test_no_encoding_is_taken_for_another() -> None:
    right = asked = 0
    for language, encoding, text in CASES:
        data = text.encode(encoding, "replace")
        if data.isascii() or data.decode(encoding) != text:
            continue  # no letter of it shows the encoding, or a letter is missing in it
        found = guesses(data)
        if not is_certain(found):
            asked += 1
            continue
        assert found[0].text == text, (language, encoding, found[0])
        right += 1
    assert right >= 150 and asked <= 25


def test_texts_in_several_languages_are_not_taken_for_another() -> None:
    data = (
        'Die schöne Frau hat Kuchen gegessen. Sie sagte: "Das war köstlich!" Der Preis betrug 15,50 €.\n'
        "J'ai acheté un café au lait pour 3,50 €. L'homme a dit : \"C'est parfait !\"\n"
        'La señora dijo: "¡Qué rico!" y pagó 25,75 €. El restaurante tenía un menú del día.\n'
        'Kvinnan åt kött. Hon sa: "Det var fantastiskt!" och betalade 45,90 €. Mannen frågade: "Vill du ha mer?"\n'
        'O João comprou um café por 2,50 €. Ele disse: "Está ótimo!" A mulher perguntou: "Quer mais alguma coisa?"\n'
        'De vrouw dronk koffie met koekjes. Ze zei: "Het was heerlijk!" en betaalde 4,25 €. "Mag ik ook wat?"\n'
    ).encode("cp1252")
    found = guesses(data)
    assert not is_certain(found) or found[0].encoding == "cp1252"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1251", "koi8-r"])
def test_a_text_is_read_in_its_encoding(encoding: str, tmp_path: Path) -> None:
    (article,), account = read(write(tmp_path, "a.txt", "\n".join(TEXTS["ru"]).encode(encoding)))
    assert texts(article) == {"": TEXTS["ru"]}
    assert encoding == "utf-8-sig" or account.notes["encoding"]


def test_doubt_is_told_with_the_readings(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "Traukiniai perpildyti, ypač pirmadienio rytą.".encode("cp1257"))
    with pytest.raises(ReadError, match=r"the encoding of this text is not known. It may be cp\d+: “"):
        read_as("plain", path)
    (article,), _ = read_as("plain", path, encoding="cp1257")
    assert "ypač" in texts(article)[""][0]
