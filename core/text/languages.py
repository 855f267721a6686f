"""Languages of sentences: detection, names, stop words, and kinds of words.

Detection is that of py3langid (Lui and Baldwin 2012, langid.py): naive Bayes over byte n-grams, for 139 languages, from
a model of its wheel that is read without pickle. It works offline and reads about 19,000 short sentences per second.
"""

from __future__ import annotations

import math
import re
import runpy
import string
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import regex  # type: ignore[import-untyped]
import snowballstemmer

SAMPLE = 2_000
"""Maximum number of sentences of a text whose language is detected."""
OTHER = "other"
"""Key of the languages with a small share."""
_LEAST_SHARE = 0.02
_FREQUENT = 0.1
_SURE = 0.5
"""Probability from which a language counts as detected. Of short English lines without it, a third are missed."""
_SAME = {"nb": "no", "nn": "no", "wuu": "zh", "yue": "zh", "sdh": "ku", "arz": "ar", "ary": "ar", "zxx": ""}
"""Code of a variety → code of its language; "" for text that is in no language."""
UNSPACED = frozenset(("ja", "km", "lo", "my", "th", "zh"))
"""Languages that are written without spaces between words."""
COMPOUNDING = frozenset(("da", "de", "nl", "no", "sv"))
"""Languages that write compounds in one word."""
_NAMES = {
    "af": "Afrikaans", "am": "Amharic", "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian",
    "bn": "Bengali", "bs": "Bosnian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque",
    "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "gu": "Gujarati",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian",
    "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh", "km": "Khmer",
    "kn": "Kannada", "ko": "Korean", "la": "Latin", "lo": "Lao", "lt": "Lithuanian", "lv": "Latvian",
    "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian", "mr": "Marathi", "ms": "Malay", "my": "Burmese",
    "ne": "Nepali", "nl": "Dutch", "no": "Norwegian", "pa": "Punjabi", "pl": "Polish", "ps": "Pashto",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian",
    "sq": "Albanian", "sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai",
    "tl": "Tagalog", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese",
    "zh": "Chinese", "zu": "Zulu", OTHER: "other languages",
}  # fmt: skip

Shares = Mapping[str, float]
"""Two-letter code of a language, or :data:`OTHER` → share of the sentences, largest first."""


def detect_language(text: str) -> str:
    """Return the two-letter code of the language of a sentence; "" if it is uncertain, as for "OK" or "1984"."""
    if not any(character.isalpha() for character in text):
        return ""
    code, probability = _identifier().classify(text)
    return _SAME.get(code, code) if probability > _SURE else ""


def language_shares(texts: Iterable[str]) -> dict[str, float]:
    """Return the share of each language among the sentences whose language is certain; empty without such sentences.

    Languages with less than 2 % are summed as :data:`OTHER`.
    """
    found = Counter(filter(None, map(detect_language, texts)))
    total = found.total()
    shares = {code: round(n / total, 4) for code, n in found.most_common() if n / total >= _LEAST_SHARE}
    rest = round(1 - sum(shares.values()), 4)
    return shares | ({OTHER: rest} if total and rest >= 0.005 else {})


def sampled(texts: Sequence[str], most: int = SAMPLE) -> list[str]:
    """Return at most ``most`` evenly spaced sentences of a text."""
    if len(texts) <= most:
        return list(texts)
    return [texts[i] for i in np.linspace(0, len(texts) - 1, most).astype(int).tolist()]


def frequent(shares: Shares) -> tuple[str, ...]:
    """Return the languages with at least a tenth of the sentences; English if none was detected."""
    return tuple(code for code, share in shares.items() if share >= _FREQUENT and code != OTHER) or ("en",)


def main_language(shares: Shares, otherwise: str = "en") -> str:
    """Return the language with the largest share; ``otherwise`` if none was detected."""
    return next((code for code in shares if code != OTHER), otherwise)


def language_name(code: str) -> str:
    """Return the English name of a language, such as "German"; its code if the name is not known."""
    return _NAMES.get(code, code)


def shares_text(shares: Shares, most: int = 3) -> str:
    """Return shares in words: "82 % German, 12 % English", or "German" for one language."""
    if len(shares) == 1:
        return language_name(next(iter(shares)))
    listed = islice(shares.items(), most)
    return ", ".join(f"{share:.0%} {language_name(code)}".replace("%", " %", 1) for code, share in listed)


