"""Sentence splitting on the lists and rules of the ``sentence-splitter`` package, with rules of our own on top.

The package (Koehn and Schroeder's splitter of the Europarl tools) ends a sentence at ". ? !" before a capital, a digit
or an opening quote, except after its abbreviations. Our rules add what it does not know: citation marks after the stop,
closing quotes of other languages, the marks of other scripts, text without capitals or without spaces, emoji, numbered
items, and abbreviations that may end a sentence, which a word such as "The" after them shows. Sentences are spans of
the text, so each can be found in its source. The time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

import regex  # type: ignore[import-untyped]

from themescope.core.columns import as_text
from themescope.core.errors import ConfigError, UnknownNameError
from themescope.core.types import Article, CodingUnit, Paragraph, Section, Value

# Abbreviations, and words that begin sentences, that the lists of the ``sentence-splitter`` package do not have

_RUSSIAN = (
    "им ул просп пл пос пер наб обл респ гр проф акад доц канд инж руб тыс млн млрд см ср напр исп англ фр нем ит лат "
    "греч яп кит ок род ум ред изд вып гл св кн т д г м р с о оз"
)
_HINDI = "ए बी सी डी एफ एच जे के एल एम एन ओ पी आर एस टी यू वी एक्स डॉ डा श्री श्रीमती सुश्री प्रो पं कु सु मि मो सं रु कं लि प्रा सौ कै"
_PAPERS = (
    "sec secs sect sects eq eqs vol vols ch Chs chap chaps App Appx Tab Tbl Thm Prop Lem Def Cor Ex Alg figs ref refs "
    "para paras par pars art arts cl cls sch reg regs subs subsec subpar subch Stat Rul ver Ed ep eps iss ser no nos "
    "nr pp p fl lines ll fn ff bk div pt pts rev ca v"
)

ALWAYS = {
    "ar": "أ.د ق.م",
    "bg": "г гр ул бул с проф д-р инж арх св вж т нар бл ап акад доц ген полк ж.к напр",
    "bn": "ড ডা ডাঃ মো মোঃ প্রফ",
    "de": "med phil rer nat jur theol oec habil Ing Dipl Dipl.-Ing Dr.-Ing Hr Hrn Fr Frl Bsp bspw vgl geb gest gegr "
    "inkl exkl insb h.c hrsg Anm ehem urspr engl franz frz lat griech dt österr Mag Univ jew allg zit Str Tel rd",
    "el": "κ κα κκ δις δρ αρ σελ τηλ λεωφ οδ πρβλ δηλ αιμ",
    "en": "approx incl excl est viz resp dept univ assoc Pub Proc Natl Acad Sci Phys Lett Int Conf Symp Cong Sess "
    "subsp ssp var cv sp spp syn feat Mt Mts Ft Pt Mtn Pres Fr Br Bp Abp Cdr Cdre Cpt Sqn Sta Ste Esq Wm Geo Chas "
    "Thos Jas Cie pvt Pty ed eds trans Ave Hwy Rte Treas Supp Intl tel deg temp "
    "Mon Tue Tues Wed Thu Thur Thurs Fri Sat",
    "es": "Avda aprox núm Bs",
    "et": "nt vt dr prof hr pr tn tlk",
    "fr": "Mme Mmes Mlle Mlles MM Me Mes Mgr Pr Ste Sts env chap éd éds boul réf ann vol coll trad",
    "hi": _HINDI,
    "hr": "dr prof mr sc sv tzv npr tj ul tel ing g gđa gđica",
    "hu": "dr id ifj özv prof kb pl ill ún",
    "hy": "թ ք պրոֆ դոկտ ակադ հմ դ դդ Յու Էդ ընկ փող քաղ",
    "id": "Dr Prof H Hj Ir Drs Jl Tn Ny Sdr hlm",
    "it": "dott prof avv ing sig on ca vol ecc geom rag arch",
    "mr": _HINDI,
    "ne": _HINDI,
    "pl": "ok st asp mł insp nadkom podkom kpt ppłk płk plut sierż gen inż mgr hab prof ul al pl im tzw tys mln mld "
    "zob",
    "pt": "Sr Sra Dr Dra tel av aprox Exmo Exma Prof Profa",
    "ru": _RUSSIAN,
    "sr": "dr prof mr sv tzv npr tj ul др проф мр св тзв нпр тј ул г гђа",
    "uk": "ім вул просп пл пров смт проф акад доц канд інж грн коп тис млн млрд див напр ісп англ фр нім лат грец яп "
    "бл нар пом ред вид вип гл св кн т д г м р с о оз обл гр ст рр тел буд кв",
    "vi": "TS ThS PGS GS Tp TP tr BS KS",
}
"""Language → abbreviations that a full stop belongs to, wherever they stand."""
NUMERIC = {
    "": "no nr pp p vol art fig tab cap cf",
    "de": "Abs Abb Art Bd Bde Kap Nr S Tab Aufl Ziff Anl Rn Rdnr Az Jg H Mt Joh Lk Mk Nrn",
    "en": _PAPERS,
    "es": "pág págs art arts cap tel vol núm",
    "fr": "art arts chap t p pp n no vol fig tél réf ch al",
    "it": "art artt att pag pagg n nn cap fig tab vol co lett",
    "pl": "art ust pkt nr str poz rozdz tab rys",
    "pt": "art arts n nº pág págs p tel cap inc",
    "ru": "стр рис табл п пп ст гл ч т тт разд",
    "uk": "стор рис мал табл п пп ст гл ч т розд",
}
"""Language, or "" for all → abbreviations that a full stop belongs to before a number."""
BEFORE_NAMES = (
    "Mr Mrs Ms Mx Dr Prof Rev Fr Gen Sen Rep Gov Capt Lt Col Sgt Maj Hon Messrs vs v cf cp e.g i.e viz esp incl Incl "
    "approx Approx Mme Mlle MM Mgr M Hr Hrn Sr Sra Srta Sres D Fig fig ft feat Feat No no z.B d.h bzw vgl p.ex p.ej "
    "np ej г-н г-жа т.е im ul им ул ім вул м"
)
"""Abbreviations that no sentence ends with, because a name or an example follows."""
ENDING = "etc usw ecc enz stb osv itd atd jne dll dsb dst т.д т.п т.ін"
"""Abbreviations that end a sentence before every capital."""
STARTERS = {
    "bg": "Той Тя То Те Това Тези Този Тази В Във На От За С Със По При След Преди Но И А Ако Когато",
    "cs": "On Ona Ono Oni To Ten Ta Tento Tato V Ve Na Po Pro Od Do Za Ale Když Pokud",
    "da": "Det Den De Han Hun Vi Der Dette I På Efter Ved Fra Men Og Når Hvis",
    "de": "Der Die Das Den Dem Des Ein Eine Einen Einem Er Sie Es Wir Ich Ihr Dies Diese Dieser Dieses Diesem Diesen "
    "In Im Am An Auf Aus Bei Beim Mit Nach Seit Von Vom Zu Zum Zur Für Durch Um Über Unter Vor Aber Und Oder Doch "
    "Dann Da Wenn Als Während Weil Nachdem Auch Nur Hier Dort So Sein Seine Ihre Man Wer Was Wie Wo Warum",
    "el": "Ο Η Το Οι Τα Τον Την Αυτό Αυτή Αυτός Στο Στη Στην Στον Με Από Για Σε Και Αλλά Όταν Αν",
    "en": "The This These That Those There It Its He She They We You His Her Their Our I A An In On At By For From "
    "With After Before During Since Until While When Where Why How What Who Which If As Although Though Because But "
    "And So Or However Then Thus Therefore Also Another Both Each Some Many Most Such Here Under Among Despite "
    "Between Not Nobody Everyone Nothing Once One To Is Are Was Were Did Does Do Has Have Had",
    "es": "El La Los Las Un Una Lo Él Ella Ellos Ellas Este Esta Esto Estos Estas Ese Esa Eso En De Del Al Con Por "
    "Para Desde Hasta Sin Sobre Tras Según Pero Y O Si Cuando Como Aunque Su Sus Se No Hay Es Son Fue También Además",
    "fi": "Hän He Se Ne Tämä Nämä Kun Jos Mutta Ja Myös",
    "fr": "Le La Les L' Un Une Des Du Il Elle Ils Elles On Nous Vous Je Ce Cet Cette Ces C' En Dans Sur Avec Pour Par "
    "Depuis Après Avant Sans Mais Et Ou Si Quand Comme Son Sa Ses Leur Leurs Au Aux À D' Cependant Ainsi Puis",
    "it": "Il Lo La I Gli Le Un Una Uno L' Egli Lui Lei Loro Questo Questa Questi Queste In Nel Nella Di Del Della "
    "Dal Con Per Su Sul Da Dopo Prima Ma E O Se Quando Come Si Non È Suo Sua Al Alla Anche",
    "nl": "De Het Een Hij Zij Ze Wij We Ik Dit Dat Deze Die In Op Van Met Voor Na Bij Door Om Aan Uit Maar En Of Als "
    "Toen Er Ook Zijn Haar Hun Niet",
    "no": "Det Den De Han Hun Vi Dette I På Etter Ved Fra Men Og Når Hvis",
    "pl": "On Ona Ono Oni To Ten Ta Te W We Na Po Z Ze Od Do Dla Przez Ale I A Gdy Jeśli Jego Jej Ich Nie Jest Był",
    "pt": "O A Os As Um Uma Ele Ela Eles Elas Este Esta Isto Esse Essa Isso Em No Na Nos Nas De Do Da Com Por Para "
    "Pelo Pela Desde Até Sem Sobre Após Mas E Ou Se Quando Como Seu Sua Ao À Não É Foi",
    "ro": "El Ea Ei Ele Acest Această În Din La Cu De Pe Pentru După Dar Și Dacă Când Un O Nu",
    "ru": "Он Она Оно Они Это Эта Этот Эти Тот Та Те Мы Вы Я В Во На По От До Из К С Со За При После Перед Для У О Об "
    "Но А И Если Когда Как Его Её Ее Их Не Все Всё Там Тут Здесь Затем Также Однако Так Кто Что Где Почему",
    "sv": "Det Den De Han Hon Vi Detta I På Efter Vid Från Men Och När Om",
    "uk": "Він Вона Воно Вони Це Цей Ця Ці Той Та Ті Ми Ви Я В У Во На По Від До З Із Зі За При Після Перед Для О Про "
    "Але А І Й Якщо Коли Як Його Її Їх Не Все Усе Там Тут Потім Також Проте Так Хто Що Де Чому Тому Тобто Йому Втім "
    "Адже Якби Отже",
}
"""Language → articles, pronouns, prepositions and the like: their capital shows that a sentence begins."""

_PREFIXES = files("sentence_splitter") / "non_breaking_prefixes"

_LISTED = frozenset(f.name.removesuffix(".txt") for f in _PREFIXES.iterdir() if f.is_file())
_CODES = "am ar bg bn et fa he hi hr hy id ja km ko mr my ne sr uk ur vi zh"
LANGUAGES: tuple[str, ...] = tuple(sorted(_LISTED | set(_CODES.split())))
"""Two-letter codes of the languages that sentences can be split in. Not among them: Thai, which has no full stop."""

_MARKS = "。！？．｡।॥؟۔։።፧။។‼⁇⁈⁉"
"""Marks that end a sentence in every language, also where no space follows."""
_LANGUAGE_STOPS = {"el": ";", "hy": ":"}
"""Marks that end a sentence only in one language, before a capital."""
_EMOJI = "\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\U0001f900-\U0001faff☀-☄☔☕☹☺♥⚡✅✊-✌✨❌❗❤⭐\ufe0f\u200d"
_CLOSERS = r"""'")\]}*_”’»›」』）】〉》"""
_OPENERS = r"""`'"“”„‚‘’«»‹›(\[{*_「『（【〈《¿¡"""
_BEFORE_NAMES, _ENDING = frozenset(BEFORE_NAMES.split()), frozenset(ENDING.split())
_NO_START = frozenset("，、,;；:：)）」』】”’》〉…—–-~～%")
_SPACE = "[ \u00a0\u202f]"


