"""Signing in, what each role sees, and what it is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from db import logins
from db.label_records import Role
from db.settings import Settings
from db.store import Store
from jobs.services import people as members
from webapp.features import REGISTRY
from webapp.shared import people
from webapp.shared.people import has_organisation, vouched

Open = Callable[..., AppTest]
SECRET = "correct horse battery"


@pytest.fixture
def shared(filled_store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A filled store whose pages ask people to sign in; each role has somebody."""
    monkeypatch.setenv("THEMESCOPE_LOGIN", "always")
    monkeypatch.setattr(logins, "_LOG_N", 2)
    monkeypatch.setattr(people, "_ATTEMPTS", members.Attempts())
    monkeypatch.setattr(people, "_IN", set())
    for name, role in (("ada", Role.ADMIN), ("lea", Role.LABELLER), ("val", Role.VIEWER)):
        members.add(filled_store, name, role, SECRET)
    return filled_store


def words(at: AppTest) -> str:
    kinds = (at.markdown, at.caption, at.info, at.warning, at.error, at.title, at.subheader)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")


def sign_in(at: AppTest, name: str, password: str = SECRET) -> AppTest:
    next(x for x in at.text_input if x.label == "Name").set_value(name)
    next(x for x in at.text_input if x.label == "Password").set_value(password)
    next(x for x in at.button if x.label == "Sign in").click()
    return at.run()


def press(at: AppTest, label: str) -> AppTest:
    next(x for x in at.button if x.label == label).click()
    return at.run()


@pytest.mark.parametrize("page", ["home", "corpora", "relabel", "people", "jobs"])
def test_nothing_is_shown_before_signing_in(shared: Store, open_page: Open, page: str) -> None:
    at = open_page(page)
    assert not at.exception
    assert [x.label for x in at.text_input] == ["Name", "Password"]
    assert [x.label for x in at.button] == ["Sign in"]
    assert not at.dataframe
    with shared.reading() as r:
        assert all(corpus.name not in words(at) for corpus in r.corpora.list())


def test_a_wrong_password_and_the_right_one(shared: Store, open_page: Open) -> None:
    at = sign_in(open_page("corpora"), "ada", "wrong password")
    assert "Wrong name or password" in at.error[0].value
    assert sign_in(at, "nobody").error[0].value == at.error[0].value
    at = sign_in(at, "ada")
    assert not at.error and not at.exception
    assert "Corpora" in [x.value for x in at.title]
    assert "**ada** :gray[admin]" in words(at)
    assert not any(x.label == "Your name" for x in at.text_input)
    assert len(people._IN) == 1
    press(at, "Sign out")
    assert not people._IN
    assert [x.label for x in at.text_input] == ["Name", "Password"]
    with shared.reading() as r:
        assert r.people.list()[0].seen is not None


def test_the_wait_after_wrong_passwords_survives_an_emptied_cache(shared: Store, open_page: Open) -> None:
    """Any browser may ask Streamlit to empty its caches, signed in or not."""
    at = open_page("corpora")
    for _ in range(3):
        at = sign_in(at, "ada", "wrong password")
    st.cache_resource.clear()
    assert "Too many failed attempts" in sign_in(at, "ada").error[0].value


def test_nothing_of_one_person_is_left_for_the_next(
    shared: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.shared.people._LOOK_AGAIN_S", 0.0)
    at = sign_in(open_page("corpora"), "ada")
    at.session_state["bench-1"] = "what ada was doing"
    at = press(at, "Sign out")
    assert "bench-1" not in at.session_state
    at = sign_in(at, "lea")
    at.session_state["bench-1"] = "what lea was doing"
    members.set_password(shared, "lea", "another password")
    at = sign_in(at.run(), "lea", "another password")
    assert at.session_state["bench-1"] == "what lea was doing"
    with shared.writing() as w:
        w.sign_ins.close_all("lea")
    at = sign_in(at.run(), "val")
    assert "bench-1" not in at.session_state and "**val** :gray[viewer]" in words(at)


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ({"email": "ada@example.org", "email_verified": True, "sub": "1"}, "ada@example.org"),
        ({"email": "ada@example.org", "sub": "1"}, "ada@example.org"),
        ({"email": "ada@example.org", "email_verified": False, "sub": "1"}, ""),
        ({"email": "ada@example.org", "email_verified": "false", "sub": "1"}, ""),
        ({"preferred_username": "ada@example.org", "sub": "1"}, "1"),
        ({"name": "ada@example.org"}, ""),
        ({"email": ["ada@example.org"], "sub": 7}, ""),
        ({"email": "x" * 60 + "@example.org", "sub": "1"}, ""),
        ({"email": "ada@example.org\u200b", "sub": "1"}, ""),
    ],
)
def test_what_an_organisation_vouches_for(user: dict[str, object], name: str) -> None:
    """Many providers let people choose their ``preferred_username``, so it says nothing of who they are."""
    assert vouched(user) == name


