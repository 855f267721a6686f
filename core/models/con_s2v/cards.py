"""Cards of the rows of SJH17, and of the controls that its comparison needs."""

from __future__ import annotations

from core.registry import Card

_SJH17 = "Saha, Joty, Al Hasan 2017, Con-S2V"
_THIS = "core.models."
_LEARNS = frozenset({"needs-sentences", "transductive"})
_TEXT = frozenset({"needs-sentences"})
_BUILDS = _LEARNS | {"takes-model"}
_CONTROL = frozenset({"needs-models", "mixes-models", "needs-sentences", "per-article"})


def _card(id: str, title: str, summary: str, source: str, place: str, tags: frozenset[str]) -> Card:
    """A card whose config is called like its class."""
    return Card(id, title, summary, source, _THIS + place, f"{_THIS}{place}Config", tags)


CARDS = (
    _card(
        "sen2vec",
        "Sen2Vec",
        "A vector for each sentence, learned from its own words: distributed memory and bag of words side by side.",
        f"Le and Mikolov 2014, Distributed Representations; {_SJH17}, section 3.1",
        "con_s2v.sen2vec:Sen2Vec",
        _LEARNS | {"content"},
    ),
    _card(
        "reg-dis",
        "Regularised by discourse",
        "Sen2Vec that pulls the vectors of consecutive sentences together.",
        f"{_SJH17}, section 4 (Reg-dis)",
        "con_s2v.con_s2v:RegDis",
        _LEARNS,
    ),
    _card(
        "reg-sim",
        "Regularised by similarity",
        "Sen2Vec that pulls the vectors of similar sentences together.",
        f"{_SJH17}, section 4 (Reg-sim)",
        "con_s2v.con_s2v:RegSim",
        _BUILDS,
    ),
    _card(
        "con-s2v-dis",
        "CON-S2V by discourse",
        "Learns sentence vectors from their words and from the sentences before and after.",
        f"{_SJH17}, section 3 (Con-S2V-dis)",
        "con_s2v.con_s2v:ConS2VDis",
        _LEARNS,
    ),
    _card(
        "con-s2v-sim",
        "CON-S2V by similarity",
        "Learns sentence vectors from their words and from the most similar sentences.",
        f"{_SJH17}, section 3 (Con-S2V-sim)",
        "con_s2v.con_s2v:ConS2VSim",
        _BUILDS,
    ),
    _card(
        "ret-dis",
        "Retrofitted by discourse",
        "Sen2Vec vectors, afterwards drawn towards the sentences before and after.",
        f"Faruqui et al. 2015, Retrofitting; {_SJH17}, section 4 (Ret-dis)",
        "con_s2v.retrofitted:RetDis",
        _BUILDS,
    ),
    _card(
        "ret-sim",
        "Retrofitted by similarity",
        "Sen2Vec vectors, afterwards drawn towards the most similar sentences.",
        f"Faruqui et al. 2015, Retrofitting; {_SJH17}, section 4 (Ret-sim)",
        "con_s2v.retrofitted:RetSim",
        _BUILDS,
    ),
    _card(
        "w2v-avg",
        "Mean of learned word vectors",
        "The mean of word vectors that were learned on the same text.",
        f"Mikolov et al. 2013 (skip-gram); a baseline of {_SJH17}, section 4",
        "con_s2v.word_sums:W2VAverage",
        _TEXT,
    ),
    _card(
        "fastsent",
        "FastSent",
        "The sum of word vectors that were learned to predict the words of neighbouring sentences.",
        f"Hill, Cho, Korhonen 2016, section 3; a baseline of {_SJH17}",
        "con_s2v.word_sums:FastSent",
        _TEXT,
    ),
    _card(
        "fastsent-ae",
        "FastSent with own words",
        "FastSent that also predicts the words of the sentence itself.",
        f"Hill, Cho, Korhonen 2016, section 3 (FastSent+AE); a baseline of {_SJH17}",
        "con_s2v.word_sums:FastSentAE",
        _TEXT,
    ),
    _card(
        "c-phrase",
        "Sum of published word vectors",
        "The sum of additive word vectors at unit length; nothing is learned.",
        f"Pham et al. 2015, C-PHRASE; a baseline of {_SJH17}",
        "bag_of_words.additive:Additive",
        frozenset({"pretrained"}),
    ),
    _card(
        "doc-mean",
        "Mean of the document",
        "Another model's vectors, each replaced by the mean of its document: the control for labels of documents.",
        "This project; a control for the tables of Saha et al. 2017",
        "composite.smoothing:DocumentMean",
        _CONTROL,
    ),
    _card(
        "neighbour-mean",
        "Mean of neighbours",
        "Another model's vectors: half a sentence's own, a quarter each of the sentences before and after.",
        "This project; a control for the tables of Saha et al. 2017",
        "composite.smoothing:NeighbourMean",
        _CONTROL,
    ),
    _card(
        "smoothed",
        "Smoothed along the document",
        "Another model's vectors, smoothed along the order of sentences.",
        "Personalised PageRank, Haveliwala 2002; this project, a control for the tables of Saha et al. 2017",
        "composite.smoothing:Smoothed",
        _CONTROL,
    ),
    _card(
        "minilm",
        "Sentence encoder",
        "Vectors of a pre-trained sentence encoder such as MiniLM, from a folder on this machine.",
        "Reimers and Gurevych 2019, Sentence-BERT; Wang et al. 2020, MiniLM",
        "sentence_encoder.model:SentenceEncoder",
        frozenset({"pretrained", "encoder"}),
    ),
)
