"""Passwords: strong, salted, and never right by accident."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ConfigError, DataError
from db import logins
from db.logins import hash_password, verify


def test_a_hash_is_strong_salted_and_names_its_costs() -> None:
    hashed = hash_password("correct horse")
    kind, log_n, r, p, salt, _ = hashed.split("$")
    assert (kind, int(log_n) >= 15, int(r), int(p)) == ("scrypt", True, 8, 3)
    assert len(salt) == 24 and "horse" not in hashed
    assert verify("correct horse", hashed)
    assert not verify("correct horsE", hashed)


@settings(max_examples=10)
@given(st.text(min_size=logins.SHORTEST, max_size=60), st.text(max_size=60))
def test_only_the_password_itself_is_right(password: str, other: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logins, "_LOG_N", 2)
        hashed = hash_password(password)
        assert hashed != hash_password(password)
    assert verify(password, hashed)
    assert verify(other, hashed) is (other == password)


def test_short_and_endless_passwords_are_refused() -> None:
    for password in ("", "123456789", "x" * 1_001):
        with pytest.raises(DataError, match="10 to 1,000 characters"):
            hash_password(password)


@pytest.mark.parametrize("damaged", ["x", "md5$15$8$3$aa$bb", "scrypt$40$8$3$aaaa$aaaa", "scrypt$15$8$3$?$aaaa"])
def test_a_damaged_hash_says_what_to_do(damaged: str) -> None:
    with pytest.raises(ConfigError, match="themescope people password"):
        verify("correct horse", damaged)


def test_without_a_hash_nothing_is_right_and_it_takes_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    costs: list[tuple[int, ...]] = []

    def derived(password: str, salt: bytes, *cost: int) -> bytes:
        costs.append(cost)
        return bytes(32)

    monkeypatch.setattr(logins, "_derived", derived)
    assert not verify("", None)
    assert not verify("correct horse", "")
    hash_password("correct horse")
    assert costs == [costs[-1]] * 3