def test_who_is_removed_is_out(shared: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.shared.people._LOOK_AGAIN_S", 0.0)
    at = sign_in(open_page("corpora"), "lea")
    assert "**lea** :gray[labeller]" in words(at)
    members.remove(shared, "lea")
    assert [x.label for x in at.run().text_input] == ["Name", "Password"]


@pytest.mark.parametrize(("name", "view"), [("lea", "label and review"), ("val", "look")])
def test_who_is_no_admin_imports_and_trains_nothing(shared: Store, open_page: Open, name: str, view: str) -> None:
    at = sign_in(open_page("corpora", view="Import"), name)
    assert "Importing requires the admin role" in words(at)
    assert not at.text_input
    at.switch_page(str(REGISTRY.get("train").script)).run()
    assert "Training requires the admin role" in words(at)
    at.switch_page(str(REGISTRY.get("themes").script)).run()
    assert "requires the admin role" in words(at)
    with pytest.raises(ValueError, match="Could not find a navigation page"):
        at.switch_page(str(REGISTRY.get("people").script))


def test_a_button_that_is_left_is_refused_in_a_sentence(shared: Store, open_page: Open) -> None:
    members.set_role(shared, "lea", Role.ADMIN)
    at = press(sign_in(open_page("corpora", view="All corpora"), "lea"), "Delete this corpus …")
    members.set_role(shared, "lea", Role.LABELLER)
    at = press(at, "Delete")
    assert "lea may label and review, but not import" in at.session_state["deletion"]
    with shared.reading() as r:
        assert r.corpora.list()


def test_an_admin_sees_people_and_changes_their_roles(shared: Store, open_page: Open) -> None:
    at = sign_in(open_page("people", member="val"), "ada")
    assert "val" in [x.value for x in at.subheader]
    at.radio(key="people_role_val").set_value(Role.LABELLER).run()
    press(at, "Save")
    with shared.reading() as r:
        assert r.people.role("val") is Role.LABELLER
    press(at, "Remove …")
    press(at, "Remove")
    assert {m.person.name for m in members.members(shared)} == {"ada", "lea"}
    at.query_params["people_member"] = "ada"
    at = press(press(at.run(), "Remove …"), "Remove")
    assert "This is the only admin" in words(at)


def test_an_admin_adds_somebody(shared: Store, open_page: Open) -> None:
    at = sign_in(open_page("people"), "ada")
    next(x for x in at.text_input if x.label == "Name").set_value("Ida")
    next(x for x in at.text_input if x.label == "Initial password").set_value("short")
    at = press(at, "Add")
    assert "10 to 1,000 characters" in words(at)
    next(x for x in at.text_input if x.label == "Initial password").set_value("long enough, this")
    at = press(at, "Add")
    assert members.sign_in(shared, "Ida", "long enough, this", members.Attempts())


def test_pages_that_others_reach_show_nothing_while_nobody_can_sign_in(
    filled_store: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEMESCOPE_LOGIN", "always")
    at = open_page("corpora")
    assert "nobody can sign in yet" in words(at)
    assert not at.text_input and not at.dataframe


def test_without_a_login_names_are_taken_on_trust(filled_store: Store, open_page: Open) -> None:
    at = open_page("people")
    assert "everyone except viewers has full access" in words(at)
    members.set_role(filled_store, "ada", Role.ADMIN)
    members.set_role(filled_store, "val", Role.VIEWER)
    at = open_page("corpora", view="Import")
    assert "Importing requires the admin role" in words(at)
    at.sidebar.text_input(key="person").set_value("ada").run()
    assert "Importing requires the admin role" not in words(at)
    at.sidebar.text_input(key="person").set_value("val").run()
    assert "Role: viewer" in words(at)


def test_a_login_through_an_organisation_is_set_up_by_a_file(tmp_path: Path) -> None:
    path = str(Settings.in_folder(tmp_path).secrets_file)
    assert not has_organisation([path])
    Path(path).write_text("[other]\nx = 1\n", encoding="utf-8")
    assert not has_organisation([path])
    Path(path).write_text('[auth]\nclient_id = "x"\n', encoding="utf-8")
    assert has_organisation([path])
