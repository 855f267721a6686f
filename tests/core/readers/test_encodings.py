"""Encodings without a mark: right or asked for, never wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from themescope.core.errors import ReadError
from themescope.core.readers import REGISTRY
from themescope.core.readers.streams import guesses, is_certain
from themescope.core.types import SILENT

TEXTS = {
    "de": (
        "cp1252 iso-8859-15 mac-roman cp850",
        "Der Bus fährt zu spät, und wir müssen länger warten.",
        "Die Straßenbahn ist häufig überfüllt; Plätze gibt es nur für Kinder.",
        "Möchten Sie mehr Züge? Ja, natürlich, vor allem am frühen Morgen.",
    ),
    "fr": (
        "cp1252 iso-8859-15 mac-roman cp850",
        "Le bus est arrivé en retard et nous avons dû marcher.",
        "Les trains sont bondés à l’heure de pointe ; c’est gênant.",
        "Où est passé le contrôleur ? Personne n’a été prévenu.",
    ),
    "es": (
        "cp1252 mac-roman",
        "El autobús llega tarde todas las mañanas.",
        "¿Por qué no hay más trenes? El niño espera.",
        "La información está en la estación, según dicen.",
    ),
    "pt": (
        "cp1252",
        "O ônibus está atrasado e não há informação.",
        "As crianças vão à escola a pé; é perigoso.",
        "Não sei por que os comboios são tão cheios.",
    ),
    "sv": (
        "cp1252",
        "Bussen är försenad och vi får gå hela vägen.",
        "Tåget är fullt på morgonen, särskilt på måndagar.",
        "Jag åker hellre cykel än så här.",
    ),
    "da": (
        "cp1252",
        "Bussen er forsinket, og vi må gå på arbejde.",
        "Toget kører ikke på søndage, så vi tager bilen.",
        "Der er ingen plads til cykler i færgen.",
    ),
    "fi": (
        "cp1252",
        "Bussi on myöhässä ja meidän täytyy kävellä.",
        "Junat ovat täynnä aamulla, eikä istumapaikkoja ole.",
        "Tämä on hyvä, mutta lippu on kallis.",
    ),
    "it": (
        "cp1252",
        "L’autobus è in ritardo e così andiamo a piedi.",
        "Perché non c’è più un treno la sera? È difficile.",
        "La città ha bisogno di più mezzi.",
    ),
    "tr": (
        "cp1254",
        "Otobüs yine geç kaldı ve yürümek zorunda kaldık.",
        "Sabahları trenler çok kalabalık, oturacak yer yok.",
        "İstasyonda bilgi veren kimse yoktu, şaşırdık.",
    ),
    "pl": (
        "cp1250 iso-8859-2",
        "Autobus znowu się spóźnił i musieliśmy iść pieszo.",
        "Pociągi są przepełnione, zwłaszcza rano w poniedziałki.",
        "Dzieci jeżdżą do szkoły rowerem, bo jest bliżej.",
    ),
    "cs": (
        "cp1250 iso-8859-2",
        "Autobus měl opět zpoždění a museli jsme jít pěšky.",
        "Vlaky jsou přeplněné, zejména v pondělí ráno.",
        "Příští zastávka už není obsluhována, říká řidič.",
    ),
    "hu": (
        "cp1250 iso-8859-2",
        "A busz megint késett, és gyalog kellett mennünk.",
        "A vonatok reggelente zsúfoltak, nincs ülőhely.",
        "Miért nem jár több villamos? Kérdezték többen, őszintén.",
    ),
    "ro": (
        "cp1250 iso-8859-2",
        "Autobuzul a întârziat din nou şi am mers pe jos.",
        "Trenurile sunt aglomerate dimineaţa, mai ales lunea.",
        "Copiii merg la şcoală cu bicicleta, fiindcă e aproape.",
    ),
    "ru": (
        "cp1251 koi8-r cp866 iso-8859-5 mac-cyrillic",
        "Автобус опять опоздал, и нам пришлось идти пешком.",
        "Поезда переполнены, особенно по утрам в понедельник.",
        "Почему нет больше трамваев? Никто не знает.",
    ),
    "uk": (
        "cp1251 koi8-u",
        "Автобус знову запізнився, і нам довелося йти пішки.",
        "Потяги переповнені, особливо вранці в понеділок.",
        "Чому немає більше трамваїв? Ніхто не знає.",
    ),
    "bg": (
        "cp1251",
        "Автобусът отново закъсня и трябваше да вървим пеша.",
        "Влаковете са претъпкани, особено сутрин в понеделник.",
        "Защо няма повече трамваи? Никой не знае.",
    ),
    "el": (
        "cp1253 iso-8859-7",
        "Το λεωφορείο άργησε πάλι και πήγαμε με τα πόδια.",
        "Τα τρένα είναι γεμάτα, ειδικά το πρωί.",
        "Γιατί δεν υπάρχουν περισσότερα τραμ; Κανείς δεν ξέρει.",
    ),
    "he": (
        "cp1255 iso-8859-8",
        "האוטובוס שוב איחר והיינו צריכים ללכת ברגל.",
        "הרכבות מלאות, במיוחד בבוקר.",
        "למה אין יותר חשמליות? אף אחד לא יודע.",
    ),
    "ar": (
        "cp1256 iso-8859-6",
        "تأخرت الحافلة مرة أخرى واضطررنا إلى المشي.",
        "القطارات مزدحمة خاصة في الصباح.",
        "لماذا لا توجد عربات أكثر؟ لا أحد يعرف.",
    ),
    "th": ("tis-620", "รถเมล์มาสายอีกแล้วเราจึงต้องเดิน", "รถไฟเต็มมากโดยเฉพาะตอนเช้า", "ทำไมไม่มีรถรางเพิ่ม ไม่มีใครรู้"),
    "zh": ("gb18030", "公交车又晚点了，我们只好走路。", "火车很挤，特别是早上。", "为什么没有更多的电车？没有人知道。"),
    "ja": (
        "shift_jis euc-jp",
        "バスがまた遅れて、歩かなければならなかった。",
        "電車は朝とても混んでいる。",
        "どうして路面電車がもっとないのですか。",
    ),
    "ko": (
        "cp949",
        "버스가 또 늦어서 우리는 걸어야 했다.",
        "기차는 아침에 매우 붐빈다.",
        "왜 전차가 더 없습니까? 아무도 모른다.",
    ),
    "lt": (
        "cp1257",
        "Autobusas vėl vėlavo, ir mums teko eiti pėsčiomis.",
        "Traukiniai perpildyti, ypač pirmadienio rytą.",
        "Kodėl nėra daugiau troleibusų? Niekas nežino, šį kartą.",
    ),
    "lv": (
        "cp1257",
        "Autobuss atkal kavējās, un mums nācās iet kājām.",
        "Vilcieni ir pārpildīti, īpaši pirmdienas rītā.",
        "Kāpēc nav vairāk tramvaju? Neviens nezina, šķiet.",
    ),
    "et": (
        "cp1257 iso-8859-15",
        "Buss jäi jälle hiljaks ja me pidime jalgsi minema.",
        "Rongid on täis, eriti esmaspäeva hommikul.",
        "Miks ei ole rohkem tramme? Keegi ei tea, õigupoolest.",
    ),
    "zh-TW": ("big5", "公車又遲到了，我們只好走路。", "火車很擠，特別是早上。", "為什麼沒有更多的電車？沒有人知道。"),
}
"""Language → its encodings, and three texts."""
CASES = [
    (language, encoding, text)
    for language, (encodings, *texts) in TEXTS.items()
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
    path = tmp_path / "a.txt"
    path.write_bytes("\n".join(TEXTS["ru"][1:]).encode(encoding))
    reader = REGISTRY.build("plain")
    (article,) = reader.read(path, SILENT)
    assert [p.text for p in article.sections[0].paragraphs] == list(TEXTS["ru"][1:])
    assert encoding == "utf-8-sig" or reader.account.notes["encoding"]


def test_doubt_is_told_with_the_readings(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("Traukiniai perpildyti, ypač pirmadienio rytą.".encode("cp1257"))
    with pytest.raises(ReadError, match=r"the encoding of this text is not known. It may be cp\d+: “"):
        list(REGISTRY.build("plain").read(path, SILENT))
    (article,) = REGISTRY.build("plain", {"encoding": "cp1257"}).read(path, SILENT)
    assert "ypač" in article.sections[0].paragraphs[0].text
