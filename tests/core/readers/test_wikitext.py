import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from themescope.core.readers.blocks import Outline
from themescope.core.readers.wikitext.page import LinkRemoval, read_page


def paragraphs(text, keep_lists=False, language=""):
    outline = Outline("T")
    read_page(text, outline, LinkRemoval(), keep_lists, language)
    return [p.text for section in outline.sections() for p in section.paragraphs]


CASES = {
    "'''Bold''' and ''italic'' and '''''both'''''.": "Bold and italic and both.",
    "The [[town|old town]] of [[Ada]]s.": "The old town of Adas.",
    "[[File:A.jpg|thumb|A [[nested|link]] and [http://x.org one] [sic]]]Text.": "Text.",
    "[[Category:Towns]]Text [[:Category:Towns|towns]].[[fr:Ville]]": "Text towns.",
    'Text<ref>{{cite web|url=x}}</ref> goes<ref name=a /> on<ref name="b">x</ref>.': "Text goes on.",
    "A<!-- hidden {{ -->B": "AB",
    "Before {{infobox|a={{b|c={{d}}}}\n|e=f}}after.": "Before after.",
    "It is {{convert|10|km|mi}} long and {{convert|5|ft|10|in|cm}} high.": "It is 10 km long and 5 ft 10 in high.",
    "From {{convert|10|to|20|sqmi|km2}}.": "From 10 to 20 sq mi.",
    "The {{lang|de|Stadt}}, {{lang-fr|ville}}, {{nowrap|no [[wrap|break]]}}.": "The Stadt, ville, no break.",
    "Ada ({{IPAc-en|a|d}}; {{lang-la|Ada}}) is.": "Ada (Ada) is.",
    "Ada ({{IPA|a}}) is ( , ) old ().": "Ada is old.",
    "Born {{birth date|1950|3|2}}, died {{death date|df=yes|2001|4|5}}.": "Born March 2, 1950, died 5 April 2001.",
    "{{As of|2015|3}}, it was {{circa|1900}}{{ndash}}1910.": "As of March 2015, it was c. 1900–1910.",
    "H<sub>2</sub>O and <b>bold</b><br/>text &amp; more&nbsp;text.": "H2O and bold text & more text.",
    "Where <math>x = {y}</math> is.": "Where is.",
    "__NOTOC__Text.": "Text.",
    "See [http://x.org the site] and http://y.org/z now.": "See the site and now.",
    "{|\n|-\n| a || {{x|y}}\n{|\n|inner\n|}\n|}\nText.": "Text.",
    "{{tag|\n{|\n|a\n|}}}Text.": "Text.",
    "<nowiki>[[not a link]]</nowiki> stays.": "[[not a link]] stays.",
    "<gallery>\nFile:A.jpg|caption\n</gallery>Text.": "Text.",
    "<ref>never closed. Text <ref>closed</ref> on.": "never closed. Text on.",
    'Text<ref>{{cite|a</ref name="b"> of it|url=x}}</ref> on.': "Text on.",
    "Text<ref name=b>x</ref name=b> goes<ref>y</ref> on<ref>z</ref name=c>.": "Text goes on.",
    "Text {{never closed|a=b\n\nNext.": "Text Next.",
    "Stray }} and ]] here.": "Stray and here.",
    "{{USS|Enterprise|CV-6}} cost {{US$|5 million}}.": "USS Enterprise cost US$5 million.",
    "{{quote|Words of weight.|Author}}": "Words of weight.",
    "{{unknown|text}} , which [[Image:x.png]]is.": "which is.",
    "The ''Argo''{{'s}} crew": "The Argo's crew",
    "{{{1|default}}}Text": "Text",
    "Worth $5 (equivalent to ${{Inflation|US|5}} million in {{Inflation/year|US}}).": "Worth $5.",
    "The price rose to .5 percent ; then fell .": "The price rose to .5 percent; then fell.",
    ":''For others, see [[X]].''\nText.": "Text.",
}


@pytest.mark.parametrize("source", list(CASES))
def test_markup_leaves_no_debris(source):
    assert " ".join(paragraphs(source)) == CASES[source]


