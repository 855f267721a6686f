import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.readers.samples import SUMMARIES, messages, write
from themescope.core.errors import DataError, ReadError
from themescope.core.metrics.statistics import RougeSettings
from themescope.core.tasks.summaries import (
    REGISTRY,
    SummaryDocument,
    extract,
    ranked,
    read_summary_documents,
    score_summaries,
)

SENTENCES = ["Ada is a town.", "The town of Ada is old.", "Bees fly.", "Old towns like Ada grow."]


def scores_of(id, sentences=SENTENCES, vectors=None, seed=0):
    return REGISTRY.build(id).scores(sentences, vectors, seed)


class TestDocuments:
    @pytest.mark.parametrize("packing", ["", ".xz"])
    def test_json_lines(self, packing, tmp_path):
        ada, bea = read_summary_documents(write(tmp_path, "s.jsonl", messages(*SUMMARIES), packing))
        assert ada == SummaryDocument("Ada", "Ada", ("It was founded.", "Then it grew."), ("It grew. Much.",))
        assert bea == SummaryDocument("b1", "Bea (b1)", ("SEC. 1. A NAME.", "It is Bea.", "(1) One."), ("B", "C"))

    def test_a_folder(self, tmp_path):
        for name, text in {
            "documents/d04/FT1": "<DOC><HEADLINE>No</HEADLINE><TEXT><P>One is.</P>\n<P>Two\nare.</P></TEXT></DOC>",
            "documents/FT2.txt": "Three were. Four\nwere.\n\nFive.",
            "references/FT2.A.txt": "Three\nand four.",
            "references/FT2.B.txt": "Five.",
            "references/d04/perdocs": '<SUM DOCSET="d04" TYPE="PERDOC" DOCREF="FT1" SELECTOR="A">One.</SUM>\n'
            '<SUM DOCREF="FT1">Two.</SUM>',
        }.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        one, two = read_summary_documents(tmp_path)
        assert one == SummaryDocument("FT1", "FT1", ("One is.", "Two are."), ("One.", "Two."))
        assert two.sentences == ("Three were.", "Four were.", "Five.")
        assert two.references == ("Three and four.", "Five.")
        (tmp_path / "references" / "lost.txt").write_text("Who?", encoding="utf-8")
        with pytest.raises(ReadError, match=r"lost\.txt: this summary belongs to no document"):
            read_summary_documents(tmp_path)

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("{", "line 2, column 2: not valid JSON"),
            ("[1]", "line 2: the line is not a JSON object"),
            ('{"title": "A"}', 'there is no "id"'),
            ('{"id": " "}', 'empty "id"'),
            ('{"id": "a", "text": 1}', '"text" is not a string'),
            ('{"id": "a", "sections": [1]}', '"sections" is not a list of objects'),
            ('{"id": "a", "summary": 3}', '"summary" is not a list of texts'),
            ('{"id": "a", "text": "\\u0000"}', "invalid character"),
        ],
    )
    def test_bad_lines_are_named(self, line, words, tmp_path):
        with pytest.raises(ReadError, match=words):
            read_summary_documents(write(tmp_path, "s.jsonl", messages(SUMMARIES[0]) + line.encode()))

    def test_nothing_to_summarise_is_said(self, tmp_path):
        with pytest.raises(DataError, match="has a sentence"):
            read_summary_documents(write(tmp_path, "s.jsonl", b'{"id": "a", "summary": "b"}'))
        with pytest.raises(ReadError, match="not contain a folder 'documents'"):
            read_summary_documents(tmp_path)


class TestRankers:
    @pytest.mark.parametrize("id", REGISTRY.ids())
    def test_one_score_a_sentence_whatever_their_number(self, id):
        for n in (0, 1, 4):
            found = scores_of(id, SENTENCES[:n], np.ones((n, 3)))
            assert found.shape == (n,) and found.sum() == pytest.approx(1.0 if n else 0.0)

    def test_baselines(self):
        assert ranked(scores_of("lead")).tolist() == [0, 1, 2, 3]
        orders = [tuple(ranked(scores_of("random", seed=seed))) for seed in (*range(20), 3)]
        assert len({*orders}) > 5 and orders[3] == orders[-1]

    def test_the_odd_sentence_is_least_central(self):
        texts = ["Wheat prices rose.", "Prices of wheat rose again.", "Bees fly.", "Rain fell.", "It is cold."]
        assert ranked(scores_of("lexrank-tfidf", texts))[:2].tolist() == [0, 1]
        x = np.array([[1, 0.1], [1, 0.2], [-1, 1], [1, 0.3]])
        assert ranked(scores_of("lexrank", vectors=x))[-1] == 2
        with pytest.raises(DataError, match="one vector for every sentence"):
            scores_of("lexrank")


class TestExtracts:
    def test_sentences_come_by_score_and_the_last_is_cut(self):
        made = extract(SENTENCES, np.array([0.1, 0.4, 0.2, 0.3]), words=9)
        assert made.text == "The town of Ada is old. Old towns like" and made.positions == (1, 3)
        assert extract(SENTENCES, np.zeros(4), words=0).positions == (0, 1, 2, 3)
        with pytest.raises(DataError, match="but 2 scores"):
            extract(SENTENCES, np.zeros(2))

    @given(st.lists(st.text("ab .", max_size=30), max_size=8), st.integers(1, 40))
    def test_never_longer_than_asked_nor_shorter_than_there_is(self, sentences, words):
        made = extract(sentences, np.arange(len(sentences), dtype=float), words)
        assert len(made.text.split()) == min(words, sum(len(s.split()) for s in sentences))


class TestScores:
    def test_documents_without_references_are_left_out(self):
        documents = [SummaryDocument("a", "A", ("x",), ("Ada grows.",)), SummaryDocument("b", "B", ("y",), ())]
        made = score_summaries(documents, ["Ada grows.", "no"], RougeSettings())
        assert made.ids == ("a",) and made.means["recall"].value == 1.0 == made.values["f1"][0]
        with pytest.raises(DataError, match="No document has a reference summary"):
            score_summaries(documents[1:], ["no"], RougeSettings())

    @pytest.mark.parametrize(
        ("name", "documents", "lead", "random"),
        [
            ("billsum100", 85, (0.349, 0.369), (0.335, 0.361)),
            pytest.param("scisummnet", 697, (0.332, 0.373), (0.282, 0.315), marks=pytest.mark.slow),
        ],
    )
    def test_baselines_beside_the_reference_figures(self, name, documents, lead, random, shared_data):
        """Stems, stop words kept, references whole; the output cut at 100 words (README of the collections)."""
        found = read_summary_documents(shared_data / "summaries" / f"{name}.jsonl.xz")
        assert len(found) == documents and all(document.references for document in found)
        settings = RougeSettings(words=0, remove_stop_words=False)
        for id, (recall, f1) in {"lead": lead, "random": random}.items():
            ranker = REGISTRY.build(id)
            texts = [extract(d.sentences, ranker.scores(d.sentences, None, i)).text for i, d in enumerate(found)]
            means = score_summaries(found, texts, settings).means
            assert means["recall"].value == pytest.approx(recall, abs=0.012), id
            assert means["f1"].value == pytest.approx(f1, abs=0.012), id
            assert means["recall"].low < means["recall"].value < means["recall"].high
