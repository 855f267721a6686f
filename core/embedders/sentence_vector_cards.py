"""Cards of the rows of SJH17, and of the controls that its comparison needs."""

from __future__ import annotations

from core.registry import Card

_SJH17 = "Saha, Joty, Al Hasan 2017, Con-S2V"
_THIS = "core.embedders."
_LEARNS = frozenset({"needs-sentences", "transductive"})
_BUILDS = _LEARNS | {"takes-model"}
_CONTROL = frozenset({"needs-models", "one-model", "needs-sentences", "per-article"})


def _card(id: str, title: str, summary: str, source: str, place: str, tags: frozenset[str]) -> Card:
    """A card whose config is called like its class."""
    return Card(id, title, summary, source, _THIS + place, f"{_THIS}{place}Config", tags)


CARDS = (
    _card(
        "sen2vec", "Sen2Vec", "A vector for each sentence, learned from its own words: distributed memory and bag of "
        "words side by side.", f"Le and Mikolov 2014, Distributed Representations; {_SJH17}, section 3.1",
        "sen2vec:Sen2Vec", _LEARNS,
    ),
    _card(
        "reg-dis", "Regularised by discourse", "Sen2Vec that pulls the vectors of consecutive sentences together.",
        f"{_SJH17}, section 4 (Reg-dis)", "con_s2v:RegDis", _LEARNS,
    ),
    _card(
        "reg-sim", "Regularised by similarity", "Sen2Vec that pulls the vectors of similar sentences together.",
        f"{_SJH17}, section 4 (Reg-sim)", "con_s2v:RegSim", _BUILDS,
    ),
    _card(
        "con-s2v-dis", "CON-S2V by discourse", "Learns sentence vectors from their words and from the sentences "
        "before and after.", f"{_SJH17}, section 3 (Con-S2V-dis)", "con_s2v:ConS2VDis", _LEARNS,
    ),
    _card(
        "con-s2v-sim", "CON-S2V by similarity", "Learns sentence vectors from their words and from the most similar "
        "sentences.", f"{_SJH17}, section 3 (Con-S2V-sim)", "con_s2v:ConS2VSim", _BUILDS,
    ),
    _card(
        "ret-dis", "Retrofitted by discourse", "Sen2Vec vectors, afterwards drawn towards the sentences before and "
        "after.", f"Faruqui et al. 2015, Retrofitting; {_SJH17}, section 4 (Ret-dis)", "retrofitted:RetDis", _BUILDS,
    ),
    _card(
        "ret-sim", "Retrofitted by similarity", "Sen2Vec vectors, afterwards drawn towards the most similar sentences.",
        f"Faruqui et al. 2015, Retrofitting; {_SJH17}, section 4 (Ret-sim)", "retrofitted:RetSim", _BUILDS,
    ),
)  # fmt: skip
