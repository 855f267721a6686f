"""Methods that turn sentences into vectors: their cards and what the tags of the cards mean.

This module loads nothing heavy; a method is imported when it is built.
"""

from __future__ import annotations

from collections.abc import Iterable

from themescope.core.registry import Card, Registry

TAGS = {
    "usual": "Learns from a corpus and is worth a try: offered first where a model is trained.",
    "pretrained": "Learns nothing; built from pretrained word vectors or a pretrained encoder.",
    "stateless": "Embeds with its default settings without having been fitted.",
    "english": "Built on English word vectors or an English encoder; exceptions: word_tables.english_only.",
    "encoder": "Needs the extra encoder, and a transformer encoder whose folder the setting folder names.",
    "needs-sentences": "Learns from the running text of a corpus (Corpus.sentences).",
    "needs-triplets": "Learns from training and validation triplets (Corpus.triplets).",
    "needs-sections": "Learns from the sections of training and validation articles (Corpus.sections).",
    "needs-models": "Is built from fitted models (Corpus.models): two triplet networks, or see any-models.",
    "any-models": "With needs-models: accepts one or more models of any method.",
    "one-encoder": "With any-models: accepts exactly one, an encoder that learned from sections.",
    "accepts-base-model": "Optionally builds on one fitted model in Corpus.models.",
    "accepts-teacher": "Optionally learns from one fitted model in Corpus.models as well, by distillation.",
    "fine-tunable": "Contains a triplet network that can be the base model of further training.",
    "title-triplets": "With needs-triplets: learns from triplets of kind titles instead of sentences.",
    "negative:same_article": "With needs-triplets: negatives come from any other section of the article.",
    "negative:random_article": "With needs-triplets: negatives come from another article.",
    "transductive": "Learns a vector for each sentence, so it is trained on all sentences it will embed.",
    "content-vectors": "Learns from the words of each sentence alone; can be the base model of methods of CON-S2V.",
    "per-article": "The vector of a sentence depends on the other sentences of its article; embed whole articles.",
    "one-core": "Embeds on one core however many there are, so that several processes embed faster than one.",
    "sparse": "Returns a CSR array instead of a dense array.",
    "any-language": "Reads the words of any language; fitted to a corpus whose language no model reads.",
    "trains-on-labels": "The network that labels of people train further, from a fine-tunable base model.",
}
"""What each tag of a card means. Code asks for tags, never for ids."""

_ED18 = "Ein Dor et al. 2018, Learning Thematic Similarity Metric Using Triplet Networks"
_SJH17 = "Saha, Joty, Al Hasan 2017, Con-S2V"
_HCK16 = "Hill, Cho and Korhonen 2016, Learning Distributed Representations of Sentences from Unlabelled Data"
_SMOOTHING = ("needs-models", "any-models", "needs-sentences", "per-article")


def _card(
    id: str,
    title: str,
    summary: str,
    source: str,
    *,
    factory: str,
    config: str = "",
    tags: Iterable[str] = (),
    languages: str = "",
    revision: int = 1,
) -> Card:
    """Return a card; ``factory`` and ``config`` are given below this package, the config by default ``…Config``."""
    return Card(
        id=id,
        title=title,
        summary=summary,
        source=source,
        factory=f"{__name__}.{factory}",
        config=f"{__name__}.{config or factory + 'Config'}",
        tags=frozenset(tags),
        languages=frozenset(languages.split()),
        revision=revision,
    )


def _triplet_network(id: str, title: str, summary: str, section: str, *tags: str) -> Card:
    return _card(
        id,
        title,
        summary,
        f"{_ED18}, {section} ({id})",
        factory="triplet_network.model:TripletNet",
        config="triplet_network.config:TripletNetConfig",
        tags=("needs-triplets", "accepts-base-model", "fine-tunable", "english", *tags),
    )


def _con_s2v(id: str, title: str, summary: str, source: str, place: str, *tags: str) -> Card:
    return _card(
        id,
        title,
        summary,
        source,
        factory=f"con_s2v.{place}",
        config=f"con_s2v.config:{place.partition(':')[2]}Config",
        tags=("needs-sentences", *tags),
    )