def _rule(stops: str, wide: bool) -> re.Pattern[str]:
    """Return the pattern of places where a sentence may end; wide: also outside of ASCII, and at emoticons.

    Its groups are the marks, closing quotes, citation marks and emoji; white space may follow. Only one place is tried
    in a run of the same characters, so that long runs do not take quadratic time.
    """
    faces = rf"[{_EMOJI}]+|[:;=]['-]?[()DPp]+(?!\S)"
    tail = (
        rf"((?:[{_CLOSERS}]|[“‘«‹](?=[\s\[]|$))++|{_SPACE}['\"”’»)\]]++(?=\s|$|\[))?+"
        r"((?:\[[^\[\]\n]{1,30}\](?::\d+(?:[–-]\d+)?)?){1,9}+|"
        r"(?:\ \[[A-Z]{0,5}\d{1,3}(?:[,–-]\ ?\d{1,3}){0,9}\]){1,9}+(?=\s*$|\s+(?![a-z]))|"
        r"(?:(?<=[^\W\d][.?!])|(?<=.[)\"”’]))\d{1,3}(?:[,–-]\d{1,3}){0,9}(?=\s)|[¹²³⁰-⁹†‡]++)?+"
    )
    if not wide:
        return re.compile(rf"([.?!](?<![.?!]{{2}})[.?!]*+){tail}((?!))?(?:\s++(?=\S)|(?=[A-Z]))")
    marks = f".?!…{stops}{_MARKS}"
    tail += rf"((?:\s?(?:{faces})){{1,9}}+)?+"
    return re.compile(
        rf"([{marks}{_EMOJI}:;=](?:(?<=[{marks}])(?<![{marks}]{{2}})[{marks}]*+|"
        rf"(?<=[{_EMOJI}])(?<![{_EMOJI}]{{2}})[{_EMOJI}]*+|(?<=\s[:;=])['-]?[()DPp]++(?!\S)))"
        rf"{tail}(?:\s++(?=\S)|(?=[^\W\da-z])|(?<=[{_MARKS}{_CLOSERS}])(?=\S))"
    )


