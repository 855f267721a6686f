import dataclasses

import numpy as np
from sklearn.linear_model import LogisticRegression

from themescope.core.models import REGISTRY
from themescope.core.types import Sentence

TOPICS = 4
SMALL = {"dim": 10, "epochs": 15, "learning_rate": 0.2, "subsampling": 0.01, "threads": 1}


def build(id, corpus, models=(), seed=0, **settings):
    return REGISTRY.build(id, settings, seed=seed).fit(dataclasses.replace(corpus[0], models=models))


def topic_sentences(documents=60, length=8, words=9, seed=0):
    """Sentences of documents of one topic each, and (n,) topics. Half of the words are common to all topics."""
    random = np.random.default_rng(seed)
    sentences, topics = [], []
    for document in range(documents):
        topic = document % TOPICS
        for position in range(length):
            own = [f"q{topic}x{random.integers(60)}z" for _ in range(words // 3)]
            common = [f"c{random.zipf(1.6) % 200}z" for _ in range(words - len(own))]
            text = " ".join(random.permutation(own + common).tolist())
            sentences.append(Sentence(text, id=100 + len(sentences), article_id=document, position=position))
            topics.append(topic)
    return sentences, np.array(topics)


def accuracy(vectors, topics):
    """Accuracy on odd documents of a linear classifier trained on even documents (8 sentences each)."""
    train = np.arange(len(topics)) // 8 % 8 < 4
    model = LogisticRegression(C=1, max_iter=2_000).fit(vectors[train], topics[train])
    return model.score(vectors[~train], topics[~train])