_CARDS = (
    _card(
        "mean-vectors",
        "Mean of word vectors",
        "The mean of the pretrained word vectors of a sentence; nothing is learned.",
        f"{_ED18}, section 5.1 (mean-vectors)",
        factory="bag_of_words:MeanVectors",
        tags=("pretrained", "english"),
    ),
    _card(
        "tfidf",
        "Tf-idf",
        "Words weighted by term frequency and inverse document frequency, by default within the sentence's article.",
        "Salton and Buckley 1988, Term-weighting approaches; within the article: this project",
        factory="bag_of_words:Tfidf",
        tags=("sparse", "stateless", "per-article", "needs-sentences", "any-language"),
    ),
    _card(
        "word-counts",
        "Word counts",
        "The number of occurrences of each word, without weights.",
        "Salton, Wong and Yang 1975, A Vector Space Model for Automatic Indexing",
        factory="bag_of_words:WordCounts",
        tags=("sparse", "stateless"),
    ),
    _card(
        "skip-thought",
        "Skip-Thought",
        "A recurrent encoder trained to predict the previous and the next sentence, or published weights of one.",
        "Kiros et al. 2015, Skip-Thought Vectors; small version trained here. A baseline of "
        "Ein Dor et al. 2018, section 5.1",
        factory="recurrent.model:SkipThought",
        tags=("needs-sentences", "english"),
    ),
    _card(
        "sae",
        "Sequential autoencoder",
        "A recurrent encoder trained together with a decoder that reconstructs the sentence.",
        f"{_HCK16}, section 2 (SAE); small version trained here. A baseline of Saha et al. 2017, section 4.2",
        factory="recurrent.model:Sae",
        tags=("needs-sentences", "english"),
    ),
    _card(
        "sdae",
        "Sequential denoising autoencoder",
        "The sequential autoencoder, trained to reconstruct sentences from which words were deleted or swapped.",
        f"{_HCK16}, section 2 (SDAE); small version trained here. A baseline of Saha et al. 2017, section 4.2",
        factory="recurrent.model:Sdae",
        tags=("needs-sentences", "english"),
    ),
    _triplet_network(
        "triplets-sen",
        "Triplet network on sentences",
        "A BiLSTM with attention, trained so that sentences of the same section are close to each other.",
        "sections 3.1 and 4",
        "trains-on-labels",
        "usual",
    ),
    _triplet_network(
        "triplets-titles",
        "Triplet network on section titles",
        "A BiLSTM with attention, trained so that the first sentences of a section are close to its title.",
        "sections 3.2 and 4",
        "title-triplets",
    ),
    _card(
        "triplets-sen-titles",
        "Concatenated triplet networks",
        "The concatenated vectors of a triplet network on sentences and one on titles; nothing is learned.",
        f"{_ED18}, section 5.1 (triplets-sen-titles); unit components: this project",
        factory="triplet_network.model:ConcatenatedModel",
        config="triplet_network.model:ConcatenatedConfig",
        tags=("needs-models", "fine-tunable", "english"),
    ),
    _triplet_network(
        "triplets-sen-same-art",
        "Triplet network, negatives from any section",
        "The triplet network on sentences, with negatives from any other section of the article.",
        "section 5.1",
        "negative:same_article",
    ),
    _triplet_network(
        "triplets-sen-rand-art",
        "Triplet network, negatives from any article",
        "The triplet network on sentences, with negatives from another article.",
        "section 5.1",
        "negative:random_article",
    ),
    _card(
        "triplets-sen-contrastive",
        "Sentence network, contrastive loss",
        "The BiLSTM with attention, trained on sentences of whole articles: each is compared with all others of its "
        "article.",
        f"The network of {_ED18}, section 4; the loss of Khosla et al. 2020, Supervised Contrastive Learning",
        factory="triplet_network.model:ContrastiveNet",
        config="triplet_network.model:ContrastiveNetConfig",
        tags=("needs-sections", "accepts-teacher", "english"),
    ),
    _con_s2v(
        "sen2vec",
        "Sen2Vec",
        "A vector for each sentence, learned from its own words: distributed memory and bag of words, concatenated.",
        f"Le and Mikolov 2014, Distributed Representations; {_SJH17}, section 3.1",
        "methods:Sen2Vec",
        "transductive",
        "content-vectors",
    ),
    _con_s2v(
        "reg-dis",
        "Regularised by discourse",
        "Sen2Vec with a regulariser that makes the vectors of consecutive sentences similar.",
        f"{_SJH17}, section 4 (Reg-dis)",
        "methods:RegDis",
        "transductive",
    ),
    _con_s2v(
        "reg-sim",
        "Regularised by similarity",
        "Sen2Vec with a regulariser that makes the vectors of similar sentences more similar.",
        f"{_SJH17}, section 4 (Reg-sim)",
        "methods:RegSim",
        "transductive",
        "accepts-base-model",
    ),
    _con_s2v(
        "con-s2v-dis",
        "CON-S2V by discourse",
        "Learns sentence vectors from their words and from the previous and next sentences.",
        f"{_SJH17}, section 3 (Con-S2V-dis)",
        "methods:ConS2VDis",
        "transductive",
    ),
    _con_s2v(
        "con-s2v-sim",
        "CON-S2V by similarity",
        "Learns sentence vectors from their words and from the most similar sentences.",
        f"{_SJH17}, section 3 (Con-S2V-sim)",
        "methods:ConS2VSim",
        "transductive",
        "accepts-base-model",
    ),
    _con_s2v(
        "ret-dis",
        "Retrofitted by discourse",
        "Sen2Vec vectors, retrofitted to the previous and next sentences after training.",
        f"Faruqui et al. 2015, Retrofitting; {_SJH17}, section 4 (Ret-dis)",
        "methods:RetDis",
        "transductive",
        "accepts-base-model",
    ),
    _con_s2v(
        "ret-sim",
        "Retrofitted by similarity",
        "Sen2Vec vectors, retrofitted to the most similar sentences after training.",
        f"Faruqui et al. 2015, Retrofitting; {_SJH17}, section 4 (Ret-sim)",
        "methods:RetSim",
        "transductive",
        "accepts-base-model",
    ),
    _con_s2v(
        "w2v-avg",
        "Mean of learned word vectors",
        "The mean of skip-gram word vectors learned on the corpus.",
        f"Mikolov et al. 2013 (skip-gram); a baseline of {_SJH17}, section 4",
        "methods:W2VAverage",
    ),
    _con_s2v(
        "fastsent",
        "FastSent",
        "The sum of word vectors that were learned to predict the words of neighbouring sentences.",
        f"{_HCK16}, section 3; a baseline of {_SJH17}",
        "methods:FastSent",
    ),
    _con_s2v(
        "fastsent-ae",
        "FastSent with autoencoding",
        "FastSent that also predicts the words of the sentence itself.",
        f"{_HCK16}, section 3 (FastSent+AE); a baseline of {_SJH17}",
        "methods:FastSentAE",
    ),
    _card(
        "c-phrase",
        "Sum of pretrained word vectors",
        "The sum of pretrained additive word vectors, scaled to length 1; nothing is learned.",
        f"Pham et al. 2015, C-PHRASE; a baseline of {_SJH17}",
        factory="bag_of_words:CPhrase",
        tags=("pretrained", "english"),
    ),
    _card(
        "hybrid",
        "Hybrid of models and tf-idf",
        "The vectors of trained models, concatenated with tf-idf within the article; nothing is learned.",
        "This project; after hybrid retrieval by dense and sparse vectors",
        factory="composite:Hybrid",
        tags=("needs-models", "any-models", "sparse", "per-article"),
    ),
    _card(
        "doc-mean",
        "Mean of the document",
        "Vectors of another model, each replaced by the mean of its document: a control for labels of documents.",
        f"This project; a control for the tables of {_SJH17}",
        factory="composite:DocumentMean",
        tags=_SMOOTHING,
    ),
    _card(
        "neighbour-mean",
        "Mean of neighbours",
        "Vectors of another model, averaged: ½ the sentence, ¼ the previous and ¼ the next sentence.",
        f"This project; a control for the tables of {_SJH17}",
        factory="composite:NeighbourMean",
        tags=_SMOOTHING,
    ),
    _card(
        "smoothed",
        "Smoothed along the document",
        "Vectors of another model, smoothed along the order of sentences by personalised PageRank.",
        f"Haveliwala 2002, Personalised PageRank; this project, a control for the tables of {_SJH17}",
        factory="composite:Smoothed",
        tags=_SMOOTHING,
    ),
    _card(
        "linear-metric",
        "Learned metric",
        "Vectors of trained models, stretched and shrunk along a few axes so that sentences that belong together are "
        "closer: learned in seconds from triplets.",
        "Zadeh, Hosseini and Sra 2016, Geometric Mean Metric Learning; regularised to the identity: this project",
        factory="composite:LinearMetric",
        tags=("needs-models", "any-models", "needs-triplets", "usual"),
    ),
    _card(
        "static-encoder",
        "Static encoder",
        "The weighted sum of word vectors that were trained so that sentences of the same section of an article are "
        "close to each other: by far the fastest trained method.",
        "This project; after Arora et al. 2017, A Simple but Tough-to-Beat Baseline for Sentence Embeddings, and "
        "Khosla et al. 2020, Supervised Contrastive Learning",
        factory="static_encoder:StaticEncoder",
        config="contrastive.config:StaticEncoderConfig",
        tags=("needs-sections", "accepts-teacher", "english", "one-core", "usual"),
    ),
    _card(
        "minilm",
        "Sentence encoder",
        "Vectors of a pretrained sentence encoder such as MiniLM, read from a folder on this machine.",
        "Reimers and Gurevych 2019, Sentence-BERT; Wang et al. 2020, MiniLM",
        factory="sentence_encoder:SentenceEncoder",
        tags=("pretrained", "encoder"),
    ),
    _card(
        "universal-sentence-encoder",
        "Universal Sentence Encoder",
        "A pretrained convolutional encoder of 15 languages, fast without a GPU; nothing is learned.",
        "Yang et al. 2020, Multilingual Universal Sentence Encoder for Semantic Retrieval; version 3 of its weights",
        factory="sentence_encoder:UniversalEncoder",
        config="sentence_encoder:Config",
        tags=("pretrained", "stateless", "one-core"),
        languages="ar de en es fr it ja ko nl pl pt ru th tr zh",
    ),
    _card(
        "thematic-encoder",
        "Thematic encoder",
        "A pretrained sentence encoder, fine-tuned so that sentences of the same section of an article are close to "
        "each other.",
        "This project; after Reimers and Gurevych 2019, Sentence-BERT, and Khosla et al. 2020, Supervised Contrastive "
        "Learning",
        factory="thematic_encoder.model:ThematicEncoder",
        config="contrastive.config:ThematicEncoderConfig",
        tags=("encoder", "needs-sections", "english", "usual"),
        revision=2,
    ),
    _card(
        "context-encoder",
        "Thematic encoder in context",
        "A thematic encoder that reads the mean vector of the article before each sentence, trained so that sentences "
        "of the same section are close to each other.",
        "This project; after Khosla et al. 2020, Supervised Contrastive Learning",
        factory="thematic_encoder.model:ContextEncoder",
        config="contrastive.config:ContextEncoderConfig",
        tags=("needs-models", "any-models", "one-encoder", "needs-sections", "per-article", "english"),
    ),
    _card(
        "list-encoder",
        "Thematic encoder for lists",
        "The vectors of a thematic encoder beside those of the encoder that it was fine-tuned from, which keep the "
        "subjects of short texts better apart; nothing is learned.",
        "This project",
        factory="thematic_encoder.model:ListEncoder",
        config="sentence_encoder:Config",
        tags=("needs-models", "any-models", "one-encoder", "english"),
    ),
)
REGISTRY = Registry("method", _CARDS, plugin_group="themescope.models")
