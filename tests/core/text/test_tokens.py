"""Tokens in the Penn Treebank manner."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.text.languages import tokenize

STRAIGHT = str.maketrans("‘’‛ʼ“”„‟", "''''\"\"\"\"")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I don't think so.", "I do n't think so ."),
        ("The dog’s bowl isn’t here", "The dog 's bowl is n't here"),
        ("They'll say we've won; he'd agree, I'm sure", "They 'll say we 've won ; he 'd agree , I 'm sure"),
        ("You cannot, can't", "You can not , ca n't"),
        ("the dogs' bowls", "the dogs ' bowls"),
        ("(U.S. troops, e.g. Marines)", "( U.S. troops , e.g. Marines )"),
        ("Mr. Smith met Dr. No.", "Mr. Smith met Dr. No."),
        ("It cost $1,234.50, i.e. 5%!", "It cost $ 1,234.50 , i.e. 5 % !"),
        ("a well-known AT&T — 1990–95", "a well-known AT&T — 1990 – 95"),
        ("“Quoted”, 'so'...", "\" Quoted \" , ' so ' ..."),
        ("see http://example.org/a?b=1 now", "see http://example.org/a?b=1 now"),
        ("word.Another and/or 3/4 12:30", "word . Another and / or 3/4 12:30"),
        ("", ""),
        (" \t\n ", ""),
        ("Zürich naïve 東京 Ελλάδα", "Zürich naïve 東京 Ελλάδα"),
    ],
)
def test_examples(text, tokens):
    assert tokenize(text) == tokens.split()


@given(st.text())
def test_nothing_is_lost_or_added(text):
    tokens = tokenize(text)
    assert "".join(tokens) == "".join(text.split()).translate(STRAIGHT)
    assert all(tokens)


@given(st.lists(st.sampled_from(["don't", "U.S.", "(a)", "dogs'", "1,000", "end.", "x-y", "“q”"]), max_size=8))
def test_chunks_are_independent(chunks):
    assert tokenize(" ".join(chunks)) == [token for chunk in chunks for token in tokenize(chunk)]