_START = regex.compile(
    rf"(?P<item>\((?:\p{{L}}{{1,2}}|[ivx]{{1,5}}|\d{{1,2}})\)\s[{_OPENERS}]*+\p{{Lu}})|"
    rf"(?:[{_OPENERS}]{_SPACE}?|,,|[–—-]{{1,2}}{_SPACE})*+"
    rf"(?:(?P<capital>(?<=[¿¡])\p{{L}}|[\p{{Lu}}\p{{Lt}}\p{{Lo}}]|\p{{Ll}}\p{{Lu}})|"
    rf"(?P<other>\p{{N}}|[$£€¥₹]\s?\d|[@#]\w|[•‣●▪]|[(\[](?:\.{{2,3}}|…)[)\]])|(?P<lower>\p{{Ll}}))"
)
_PREFIX = regex.compile(r"[\w.\-\p{M}]*$")
_WORD = re.compile(r"[^\W\d_]+['’]?")
_LATER = re.compile(r"[^\W\d_A-Z][.?!]+ ([^\W\d_])")
_GLUED = regex.compile(r"\p{Lu}(?:\p{Ll}++|(?=['’\s]))(?:['’]\p{Ll}+)?+(?=[\s,;:!?…)\]”\"'’\-]|\.(?!\p{Ll})|$)")
_PLAIN = regex.compile(r"[\w'’\-]*(?:\p{Ll}{2}|\d{3})[)\]]?")
_SUFFIX = re.compile(r"(?:Com|Org|Net|Edu|Gov|Js|Io|Py|Md|Txt|Pdf|Csv|Html|Ai|App|Tv|Fm)$")
_NUMBER = re.compile(
    r"[\[(§#]?\s?\d|[A-Z]{1,5}-?\d|[IVXLC]{2,}\b|[B-HJ-Z]\b(?!['’])|[AI]\b(?!['’]| [a-z])|\([a-zA-Z]{1,4}\)|[α-ω]\b"
)
_ITEM = re.compile(r"[(\[]?(?:\d{1,4}(?:\.\d{1,3})*|[A-Za-z]|[IVXivx]{1,5})")
_LABEL = re.compile(r"[1-9]\d?|[a-z]")
_REMARK = re.compile(r"[(\[][^\s()\[\].?!]{1,10}[)\]]")
_DOUBLED = regex.compile(r"(\p{Lu})\1\.")
_CLOCK = re.compile(
    r"[A-Z]{1,3}T\b|UTC|Eastern|Central|Mountain|Pacific|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)(?:s?day|nesday|rsday|urday|\b)"
)
_ENDING_PAIR = re.compile(r"\b(?:т\.\s?[дпі]н?|н\.\s?[эе])$")
_SURNAME = re.compile(r"(?:An|He|So|Do|To|My|Is|No|At|On|.)$")
"""Words that may also be a name after an initial; so may any single letter."""
_PRONOUN = re.compile(r"(?:i|he|she|it|they|we|you|this|there)\b(?!\.)")
_SPEECH = {
    "ja": regex.compile(r"っ?て|と(?!ころ|にかく|ても|もあれ|もかく|りあえず|たん|なり|き)|など"),
    "ko": regex.compile(r"(?:이?라[고는며]|[고는며]|하[고는며])(?=\s)"),
    "zh": regex.compile(r"\p{Han}{1,3}?(?<!知)[說说問问道喊叫答](?:道|着)?[。，,：:！]"),
}
"""Language → continuations of a sentence after direct speech, whose own mark stands before the closing quote."""
_SPACES = re.compile(r"  +")
_REACH = 40
"""Number of characters before a stop among which the word is that it belongs to."""


