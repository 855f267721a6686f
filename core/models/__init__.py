"""Methods that turn sentences into vectors. Cards only: nothing heavy is imported before a method is built."""

from __future__ import annotations

from core.models.con_s2v.cards import CARDS as _SENTENCE_VECTORS
from core.registry import Card, Registry

_ED18 = "Ein Dor et al. 2018, Learning Thematic Similarity Metric Using Triplet Networks"
_HCK16 = (
    "Hill, Cho and Korhonen 2016, Learning Distributed Representations of Sentences from Unlabelled Data, section 2"
)
_TRIPLET_NET = "core.models.triplet_network.model:TripletNet"
_TRIPLET_CONFIG = "core.models.triplet_network.model_config:TripletNetConfig"

REGISTRY = Registry(
    "method",
    [
        Card(
            id="mean-vectors",
            title="Mean of word vectors",
            summary="The mean of the word vectors of a sentence; nothing is learned. The paper's baseline.",
            source=f"{_ED18}, section 4 (mean-vectors)",
            factory="core.models.bag_of_words.mean_vectors:MeanVectors",
            config="core.models.bag_of_words.mean_vectors:MeanVectorsConfig",
            tags=frozenset({"pretrained"}),
        ),
        Card(
            id="tfidf",
            title="Tf-idf",
            summary="Weighted words of a sentence; by default a word's weight is measured inside its own article.",
            source="Salton and Buckley 1988, Term-weighting approaches; within the article: this project",
            factory="core.models.bag_of_words.tfidf:Tfidf",
            config="core.models.bag_of_words.tfidf:TfidfConfig",
            tags=frozenset({"sparse", "per-article", "needs-sentences"}),
        ),
        Card(
            id="word-counts",
            title="Word counts",
            summary="How often each word occurs in a sentence, nothing weighted: what the clusterer sIB works on.",
            source="Slonim, Friedman, Tishby 2002; counts as the package sib-clustering recommends",
            factory="core.models.bag_of_words.word_counts:WordCounts",
            config="core.models.bag_of_words.word_counts:WordCountsConfig",
            tags=frozenset({"sparse"}),
        ),
        Card(
            id="skip-thought",
            title="Skip-Thought",
            summary="A recurrent encoder, trained to predict the sentences before and after a sentence; "
            "or published recurrent weights.",
            source="Kiros et al. 2015, Skip-Thought Vectors; small version trained here. A baseline of "
            "Ein Dor et al. 2018, section 4.1",
            factory="core.models.recurrent.skip_thought:SkipThought",
            config="core.models.recurrent.skip_config:SkipThoughtConfig",
            tags=frozenset({"needs-sentences"}),
        ),
        Card(
            id="sae",
            title="Sequential autoencoder",
            summary="A recurrent encoder, trained to hold what a decoder needs to say the sentence again.",
            source=f"{_HCK16} (SAE); small version trained here. A baseline of Saha et al. 2017, section 4.2",
            factory="core.models.recurrent.sdae:Sae",
            config="core.models.recurrent.sdae_config:SaeConfig",
            tags=frozenset({"needs-sentences"}),
        ),
        Card(
            id="sdae",
            title="Sequential denoising autoencoder",
            summary="The sequential autoencoder, trained to restore sentences in which words were deleted and swapped.",
            source=f"{_HCK16} (SDAE); small version trained here. A baseline of Saha et al. 2017, section 4.2",
            factory="core.models.recurrent.sdae:Sdae",
            config="core.models.recurrent.sdae_config:SdaeConfig",
            tags=frozenset({"needs-sentences"}),
        ),
        Card(
            id="triplets-sen",
            title="Triplet network on sentences",
            summary="A BiLSTM with attention, trained so that sentences of one section lie close together.",
            source=f"{_ED18}, section 3.2 (triplets-sen)",
            factory=_TRIPLET_NET,
            config=_TRIPLET_CONFIG,
            tags=frozenset({"needs-triplets", "takes-model", "goes-on", "attention"}),
        ),
        Card(
            id="triplets-titles",
            title="Triplet network on section titles",
            summary="The same network, trained so that a section's opening lies close to its own title.",
            source=f"{_ED18}, section 3.2 (triplets-titles)",
            factory=_TRIPLET_NET,
            config=_TRIPLET_CONFIG,
            tags=frozenset({"needs-triplets", "takes-model", "goes-on", "titles", "attention"}),
        ),
        Card(
            id="triplets-sen-titles",
            title="Both triplet networks joined",
            summary="The vectors of a network on sentences and of one on titles, side by side; nothing is learned.",
            source=f"{_ED18}, section 3.2 (triplets-sen-titles); unit halves: this project",
            factory="core.models.composite.concatenated:JoinedNets",
            config="core.models.composite.concatenated:JoinedConfig",
            tags=frozenset({"needs-models", "goes-on", "attention"}),
        ),
        Card(
            id="triplets-sen-same-art",
            title="Triplet network, any other section",
            summary="The network of triplets-sen, for triplets whose third sentence is from any other section of the "
            "article (third = same_article).",
            source=f"{_ED18}, section 4 (triplets-sen-same-art)",
            factory=_TRIPLET_NET,
            config=_TRIPLET_CONFIG,
            tags=frozenset({"needs-triplets", "takes-model", "goes-on", "attention", "third:same_article"}),
        ),
        Card(
            id="triplets-sen-rand-art",
            title="Triplet network, any other article",
            summary="The network of triplets-sen, for triplets whose third sentence is from another article "
            "(third = random_article).",
            source=f"{_ED18}, section 4 (triplets-sen-rand-art)",
            factory=_TRIPLET_NET,
            config=_TRIPLET_CONFIG,
            tags=frozenset({"needs-triplets", "takes-model", "goes-on", "attention", "third:random_article"}),
        ),
        Card(
            id="hybrid",
            title="Hybrid of models and Tf-idf",
            summary="Trained models' vectors beside the words that sentences of an article share; nothing is learned.",
            source="This project; after hybrid retrieval by dense and sparse vectors",
            factory="core.models.composite.hybrid:Hybrid",
            config="core.models.composite.hybrid:HybridConfig",
            tags=frozenset({"needs-models", "mixes-models", "sparse", "per-article"}),
        ),
        *_SENTENCE_VECTORS,
    ],
    plugin_group="themescope.models",
)