@cache
def stop_words(languages: Collection[str]) -> frozenset[str]:
    """Return the stop words, in small letters, of a frozen set of languages.

    For English the list of scikit-learn, for 56 others that of stopwords-iso; without a list, no words.
    """
    return frozenset().union(*map(_stop_words, languages))


@cache
def _stop_words(language: str) -> frozenset[str]:
    if language == "en":
        # The module alone: its package takes most of a second and 56 MB for 318 words, also in web server and previews.
        package = find_spec("sklearn")
        words = Path((package and package.origin) or "").parent / "feature_extraction" / "_stop_words.py"
        known = runpy.run_path(str(words)) if words.exists() else vars(import_module("sklearn.feature_extraction.text"))
        return frozenset(known["ENGLISH_STOP_WORDS"])
    import stopwordsiso

    return frozenset(stopwordsiso.stopwords(language)) if language in stopwordsiso.langs() else frozenset()


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def forget() -> None:
    """Free the memory of what was kept to be fast: the tables of the identifier (72 MB), tokens and stems of words."""
    for kept in (_identifier, _chunk_tokens, stem):
        kept.cache_clear()


# Tokens of English text: for word vectors, for the models of Saha et al. 2017 (stems), and stop words

STRAIGHT_QUOTES = str.maketrans("‘’‛ʼ“”„‟", "''''\"\"\"\"")
"""Translation of curly quotes to straight ones."""

ABBREVIATIONS = (
    " mr. mrs. ms. dr. prof. st. jr. sr. vs. etc. inc. ltd. co. corp. no. vol. approx. ca. gen. col. lt. sgt. capt. "
    "rev. hon. gov. sen. rep. jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec. e.g. i.e. al. fig. ed. "
)
"""Abbreviations, between spaces, that keep their full stop; any other word at a sentence's end loses it."""

_TOKEN = re.compile(
    r"""
      https?://\S+ | www\.\S+                       # addresses
    | (?:[^\W\d_]\.){2,}                            # initials: U.S., e.g.
    | [^\W_](?:[.,:/](?=\d)|[\w\-'&@])*               # words and numbers
    | \.{2,} | -{2,} | '' | ``                      # runs that form one mark
    | \S                                            # any other single mark
    """,
    re.VERBOSE,
)
_CLITIC = re.compile(r"(?i)(?<=\w)(?:n't|'(?:s|m|d|ll|re|ve))$")
_TRAILING = "'-&@"


def tokenize(text: str) -> list[str]:
    """Return the tokens of ``text`` with their case; their concatenation is the text without spaces."""
    tokens: list[str] = []
    for chunk in text.split():
        if chunk.isalpha() and len(chunk) != 6:  # six letters may be "cannot"
            tokens.append(chunk)
        else:
            tokens.extend(_chunk_tokens(chunk))
    return tokens


@lru_cache(maxsize=200_000)
def _chunk_tokens(chunk: str) -> tuple[str, ...]:
    """Return the tokens of one run without whitespace. Cached, because a few frequent runs make up most of a text."""
    chunk = chunk.translate(STRAIGHT_QUOTES)
    if f" {chunk.lower()} " in ABBREVIATIONS:
        return (chunk,)
    return tuple(token for match in _TOKEN.finditer(chunk) for token in _word_tokens(match.group()))


def _word_tokens(word: str) -> list[str]:
    """Separate the clitic or the trailing punctuation of one word."""
    if len(word) == 1 or "://" in word:
        return [word]
    if word.lower() == "cannot":
        return [word[:3], word[3:]]
    clitic = _CLITIC.search(word)
    if clitic and clitic.start():
        return [word[: clitic.start()], clitic.group()]
    body = word.rstrip(_TRAILING)
    return [body, *word[len(body) :]] if body else [word]


_SPACED = str.maketrans(dict.fromkeys(string.punctuation, " "))
_LOCAL = threading.local()  # a stemmer has state, so threads cannot share one


