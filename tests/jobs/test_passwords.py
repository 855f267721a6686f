import base64
import hashlib

import pytest
from argon2 import PasswordHasher
from hypothesis import given, settings
from hypothesis import strategies as st

from themescope.core.errors import ConfigError, DataError
from themescope.db import passwords
from themescope.db.passwords import hash_password, is_outdated, verify

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


def scrypt(password: str) -> str:
    """The hash that version 0.1 made."""
    salt = b"0123456789abcdef"
    key = hashlib.scrypt(password.encode(), salt=salt, n=4, r=8, p=3, dklen=32)
    return "$".join(["scrypt", "2", "8", "3", *(base64.b64encode(part).decode() for part in (salt, key))])


def test_a_hash_is_strong_salted_and_names_its_costs() -> None:
    hashed = hash_password("correct horse")
    assert hashed.startswith("$argon2id$v=19$m=65536,t=3,p=4$") and "horse" not in hashed
    assert verify("correct horse", hashed) and not is_outdated(hashed)
    assert not verify("correct horsE", hashed)


@settings(max_examples=20)
@given(st.text(min_size=passwords.SHORTEST, max_size=60), st.text(max_size=60))
def test_only_the_password_itself_is_right(password: str, other: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "HASHER", CHEAP)
        hashed = hash_password(password)
        assert hashed != hash_password(password)
        assert verify(password, hashed)
        assert verify(other, hashed) is (other == password)


def test_hashes_of_version_0_1_and_of_other_costs_are_right_and_outdated() -> None:
    for hashed in (scrypt("correct horse"), CHEAP.hash("correct horse")):
        assert verify("correct horse", hashed) and not verify("correct horsE", hashed)
        assert is_outdated(hashed)


def test_short_and_endless_passwords_are_refused() -> None:
    for password in ("", "123456789", "x" * 1_001):
        with pytest.raises(DataError, match="10 to 1,000 characters"):
            hash_password(password)


@pytest.mark.parametrize(
    "damaged",
    ["x", "md5$15$8$3$aa$bb", "scrypt$40$8$3$aaaa$aaaa", "scrypt$2$8$3$?$aaaa", "scrypt$2", "$argon2id$v=19$m=8$aa$bb"],
)
def test_a_damaged_hash_says_what_to_do(damaged: str) -> None:
    with pytest.raises(ConfigError, match="themescope people change"):
        verify("correct horse", damaged)


def test_without_a_hash_nothing_is_right_and_it_takes_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[bytes] = []

    class Counting(PasswordHasher):
        def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
            hashed.append(bytes(password) if isinstance(password, bytes) else password.encode())
            return CHEAP.hash(password)

    monkeypatch.setattr(passwords, "HASHER", Counting())
    assert not verify("", None)
    assert not verify("correct horse", "")
    assert hashed == [b"", b"correct horse"]