@cache
def _lists(language: str) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the abbreviations of a language, those before numbers only, and the words that begin sentences."""
    always, numeric = set[str](), set[str]()
    if language in _LISTED:
        for line in (_PREFIXES / f"{language}.txt").read_text(encoding="utf-8").splitlines():
            word = line.partition("#")[0].strip()
            if word:
                # As in the package, the last line about a word decides.
                (numeric if "#NUMERIC_ONLY#" in line else always).add(word)
                (always if "#NUMERIC_ONLY#" in line else numeric).discard(word)
    always = (always - {"no", "No"}) | set(ALWAYS.get(language, "").split())
    numeric |= {*NUMERIC[""].split(), *NUMERIC.get(language, "").split()}
    always |= {word.upper() for word in always & _BEFORE_NAMES}
    numeric |= {word.upper() for word in numeric}
    starters = frozenset(STARTERS.get(language, "").split())
    return _capitalized(always), _capitalized(numeric), starters


def _capitalized(words: set[str]) -> frozenset[str]:
    return frozenset(words | {word[:1].upper() + word[1:] for word in words})


class SentenceSplitter:
    """Splitter of paragraphs of one language into sentences. Cheap to build and to send to another process.

    Raises :class:`themescope.core.errors.ConfigError` for a language that is not one of :data:`LANGUAGES`.
    """

    __slots__ = (
        "_abbreviations",
        "_always",
        "_ascii",
        "_numeric",
        "_speech",
        "_starters",
        "_stops",
        "_wide",
        "language",
    )

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise ConfigError(str(UnknownNameError("language to split sentences in", language, LANGUAGES)))
        self.language = language
        self._always, self._numeric, self._starters = _lists(language)
        self._abbreviations = self._always | self._numeric
        self._stops = ".?!…" + _LANGUAGE_STOPS.get(language, "")
        self._ascii, self._wide, self._speech = _rule("", False), _rule(self._stops, True), _SPEECH.get(language)

    def __reduce__(self) -> tuple[type[SentenceSplitter], tuple[str]]:
        return SentenceSplitter, (self.language,)

    def split(self, text: str) -> list[str]:
        """Return the sentences of ``text`` in order, without blank ones; line breaks in ``text`` also end sentences."""
        sentences = [text[start:end] for start, end in self.spans(text)]
        return [_SPACES.sub(" ", sentence) for sentence in sentences] if "  " in text else sentences

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the start and the end of each sentence in ``text``; between them is nothing but white space."""
        wide = not text.isascii() or " :" in text or " ;" in text or " =" in text
        rule, small = self._wide if wide else self._ascii, None
        found: list[tuple[int, int]] = []
        for begin, stop in _lines(text):
            first = len(found)
            for place in rule.finditer(text, begin, stop):
                end = place.end(place.lastindex or 1)
                ends = self._ends(text, begin, place, end)
                if ends is None:
                    ends = small = _lacks_capitals(text) if small is None else small
                if ends and (end - begin > 9 or _has_words(text, begin, end)):
                    found.append((begin, end))
                    begin = place.end()
            after = len(found) > first and stop - begin < 13
            if after and (not _has_words(text, begin, stop) or _REMARK.fullmatch(text, begin, stop)):
                found[-1] = (found[-1][0], stop)
            elif begin < stop:
                found.append((begin, stop))
        return found

    def _ends(self, text: str, begin: int, place: re.Match[str], end: int) -> bool | None:
        """Return whether the sentence from ``begin`` ends at ``end``; None if only in a text without capitals."""
        at, following = place.start(), place.end()
        mark = text[at]
        if mark == "." and end == at + 1 < following and at - begin > 6 and text[following].isupper():
            word = _word_before(text, begin, at)  # most places need no more than this
            if word.isalpha() and len(word) > 2 and word not in self._abbreviations:
                return True
        marks, closers, _, faces = place.groups("")
        if closers and self._speech and self._speech.match(text, following):
            return False
        if mark in _MARKS or marks[-1:] in _MARKS:
            decimal = mark == "．" and text[at - 1 : at].isdigit() and text[following].isdigit()
            return not decimal and text[following] not in _NO_START
        start = _START.match(text, following)
        if start is None or (following == end and not self._is_glued(text, begin, place)):
            return False
        kind, dots = start.lastgroup, marks.startswith(("..", "…"))
        if mark not in self._stops:  # an emoji; "I ❤ New York" goes on
            return kind == "capital" and not text.endswith(("I ", "We ", "You "), begin, at)
        if kind == "lower" and (closers or dots or not text[at - 1 : at].isalnum()):
            return False
        if marks == "." and not faces and self._continues(text, begin, place, start):
            return False
        if kind == "lower":
            return True if self.language == "en" and _PRONOUN.match(text, following) else None
        if kind == "capital" and dots:  # "I… I think" goes on, "I think… He knows" does not
            after = _WORD.match(text, start.start("capital"))
            return after is None or after[0] != _word_before(text, begin, at).lstrip(_OPENERS)
        remark = closers[:1] == ")" and text[at - 1 : at] == "("  # "(?)" and "(!)"
        title = mark in "?!" and text[following] in "–—-" and self.language == "en"  # elsewhere, dashes begin speech
        if remark or title:
            return False
        return kind != "other" or marks == "." or (start.start("other") == following and text[at - 2 : at].isalpha())

    def _is_glued(self, text: str, begin: int, place: re.Match[str]) -> bool:
        """Return whether the space after a sentence is missing, as in "in 2016.We"."""
        at, following, marks = place.start(), place.end(), place[1]
        before, after = text[at - 1 : at], text[following]
        if not after.isupper() and (marks[0] != "…" or (len(marks) > 1 and self.language != "ja")):
            unspaced = before > "\u3000" < after  # Chinese, Japanese, Korean
            return unspaced or (marks != "." and before.isalpha() and not (before + after).isascii())
        found = _GLUED.match(text, following)
        if found is None or _SUFFIX.match(found[0]):
            return False
        if place.lastindex != 1:
            return bool(place[3] or place[4]) or place[2][-1] in ")]”»"
        word = _word_before(text, begin, at).lstrip(_OPENERS)
        if not _PLAIN.fullmatch(word) or word in self._abbreviations or word == "www":
            return False
        return marks != "." or not word[0].isupper() or found[0] in self._starters

    def _continues(self, text: str, begin: int, place: re.Match[str], start: re.Match[str]) -> bool:
        """Return whether a sentence goes on after a full stop, as one of an item number or an abbreviation."""
        at, closers, note = place.start(), place[2] or "", place[3] or ""
        word = _word_before(text, begin, at)
        if not word or (closers and (closers[0] not in ")]" or text[begin] in "([")):
            return False
        if self.language == "hy" and not {"։", ":"}.isdisjoint(text[max(0, at - 300) : at + 300]):
            return True  # beside the Armenian full stop, the Latin one is a colon
        prefix = _PREFIX.search(word)[0]
        if note[:1].isdigit():  # the number of a footnote
            plain = len(prefix) > 1 and prefix.isalpha() and prefix not in self._abbreviations
            return not plain or start.lastgroup != "capital"
        labels = _LABEL.fullmatch(prefix) and _is_item(text, begin, at, prefix)
        if not closers and (labels or _ITEM.fullmatch(text, begin, at)):
            return True
        number = _NUMBER.match(text, place.end()) if prefix in self._numeric else None
        if number and (prefix.lower() != "no" or number[0][-1].isdigit()):
            return True
        if _ENDING_PAIR.search(text, max(begin, at - 6), at):
            return start.lastgroup != "capital"
        return self._abbreviates(text, word, prefix, start)

    def _abbreviates(self, text: str, word: str, prefix: str, start: re.Match[str]) -> bool:
        """Return whether the stop after ``word``, without quotes ``prefix``, ends an abbreviation and no sentence."""
        kind = start.lastgroup
        if prefix in _ENDING:
            return kind not in ("capital", "item")
        starts = kind == "capital" and self._starts(text, start.start("capital"), prefix)
        if prefix in self._always:
            return not starts or prefix in _BEFORE_NAMES
        if kind == "lower" and ("." in prefix or prefix.capitalize() in self._always):
            return True
        if prefix in ("a.m", "p.m"):
            return _CLOCK.match(text, start.start()) is not None
        if "\u0e00" <= prefix[-1:] < "\u0f00":  # Thai and Lao have full stops in abbreviations only
            return True
        if starts or "@" in word or "://" in word:
            return False
        last = prefix.rpartition(".")[2]
        if "." in prefix:
            return last == last.upper() and last.replace("-", "").isalpha()
        if len(prefix) == 1 and word.lstrip(_OPENERS) == prefix:  # an initial, or "c. 1900"
            return prefix.isupper() or "\u0400" <= prefix < "\u0700" or (kind == "other" and prefix.isalpha())
        return len(prefix) == 2 and prefix[0] == prefix[1] and _DOUBLED.match(text, start.start()) is not None

    def _starts(self, text: str, index: int, prefix: str) -> bool:
        """Return whether the word at ``index``, after an abbreviation, shows by its capital that a sentence begins."""
        word = _WORD.match(text, index)
        if word is None or word[0] not in self._starters or text[word.end() : word.end() + 1] in (".", "-"):
            return False
        if len(prefix) == 1 and prefix.isupper():
            return not _SURNAME.match(word[0])
        return len(word[0]) > 1 or not prefix.rpartition(".")[2].isupper()