def content_words(text: str, stemmed: bool = True) -> list[str]:
    """Return the lower-case words of ``text`` as stems: "The Cats' tails!" → ["the", "cat", "tail"].

    Every ASCII punctuation mark separates words, and stop words are kept (Saha et al. 2017). Without ``stemmed``, as
    for C-PHRASE, SAE and SDAE, words are returned unchanged: "cats", "tails".
    """
    words = text.lower().translate(_SPACED).split()
    return [stem(word) for word in words] if stemmed else words


@lru_cache(maxsize=200_000)
def stem(word: str, algorithm: str = "english") -> str:
    """Return the stem by an algorithm of Snowball. Cached, because a few frequent words make up most of a text."""
    stemmers = vars(_LOCAL)
    if algorithm not in stemmers:
        stemmers[algorithm] = snowballstemmer.stemmer(algorithm)
    return str(stemmers[algorithm].stemWord(word))


_SMART = """
    a able about above according accordingly across actually after afterwards again against all allow allows almost
    alone along already also although always am among amongst an and another any anybody anyhow anyone anything anyway
    anyways anywhere apart appear appreciate appropriate are around as aside ask asking associated at available away
    awfully b be became because become becomes becoming been before beforehand behind being believe below beside besides
    best better between beyond both brief but by c came can cannot cant cause causes certain certainly changes clearly
    co com come comes concerning consequently consider considering contain containing contains corresponding could
    course currently d definitely described despite did different do does doing done down downwards during e each edu eg
    eight either else elsewhere enough entirely especially et etc even ever every everybody everyone everything
    everywhere ex exactly example except f far few fifth first five followed following follows for former formerly forth
    four from further furthermore g get gets getting given gives go goes going gone got gotten greetings h had happens
    hardly has have having he hello help hence her here hereafter hereby herein hereupon hers herself hi him himself his
    hither hopefully how howbeit however i ie if ignored immediate in inasmuch inc indeed indicate indicated indicates
    inner insofar instead into inward is it its itself j just k keep keeps kept know known knows l last lately later
    latter latterly least less lest let like liked likely little look looking looks ltd m mainly many may maybe me mean
    meanwhile merely might more moreover most mostly much must my myself n namely nd near nearly necessary need needs
    neither never nevertheless new next nine no nobody non none noone nor normally not nothing novel now nowhere o
    obviously of off often oh ok okay old on once one ones only onto or other others otherwise ought our ours ourselves
    out outside over overall own p particular particularly per perhaps placed please plus possible presumably probably
    provides q que quite qv r rather rd re really reasonably regarding regardless regards relatively respectively right
    s said same saw say saying says second secondly see seeing seem seemed seeming seems seen self selves sensible sent
    serious seriously seven several shall she should since six so some somebody somehow someone something sometime
    sometimes somewhat somewhere soon sorry specified specify specifying still sub such sup sure t take taken tell tends
    th than thank thanks thanx that thats the their theirs them themselves then thence there thereafter thereby
    therefore therein theres thereupon these they think third this thorough thoroughly those though three through
    throughout thru thus to together too took toward towards tried tries truly try trying twice two u un under
    unfortunately unless unlikely until unto up upon us use used useful uses using usually uucp v value various very via
    viz vs w want wants was way we welcome well went were what whatever when whence whenever where whereafter whereas
    whereby wherein whereupon wherever whether which while whither who whoever whole whom whose why will willing wish
    with within without wonder would x y yes yet you your yours yourself yourselves z zero
"""
# Added by ROUGE for newswire.
_NEWSWIRE = """
    reuters ap jan feb mar apr may jun jul aug sep oct nov dec tech news index mon tue wed thu fri sat
"""

SMART_STOP_WORDS = frozenset(_SMART.split())
"""English stop words in lower case: the SMART list (Salton 1971), without entries that contain an apostrophe."""
STOP_WORDS = SMART_STOP_WORDS | frozenset(_NEWSWIRE.split())
"""Stop words of ROUGE 1.5.5 in lower case: the SMART list (Salton 1971) and words of newswire headers.

Entries with an apostrophe or a full stop are left out, because tokens of ROUGE contain neither.
"""


# Kinds of words, by light rules, for names of themes