LOCAL = {
    ("fr", "{{unité|2000|m}} au {{s|XIX}} et au {{XIXe siècle}}, le {{date|3|mai|2001}}"):
        "2 000 m au XIXe siècle et au XIXe siècle, le 3 mai 2001",
    ("fr", "à {{lien|Gare|lang=en}}, {{1er}} arrêt, {{n°|5}}, {{p.|12}}. {{M.}} Dupont, {{citation|il est tard}}"):
        "à Gare, 1er arrêt, no 5, p. 12. M. Dupont, « il est tard »",
    ("fr", "{{nobr|10 h}}, {{formatnum:30000}} et {{nb|350}}{{e}} rang, {{unité|50|km|h|-1}}, {{unité|3.5|m|2}}"):
        "10 h, 30 000 et 350e rang, 50 km/h, 3,5 m²",
    ("fr", "{{sp|XVIII|e|au|XIX|e}}, {{s-|VI}}, {{s|I}}, {{heure|10|5}}, {{Mme|Dupont}}, {{refnec|un fait}}"):
        "XVIIIe au XIXe siècle, VIe siècle av. J.-C., Ier siècle, 10 h 5, Mme Dupont, un fait",
    ("de", '{{FormatNum|12345.5}} und {{"|Ja}}, {{enS|bus}}, {{JULGREGDATUM|12|3|1745}}, {{Höhe|1234|x}}, {{§|12}}'):
        "12.345,5 und „Ja“, englisch bus, 12. März 1745, 1.234 m, § 12",
    ("de", "{{Zitat|Es war spät.|Ada}}"): "Es war spät.",
    ("zh", "-{zh-hans:公交车; zh-hant:公車;}-又晚点了。-{火车}-很挤。-{T|zh:公交;zh-tw:公車}-{{lang|en|bus}}很慢。"
           "-{H|zh-cn:出租车;zh-tw:計程車;}-"):
        "公交车又晚点了。火车很挤。bus很慢。",
    ("zh", "-{zh-hans|计算机}-和-{zh-tw:甲;zh-hk:乙}-"): "计算机和甲",
    ("en", "{{formatnum:77006}} and {{formatnum:007}}, {{date|2001-05-03}}, {{s|XIX}} -{x}-"):
        "77,006 and 007, 3 May 2001, x",
    ("", "{{formatnum:77006}} people"): "77006 people",
}  # fmt: skip


@pytest.mark.parametrize(("language", "source"), list(LOCAL))
def test_templates_of_other_languages_leave_no_gap(language, source):
    assert " ".join(paragraphs(source, language=language)) == LOCAL[language, source]


def test_templates_that_leave_a_gap_in_a_text_are_counted_by_name():
    text = "{{Infobox|a={{b}}}}\n{{Hatnote}}\nAda {{Odd_one|x}} is {{odd one}} {{nowrap|old}}{{{1}}}.\n\n"
    text += "{{Navbox}}\n{{Ort}} end."
    assert read_page(text, Outline("T"), LinkRemoval(), False) == {"odd one": 2, "ort": 1}


def test_headings_of_every_level_with_paths():
    outline = Outline("T")
    text = (
        "Lead.\n== A ==\nOne.\n===B===\nTwo.\n====== F ''x'' ======\nDeep.\n"
        "== {{anchor|c}}C ==\n=== D ===\nEnd.\n= E =\nTop."
    )
    read_page(text, outline, LinkRemoval(), False)
    assert [(s.title, s.level, s.path) for s in outline.sections()] == [
        ("", 1, ()),
        ("A", 2, ("A",)),
        ("B", 3, ("A", "B")),
        ("F x", 6, ("A", "B", "F x")),
        ("C", 2, ("C",)),
        ("D", 3, ("C", "D")),
        ("E", 2, ("E",)),
    ]


def test_lists_by_option():
    text = "Intro:\n* one\n** two [[x]]\n# three\n; term : meaning\nAfter\nit."
    assert paragraphs(text) == ["Intro:", "After it."]
    assert paragraphs(text, keep_lists=True) == ["Intro:", "one", "two x", "three", "term: meaning", "After it."]


def test_paragraphs_end_at_blank_lines_and_block_tags():
    assert paragraphs("One\nline.\n\nTwo.<br><br>Three.<p>Four.</p><blockquote>Five.</blockquote>Six.") == [
        "One line.", "Two.", "Three.", "Four.", "Five.", "Six.",
    ]  # fmt: skip


PIECES = ["{{", "}}", "{{{", "}}}", "[[", "]]", "|", "{|", "|}", "\n", "==", "'''", "<ref>", "</ref>", "<br>", "a",
          "File:", " ", "(", ")", "*"]  # fmt: skip
MARKS = dict(enumerate(PIECES, start=0x100))  # a character for each: a text is drawn at once, a list piece by piece


@given(st.text("".join(map(chr, MARKS)), max_size=40).map(lambda drawn: drawn.translate(MARKS)))
@settings(max_examples=300, deadline=None)
def test_broken_markup_never_fails_and_never_leaves_brackets(text):
    for paragraph in paragraphs(text, keep_lists=True):
        assert not re.search(r"\{\{|\[\[|\]\]|<ref|''|  ", paragraph)


NESTED = ("{{", "[[", "<ref>", "<math>", "{|\n", "[", "{{nowrap|", "<!--")
UNITS = (*NESTED, "(", "'", "\n== ", "}}", "[[a|", "(,", "<div ", "{")


@pytest.mark.parametrize("unit", UNITS)
def test_repeated_markup_takes_linear_time(unit):
    start = time.thread_time()
    found = paragraphs(unit * 100_000 + " text")
    assert [paragraph[-4:] for paragraph in found] in ([], ["text"])
    assert time.thread_time() - start < 10, "quadratic work takes minutes"