def _word_before(text: str, begin: int, at: int) -> str:
    """Return the word that ends at ``at``, or its last characters."""
    low = max(begin, at - _REACH)
    return text[max(low, text.rfind(" ", low, at) + 1, text.rfind("\u00a0", low, at) + 1) : at]


def _lines(text: str) -> list[tuple[int, int]]:
    """Return start and end of the lines of a text without the white space around them; blank lines have no length."""
    found, start = [], 0
    for line in text.splitlines(keepends=True):
        body = line.strip()
        begin = start + len(line) - len(line.lstrip())
        found.append((begin, begin + len(body)))
        start += len(line)
    return found


def _has_words(text: str, begin: int, end: int) -> bool:
    """Return whether a piece of a text has a letter or digit; one without is no sentence."""
    return any(map(str.isalnum, text[begin:end]))


def _is_item(text: str, begin: int, at: int, label: str) -> bool:
    """Return whether the number or letter before ``at`` counts items within a sentence: "ways: 1. Walk 2. Wait"."""
    start = at - len(label)
    if label in ("1", "a"):
        return text[max(begin, start - 2) : start] in (": ", "; ", ") ", "] ")
    previous = f"{int(label) - 1}. " if label.isdecimal() else f"{chr(ord(label) - 1)}. "
    return text.startswith(previous, begin) or text.find(f" {previous}", max(begin, at - 500), at) >= 0