_VERBS = """
    accept add affect agree apply argue avoid begin benefit born bring build buy call change check choose claim
    continue create deal decide deny depend deserve die eat encourage enjoy ensure exist explain fail fall feel find
    forget gave gotten happen hear hold hope improve include increase kill lead learn leave live lose love make meet
    move offer occur pay play prevent produce promote protect prove put raise read recognize reduce rely remain remove
    require respond save seek sell send serve set show speak spend start stay stop suffer suggest support suppose talk
    teach throw treat turn understand undermine wait watch win wonder work write accepted based became began broke
    built chose done drew fell felt found grew held kept knew led left lost made meant met paid ran rose sat sold spent
    stood taught thought threw told won wrote billion dlr hundred million mln pct qtr stg thousand analyze climb drop
    hike involve jump narrow refer rise slip soar unveil urge widen
"""
_QUALITIES = """
    alive aware back bad big common difficult distinct early easy effective foreign front full general good great hard
    high huge important individual inherent large late local long low main major minor modern natural new old open own
    perfect multiple various certain specific additional current entire previous physical poor potential present public
    ready real recent short short-term side significant similar simple single small special strong top true unable
    unlike whole wide wrong young actually ago always earlier never really today yesterday better greater higher larger
    lower particular popular smaller worse faire dire voir prendre hacer decir tener bon bonne grand grande nouveau
    nouvelle petit petite ancien ancienne buen buena gran nuevo nueva 没有 可以 通常 表示 认为 提供 进行 使用 开始 成为
    包括 需要 可能 已经 这些 一些 许多 特别 正常 能够 位于 举行 前往 到达 分为 看到 获得 导致 造成 发现 大多数 场合
    場合 必要 最大 十分 現在 特別 几乎 往往 目前 如今 最终 最后 过去 当时 曾经 经常 获取 接受 参加 产生 形成 引起 引发
    影响 建议 考虑 决定 保持 来自 属于 称为 作为 组成 结束 出现 发生 显示 表明 支持 希望 要求 提出 采取 达到 得到 选择
    处理 继续 停止 增加 减少 提高 存在 具有 拥有 适合 重要 主要 巨大 一样 不同 相同 容易 困难 简单 提前 大多 非常 甚至
    只有 所有 任何 更多 一種 当時 実際 予定 可能 確保 利用 関連 一般 通常 以前 以上 以下 様々 同様 同時 実施 開始 緩和
    有名 両 他 後 前 中 上 下 内 外 間 時 方 数 約 各 同 全 位 点 物 事 者 側 面 際 度 回 何
"""
_GENERIC = """
    amount area aspect bit case day example fact form group idea individual kind level lot man matter member number
    part people person piece place point problem question reason result side sort term thing time type use way woman
    year hour minute second week month pct percent mln 月 日 年 人 january february march april june july august
    september october november december besoin début exemple fin fois forme jour mois moment moyen temps día año
    ejemplo forma lugar manera parte tiempo vez mayoría beispiel ding jahr teil weise weis zeit art fall grund ort
    mensch leut punkt stand bereich nah moglich richtung seit angab besond 东西 情况 方面 方式 部分 范围 过程 结果 时间
    时候 地方 人员 第一 第二 方法 結果 状況 部分 使用 提供 発表 報告 位置 存在 時間 週間 世紀
"""
_NEEDED = """
    amount back bill bottom computer cry detail fire front full interest mill move name part show side system top
"""
_WORDS_BESIDE = """
    to i you we they he she who can cannot could will would shall should may might must do does did don't doesn't didn't
    can't couldn't won't wouldn't shouldn't not never please je tu nous vous ils elles yo nosotros ellos
"""
_EMPTY = (SMART_STOP_WORDS - {"changes", "course", "help", "novel", "second", "value"}) | frozenset(_VERBS.split())
"""English words that are mostly verbs or function words."""
_NO_NOUNS = _EMPTY | frozenset(_QUALITIES.split())
GENERIC_NOUNS = frozenset(_GENERIC.split())
"""Nouns that say little about a subject."""
NAMING_WORDS = frozenset(_NEEDED.split())
"""Stop words of scikit-learn that may be parts of names."""
_ARTICLES = {
    "en": "a an the this these those my your our their its his her no any some every each",
    "fr": "l le la les un une des du au aux ce cet cette ces son sa ses leur leurs mon ma mes notre nos votre",
    "es": "el la los las un una unos unas del al este esta estos estas su sus mi mis",
    "it": "l il lo la i gli le un una uno della dei del",
    "pt": "o a os as um uma da do das dos",
    "nl": "de het een",
}
"""Articles and the like, before which a verb ends and after which a noun begins, by language."""
_PREPOSITIONS = {
    *("of", "for", "with", "from", "without", "about", "in", "on", "at", "by"),
    *("pour", "avec", "de", "d", "en", "dans", "sur", "par", "con", "por", "sin"),
}
_BEFORE_VERB, _DEGREES = frozenset(_WORDS_BESIDE.split()), frozenset(("very", "more", "most", "so", "too", "less"))
_AFTER_NOUN = {"of", "is", "are", "was", "were", "has", "had", "can", "will", "would", "should", "must", "est"}
_HEAD_FIRST = frozenset(("ca", "es", "fr", "it", "pt", "ro"))
"""Languages in which an adjective mostly follows its noun."""
_INFLECTION = re.compile(r"(\w{2,}?)(?:ing|ed)")
_ENDINGS = {
    "de": ("$^", r"...(?:isch|lich|(?<!kön)ig)$"),
    "en": (
        r"(?:tion|sion|ment|ness|ity|ism|ist|ship|ance|ence|hood|dom|logy|er|or)$",
        r"(?:ly|...ed|...ing|[gl]est|ous|ful|less|able|ible|ive|ize|ify|ish|ary|ic|(?<!ni|im|it|iv|os|aw)al)$",
    ),
    "fr": (
        r"(?:tion|sion|ment|té|isme|iste|ance|ence|eur|age|ure|ie)$",
        r"(?:[^i]er|ir|ître|ant|ée?|ent|ait|if|ive|eux|euse|el|elle|al|ale|aux|ique|able)$",
    ),
    "ja": ("[者員家国党会社院校法力性病賞車機店局]$", "[的化]$|^[各同両約第毎]"),
    "zh": (
        "[者员家国党会院校法力性病奖车机店局队赛业品率权税器]$",
        "^[一第每该这那某各此另更最很较不没]|[了着过得们称]$|^有[一些]|^[^高初国海网地][中内上下]$"
        "|[斯克尔特夫姆恩蒂娜亚拉里利尼纳索罗洛]{2}$",
    ),
    "es": (
        r"(?:ción|sión|miento|dad|ismo|ista|ancia|encia|dor|aje|ura|ía)$",
        r"(?:ar|er|ir|ando|iendo|[aiu]d[oa]|aron|ieron|aba|os[oa]|iv[oa]|able|ible|ic[oa]|al|mente)$",
    ),
}
"""Ends of nouns, and of verbs, adjectives and adverbs."""
_STARTS = frozenset(".!?:…")
_BESIDE = {
    "zh": (
        "[的该个项名位种座次场条只支件各每]|这个|一个",
        "[是和与、等将会在，。]",
        "[不没会能要将被来去以所就也都才还再很地]|可以|可能|必须|应该|正在|已经|开始|没有",
        "[了过着到给]",
        "(?!)",
    ),
    "ja": ("(?!)", "[はがをのもとにでへや、。]", "(?!)", "[しす]|され|でき", "な(?![どらく])"),
}
"""What stands before and after nouns, before and after verbs, and after adjectives, in texts without spaces."""


