import tarfile
from collections import Counter

import pytest

from tests.core.readers.samples import MESSAGE, STORY, archive, message, messages, read_as, reuters, story, texts, write
from themescope.core.errors import ReadError
from themescope.core.readers import published
from themescope.core.readers.formats import detect


def topics(folder, listed, **settings):
    stories = [story(i, names, STORY) for i, names in enumerate(listed)]
    articles, skipped = read_as("reuters-sgml", write(folder, "a.sgm", reuters(*stories)), **settings)
    return [a.topic for a in articles], skipped


class TestReuters:
    def test_a_story_is_headline_dateline_and_body(self, tmp_path):
        path = write(tmp_path, "a.sgm", reuters(story(7, ["grain"], STORY, "TEST")))
        (article,), _ = read_as("reuters-sgml", path)
        assert (article.title, article.topic, article.part) == ("Ada <ADA> rises (Reuters 7)", "grain", "test")
        text = "Ada <ADA> rises ADA, Feb 26 - It was founded in 1200 and is old. Then it grew by 5 pct."
        assert texts(article) == {"": [text]}
        (article,), _ = read_as("reuters-sgml", path, paragraphs="indented")
        body = ["ADA, Feb 26 - It was founded in 1200 and is old.", "Then it grew by 5 pct."]
        assert texts(article) == {"": ["Ada <ADA> rises", *body]}

    def test_which_topic_decides(self, tmp_path):
        listed = [["cocoa", "ship", "grain"], ["corn", "grain"], ["grain", "corn"], ["wheat"], ["cocoa"], []]
        skipped = {"wheat or corn listed first": 2, "none of the topics": 2}
        assert topics(tmp_path, listed) == (["ship", "grain"], skipped)
        # The trap of alphabetical copies of the collection.
        listed = [["cocoa", "grain", "ship"], ["corn", "grain"], ["wheat"]]
        found = topics(tmp_path, listed, topic_rule="first-of-eight")
        assert found == (["grain", "grain"], {"none of the topics": 1})
        found = topics(tmp_path, [["earn"], ["acq", "earn"], ["cocoa"]], single_label_only=True)
        assert found == (["earn"], {"several topics": 1, "none of the topics": 1})

    def test_outside_the_split(self, tmp_path):
        unused, no = story(1, ["earn"], STORY, "NOT-USED"), story(2, ["earn"], STORY, flag="NO")
        path = write(tmp_path, "a.sgm", reuters(unused, no, story(3, ["earn"], STORY)))
        articles, skipped = read_as("reuters-sgml", path)
        assert len(articles) == 1 and skipped == {"outside the ModApte split": 2}

    def test_without_a_body_the_rest_of_the_text_counts(self, tmp_path):
        brief = "******<TITLE>QTLY DIV\nUP</TITLE>Blah blah blah.\n&#3;\n\n"
        table = "FED REPORT\n    Reserves.....644\n\n"
        stories = [story(1, ["earn"], brief), story(2, ["earn"], table), story(3, ["earn"], " \n")]
        articles, skipped = read_as("reuters-sgml", write(tmp_path, "a.sgm", reuters(*stories)))
        assert [a.title for a in articles] == ["QTLY DIV UP (Reuters 1)", "Reuters 2"] and skipped == {"no text": 1}
        assert texts(articles[0]) == {"": ["QTLY DIV UP"]}
        assert texts(articles[1]) == {"": ["FED REPORT Reserves.....644"]}

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (reuters(story(1, ["earn"], STORY))[:-20], "a.sgm, line 2: .* no </REUTERS>"),
            (reuters('<REUTERS TOPICS="YES">\n', story(1, ["earn"], STORY)), "line 2: .* no </REUTERS>"),
            (reuters(), "no <REUTERS> document"),
            (reuters('<REUTERS TOPICS="YES">\n</REUTERS>\n'), "line 2: .* no NEWID"),
        ],
    )
    def test_damage_is_named(self, data, words, tmp_path):
        with pytest.raises(ReadError, match=words):
            read_as("reuters-sgml", write(tmp_path, "a.sgm", data))

    def test_the_collection(self, shared_data):
        counts, single = {"train": Counter(), "test": Counter()}, Counter()
        skipped, titles = Counter(), set()
        for path in sorted((shared_data / "reuters21578").glob("reut2-*.sgm.gz")):
            assert detect(path) == "reuters-sgml"
            articles, reasons = read_as("reuters-sgml", path)
            skipped.update(reasons)
            single.update(a.part for a in read_as("reuters-sgml", path, single_label_only=True)[0])
            for article in articles:
                counts[article.part][article.topic] += 1
                titles.add(article.title)
        assert counts["train"].total() == 6_460 and counts["test"].total() == 2_541
        assert len(titles) == 9_001  # the published number of documents, and every title names one
        assert set(counts["train"]) == set(counts["test"]) == set(published.TOPICS)
        assert skipped == {
            "outside the ModApte split": 8_676,
            "none of the topics": 3_867,
            "wheat or corn listed first": 34,
            "author": 341,
        }
        assert single == {"train": 5_485, "test": 2_189}