def _lacks_capitals(text: str) -> bool:
    """Return whether a text is written without capitals: it begins with a small letter, or all later sentences do."""
    first, later = _WORD.search(text), _LATER.findall(text)
    return (first is not None and first[0][0].islower()) or (len(later) > 1 and all(map(str.islower, later)))


def _starts(text: str, sentences: Iterable[str]) -> tuple[int, ...]:
    found, end = [], 0
    for sentence in sentences:
        found.append(text.find(sentence, end))
        end = max(end, found[-1] + len(sentence))
    return tuple(found)


def split_article(article: Article, splitter: SentenceSplitter, unit: CodingUnit = CodingUnit.SENTENCE) -> Article:
    """Split every paragraph into units. Sentences given by the source are kept; empty paragraphs are dropped.

    A paragraph that is split gives its values to each of its sentences. A document that is one unit has no headings,
    and its different values of a column joined by “; ”.
    """
    if unit is CodingUnit.DOCUMENT:
        article = _in_one_paragraph(article)
    split = splitter.split if unit is CodingUnit.SENTENCE else lambda text: [*filter(None, [" ".join(text.split())])]
    sections = []
    counts: list[int] = []
    for section in article.sections:
        paragraphs = []
        for paragraph in section.paragraphs:
            sentences = paragraph.sentences or tuple(split(paragraph.text))
            counts += [1] * len(sentences) if paragraph.sentences else [len(sentences)]
            if sentences:
                starts = paragraph.starts or _starts(paragraph.text, sentences)
                paragraphs.append(Paragraph(paragraph.text, sentences, starts))
        sections.append(Section(section.title, section.level, tuple(paragraphs), section.path))
    values = {
        name: [value for value, count in zip(column, counts, strict=True) for _ in range(count)]
        for name, column in article.sentence_values.items()
    }
    return replace(article, sections=tuple(sections), sentence_values=values)


def _in_one_paragraph(article: Article) -> Article:
    """Return an article with all its text in one paragraph, unless its source gives the sentences."""
    paragraphs = [paragraph for section in article.sections for paragraph in section.paragraphs]
    if any(paragraph.sentences for paragraph in paragraphs):
        return article
    values: dict[str, Sequence[Value]] = {}
    for name, column in article.sentence_values.items():
        different = list(dict.fromkeys(value for value in column if value is not None))
        values[name] = ["; ".join(map(as_text, different)) if len(different) > 1 else next(iter(different), None)]
    text = "\n".join(paragraph.text for paragraph in paragraphs)
    return replace(article, sections=(Section("", 1, (Paragraph(text),)),), sentence_values=values)
