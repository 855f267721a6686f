import unicodedata
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from themescope.core.types import Split, split_of_title, title_bucket


@given(st.text())
def test_split_ignores_unicode_form_and_underscores(title):
    assert title_bucket(unicodedata.normalize("NFD", title)) == title_bucket(unicodedata.normalize("NFC", title))
    assert title_bucket(title.replace(" ", "_")) == title_bucket(title)


def test_half_of_a_surrogate_pair_has_a_bucket():
    assert 0 <= title_bucket("\ud800") < 1_000


def test_known_buckets_never_change():
    """Published splits depend on these numbers; they were computed with coreutils' ``b2sum -l 64``."""
    assert [title_bucket(t) for t in ("Adelaide", "Black Market", "Café")] == [608, 893, 31]


def test_shares_are_eighty_ten_ten():
    counts = Counter(split_of_title(f"Article {i}") for i in range(20_000))
    assert abs(counts[Split.TRAIN] / 20_000 - 0.8) < 0.01
    assert abs(counts[Split.VALIDATION] / 20_000 - 0.1) < 0.01
