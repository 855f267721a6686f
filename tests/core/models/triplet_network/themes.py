"""A tiny synthetic language: sentences of one section share some of the words of its theme."""

from functools import cache

import numpy as np

from themescope.core.models.triplet_network.network import triplet_data
from themescope.core.text.word_vectors import WordVectors
from themescope.core.types import Corpus, Sentence, Split, TripletTexts

NO_WORDS = WordVectors([], np.zeros((0, 12), np.float32))

# So few words that a small network has learned them after some thirty steps.
THEMES = [np.array([f"theme{k}word{i}" for i in range(4)]) for k in range(3)]
COMMON = np.array([f"common{i}" for i in range(10)])


def theme_triplets(articles=30, seed=0, per_article=12):
    random = np.random.default_rng(seed)

    def sentence(theme):
        return " ".join([*random.choice(THEMES[theme], 2), *random.choice(COMMON, random.integers(2, 6))])

    pivots, positives, negatives, groups = [], [], [], []
    for article in range(articles):
        for _ in range(per_article):
            theme, other = random.choice(len(THEMES), 2, replace=False)
            pivots.append(sentence(theme))
            positives.append(sentence(theme))
            negatives.append(sentence(other))
            groups.append(article)
    return TripletTexts(pivots, positives, negatives, np.array(groups))


@cache
def theme_data(articles=30, seed=0, per_article=12):
    return triplet_data(theme_triplets(articles, seed, per_article), NO_WORDS)


SUBJECTS = ("river lake sea water", "king queen war army", "music song album band", "school university student teacher")


def sections(first, count):
    """Articles of three subjects each, whose sentences are two words of a subject between common words."""
    found = []
    for article in range(first, first + count):
        for section in range(3):
            words = SUBJECTS[(article + section) % 4].split()
            texts = [f"the {words[i]} of the {words[(i + article + 1) % 4]} in it" for i in range(4)]
            found += [Sentence(text, article_id=article, section=section) for text in texts]
    return found


def section_corpus(*models):
    return Corpus("c", sections={Split.TRAIN: sections(0, 8), Split.VALIDATION: sections(20, 4)}, models=models)