class WordKinds:
    """Nouns and verbs of a list, told by the words beside them, by their ends, and in German by capitals."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._articles = frozenset(_ARTICLES.get(language, "").split())
        # Nothing but what stands beside tells a noun, or a capital inside a sentence.
        self._strict = language == "de" or (language in _HEAD_FIRST and language in _ARTICLES)
        self._beside = [*map(re.compile, _BESIDE.get(language, ()))]
        self._nouns, self._verbs, self._others = Counter[str](), Counter[str](), Counter[str]()

    def read(self, written: Sequence[str], keys: Sequence[str], elided: Sequence[str]) -> None:
        """Count the contexts of the words of a text, as written and by key; a function word has the key "".

        ``elided`` has what was joined to each word by an apostrophe, which is the word before it.
        """
        for i, key in enumerate(keys):
            if not key:
                continue
            opens, closes = not i or not keys[i - 1], i + 1 == len(keys) or not keys[i + 1]
            before = elided[i] or (written[i - 1].lower() if i and opens else "")
            after = written[i + 1].lower() if i + 1 < len(keys) and closes else ""
            introduced = before in self._articles or (before in _PREPOSITIONS and not key.endswith("ing"))
            begins = not i or written[i - 1] in _STARTS
            capital = not begins and written[i][0].isupper()
            if self._beside:
                self._read_beside(key, before, after, closes)
            elif self.language == "de" and not begins:
                (self._nouns if capital and self._leaning(key) >= 0 else self._others)[key] += 2
            elif before in _BEFORE_VERB:
                self._verbs[key] += 1 if before != "to" else 0.5  # type: ignore[assignment]
            elif before in _DEGREES:
                self._others[key] += 1
            elif (introduced and closes) or (self._strict and (introduced or capital)) or after in _AFTER_NOUN:
                self._nouns[key] += 1
            elif after in self._articles:
                self._verbs[key] += not introduced

    def _read_beside(self, key: str, before: str, after: str, closes: bool) -> None:
        """Count the characters beside a Chinese or Japanese word."""
        noun_before, noun_after, verb_before, verb_after, other_after = self._beside
        if verb_before.fullmatch(before) or verb_after.match(after):
            self._verbs[key] += 0.5  # type: ignore[assignment]
        elif other_after.match(after):
            self._others[key] += 1
        elif closes and (noun_before.fullmatch(before) or noun_after.match(after)):
            self._nouns[key] += 1

    def noun(self, word: str) -> bool:
        """Return whether a word, by its key, is no verb, adjective or adverb."""
        return (
            (word not in _NO_NOUNS or self.language == "de")
            and not (self.language == "en" and _verb_of(word) in _EMPTY)
            and self._nouns[word] + self._leaning(word) >= self._verbs[word] + self._others[word] + self._strict
        )

    def verb(self, word: str) -> bool:
        """Return whether a word is rather a verb than a noun or an adjective."""
        if word in _EMPTY or (self.language == "en" and _verb_of(word) in _EMPTY):
            return True
        return self._verbs[word] > self._nouns[word] + self._others[word] + max(0, self._leaning(word))

    def action(self, word: str) -> bool:
        """Return whether a word is an English verb in its plain form that says what is done."""
        return self.verb(word) and word not in _EMPTY and not word.endswith(("ed", "ing"))

    def nominal(self, phrase: Sequence[str], before: Collection[str]) -> bool:
        """Return whether a phrase is a noun with what describes it; ``before`` are words that occur before it."""
        first, *inner, last = phrase
        if self.language in _HEAD_FIRST:
            return self.noun(first) and not any(map(self.verb, (*inner, last)))
        describes = first.endswith(("ed", "ing")) or not self.verb(first) or not self._articles.isdisjoint(before)
        ends = self.noun(last) or (last.endswith("ing") and self.noun(first) and not self.verb(last))
        return ends and describes and not any(map(self.verb, inner))

    def _leaning(self, word: str) -> int:
        """Return 1 if the end of a word is that of nouns, -1 if it is that of other words."""
        nominal, other = _ENDINGS.get(self.language, ("$^", "$^"))
        return 1 if re.search(nominal, word) else -1 if re.search(other, word) else 0


def _verb_of(word: str) -> str:
    """Return an English verb without -ing or -ed: "using" → "use", "stopped" → "stop"."""
    found = _INFLECTION.fullmatch(word)
    forms = (found[1], f"{found[1]}e", found[1][:-1]) if found else ()
    return next((form for form in forms if form in _EMPTY), word)


# Words of scripts that write no spaces between them, found in the texts of a list themselves

_LONGEST = 8
"""Maximum number of characters of a word."""
_LEAST = 3
"""Minimum number of occurrences of a word, and of different characters on each side of it; an end of a part counts as
another one each time."""
_REST = 4
"""Maximum number of characters of a piece between words that is taken for a word, as the names of persons are."""
_COHESION = 2.0
"""Minimum logarithm of the frequency of a word over that of its parts, if these were independent."""
_CHARACTER = regex.compile(r"\X")
_ADDED = (
    frozenset("该每各某此本个项名位种座次场条只支张件些更最较但会能要可将从向到对为"),
    frozenset("中内下上里后前时外间们地等会将"),
)
"""Characters that are written before and after Chinese words and are no part of them."""


def unspaced_words(parts: Iterable[str]) -> dict[str, int]:
    """Return the words of parts of texts, which have no spaces and no marks, with their numbers of occurrences."""
    read = [(part, _borders(part)) for part in parts]
    counts: Counter[str] = Counter(part[a:b] for part, borders in read for a, b in pairwise(borders))
    total = counts.total()
    found = counts
    for length in range(2, _LONGEST + 1):  # a frequent sequence begins and ends with frequent ones
        kept = {text for text, count in found.items() if count >= _LEAST}
        found = Counter(
            part[a:b]
            for part, borders in read
            for a, b, last, second in zip(borders, borders[length:], borders[length - 1 :], borders[1:], strict=False)
            if part[a:last] in kept and part[second:b] in kept
        )
        counts.update(found)
    frequent = {text for text, count in counts.items() if count >= _LEAST}
    before: dict[str, Counter[str]] = {text: Counter() for text in frequent}
    after: dict[str, Counter[str]] = {text: Counter() for text in frequent}
    for part, borders in read:
        for start, a in enumerate(borders):
            for end in range(start + 2, min(start + _LONGEST + 1, len(borders))):
                text = part[a : borders[end]]
                if text not in frequent:
                    break
                before[text][part[borders[start - 1] : a] if start else ""] += 1
                after[text][part[borders[end] : borders[end + 1]] if end + 1 < len(borders) else ""] += 1
    return {
        text: counts[text]
        for text in sorted(frequent)
        if min(_variety(before[text]), _variety(after[text])) >= _LEAST and _cohesion(text, counts, total) >= _COHESION
    }


def whole_words(words: Mapping[str, int], function: frozenset[str]) -> dict[str, int]:
    """Return Chinese words without those that have a ``function`` word, or one character too many, at an end."""
    known = tuple(word for word in function | _NO_NOUNS if len(word) > 1 and word[0] >= "\u3400")

    def longer(word: str) -> bool:
        before, after = word[0] in _ADDED[0] and word[1:] in words, word[-1] in _ADDED[1] and word[:-1] in words
        return before or after or word.startswith(known) or word.endswith(known)

    return {word: count for word, count in words.items() if word in known or not longer(word)}


def split(part: str, words: Mapping[str, int]) -> list[tuple[str, bool]]:
    """Return the pieces of a part of a text, and whether they are taken for words."""
    borders = _borders(part)
    best: list[tuple[int, float, int]] = [(0, 0.0, 0)]  # pieces, frequency, start of the last piece
    for end in range(1, len(borders)):
        options = [(best[end - 1][0] + 1, best[end - 1][1], end - 1)]
        for start in range(max(0, end - _LONGEST), end - 1):
            if count := words.get(part[borders[start] : borders[end]]):
                options.append((best[start][0] + 1, best[start][1] - math.log(count), start))
        best.append(min(options))
    spans, end = [], len(borders) - 1
    while end:
        spans.append((best[end][2], end))
        end = best[end][2]
    found: list[tuple[str, bool]] = []
    for single, group in groupby(reversed(spans), lambda span: span[1] - span[0] == 1):
        own = list(group)
        usable = not single or (1 < len(own) <= _REST and part[borders[own[0][0]]] not in _ADDED[0])
        joined = [(own[0][0], own[-1][1])] if single else own
        found += [(part[borders[start] : borders[end]], usable) for start, end in joined]
    return found


def _borders(part: str) -> list[int]:
    return [0, *(match.end() for match in _CHARACTER.finditer(part))]


def _variety(neighbours: Counter[str]) -> int:
    return len(neighbours) - 1 + neighbours[""] if "" in neighbours else len(neighbours)


def _cohesion(text: str, counts: Counter[str], total: int) -> float:
    """Return the lowest logarithm of the frequency of a sequence over that of its two parts, for all divisions."""
    borders = _borders(text)[1:-1]
    return min(math.log(counts[text] * total / (counts[text[:at]] * counts[text[at:]])) for at in borders)