class TestMessages:
    def test_header_and_text(self):
        fields, text = published.header_and_text("From: a\nSubject: One\n two\nSubject: b\n\nHello\n\nthere: you\n")
        assert fields == {"from": "a", "subject": "One two"} and text == "Hello\n\nthere: you\n"
        assert published.header_and_text("no header, no text") == ({}, "")

    @pytest.mark.parametrize("rest", ["--\nBea\n", "\nBea\n"])
    def test_signatures(self, rest):
        assert published.without_signature(f"One.\n\nTwo.\n{rest}") == "One.\n\nTwo."
        for text in ("One.\n", "\n\nOne.\n", ""):
            assert published.without_signature(text) == text

    def test_quotations(self):
        text = "In article <1> x\nAnn writes:\n> Old?\n  > Yes\n| No\nBob says: hm\nMine.\nQuoted from a book"
        assert published.without_quotations(text) == "Mine."

    def test_paragraphs(self):
        assert published.paragraphs("\n One\n two.\n \t\nThree.\n\n\n") == ["One two.", "Three."]
        assert published.paragraphs(" \n\n") == []


class TestNewsgroups:
    def test_a_message_is_what_its_writer_wrote(self, tmp_path):
        (article,), skipped = read_as("newsgroups", write(tmp_path, "a.jsonl", messages(message(7, split="test"))))
        assert (article.title, article.topic, article.part) == ("Re: Ada (sci.space/7)", "sci.space", "test")
        assert texts(article) == {"": ["It was founded in 1200.", "Then it grew."]}
        assert skipped == {"header field": 2, "quotation": 1, "signature": 1}
        (article,), _ = read_as("newsgroups", tmp_path / "a.jsonl", signatures=True, quotations=True)
        found = texts(article)[""]
        assert found[0].endswith("writes: > Old?") and found[-1] == "-- Bea, Ada"

    def test_groups_are_chosen_and_empty_messages_counted(self, tmp_path):
        empty = message(9, text="From: a\nSubject: b\n\n> Old?\n")
        path = write(tmp_path, "a.jsonl", messages(message(7), message(8, "alt.atheism"), empty))
        articles, skipped = read_as("newsgroups", path, groups=("sci.space",))
        empty = {"other group": 1, "no text": 1}
        assert len(articles) == 1 and skipped == empty | {"header field": 3, "quotation": 2, "signature": 1}

    def test_a_message_in_its_folders(self, tmp_path):
        folder = tmp_path / "20news-bydate-test" / "sci.space"
        folder.mkdir(parents=True)
        path = write(folder, "59848", MESSAGE.replace("grew", "gréw").encode("latin-1"))
        assert detect(path) == "newsgroups"
        (article,), _ = read_as("newsgroups", path)
        assert (article.title, article.topic, article.part) == ("Re: Ada (sci.space/59848)", "sci.space", "test")
        assert texts(article)[""][1] == "Then it gréw."
        loose = write(tmp_path, "59848", MESSAGE.encode())
        (article,), _ = read_as("newsgroups", loose)
        assert (article.title, article.topic, article.part) == ("Re: Ada (59848)", "", "")

    @pytest.mark.parametrize("packing", ["", ".gz"])
    def test_the_archive_of_folders(self, packing, tmp_path):
        path = write(tmp_path, "20news.tar", archive({"20news-train/sci.med/5": MESSAGE, "readme": "x"}), packing)
        assert detect(path) == "newsgroups"
        (article,), _ = read_as("newsgroups", path)
        assert (article.title, article.topic, article.part) == ("Re: Ada (sci.med/5)", "sci.med", "train")
        cut = write(tmp_path, "cut.tar", archive({"20news-train/sci.med/5": MESSAGE * 50})[:900], packing)
        with pytest.raises(ReadError, match="truncated or damaged"):
            read_as("newsgroups", cut)
        other = write(tmp_path, "other.tar", archive({"photos/ada": "x"}), packing)
        with pytest.raises(ReadError, match="no messages in folders of groups"):
            read_as("newsgroups", other)

    @pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
    def test_names_of_any_length_in_archives(self, form, tmp_path):
        names = {f"{'long-' * 20}/é/sci.med/{n}": MESSAGE for n in (5, 6)} | {"sci.space/7": MESSAGE}
        path = write(tmp_path, "20news.tar", archive(names, form))
        articles, _ = read_as("newsgroups", path)
        assert [a.title for a in articles] == [f"Re: Ada (sci.{name})" for name in ("med/5", "med/6", "space/7")]

    @pytest.mark.parametrize(
        ("line", "words"),
        [(b"{", "line 2, column 2: not valid"), (b"[1]", "line 2: the line has no id"), (b'{"id": "a"}', "line 2: ")],
    )
    def test_bad_lines_are_named(self, line, words, tmp_path):
        with pytest.raises(ReadError, match=words):
            read_as("newsgroups", write(tmp_path, "a.jsonl", messages(message(7)) + line + b"\n"))

    def test_a_text_is_no_message(self, tmp_path):
        with pytest.raises(ReadError, match="not a message with From and Subject"):
            read_as("newsgroups", write(tmp_path, "a.txt", b"Note: this is a text.\n\nFrom: here on.\n"))

    def test_the_collection(self, shared_data):
        counts, skipped, titles = {"train": Counter(), "test": Counter()}, Counter(), set()
        for part in counts:
            path = shared_data / "newsgroups20" / f"8groups-{part}.jsonl.xz"
            assert detect(path) == "newsgroups"
            articles, reasons = read_as("newsgroups", path, groups=published.PAPER_GROUPS)
            skipped.update(reasons)
            counts[part].update(a.topic for a in articles)
            titles.update(a.title for a in articles)
            assert {a.part for a in articles} == {part}
        assert set(skipped) == {"header field", "quotation", "signature", "no text"}
        assert len(titles) == sum(c.total() for c in counts.values()) == 7_781 - skipped["no text"]
        assert counts["train"].total() + counts["test"].total() > 7_700
        assert set(counts["train"]) == set(counts["test"]) == set(published.PAPER_GROUPS)
