"""What people see on the pages once they have signed in, what each role is refused, and names without sign-in."""

from collections.abc import Callable

import pytest

from tests.webapp.browsers import SECRET
from tests.webapp.filled import CORPUS, add_model
from tests.webapp.hands import Open, plain_words_of, press
from themescope.core.records.stored import Role
from themescope.db.store import Store
from themescope.jobs.services import people
from themescope.webapp.features import REGISTRY

Browser = Callable[[str], None]
SignIn = Callable[[str], str]
pytestmark = pytest.mark.usefixtures("cheap_passwords")


@pytest.fixture
def shared(filled_and_shared: Store) -> Store:
    return filled_and_shared


@pytest.fixture
def sign_in(shared: Store, browser: Browser) -> Callable[[str], str]:
    """Sign in under a name; the pages that are opened afterwards belong to it. Returns the token."""

    def begin(name: str) -> str:
        token = people.sign_in(shared, name, SECRET, "")
        browser(token)
        return token

    return begin


def test_nothing_is_shown_without_a_session(shared: Store, open_page: Open) -> None:
    for page in ("home", "texts", "people"):
        at = open_page(page)
        assert "your session has ended" in plain_words_of(at)
        assert not (at.text_input or at.button or at.dataframe) and CORPUS not in plain_words_of(at)


def test_a_session_names_its_person(shared: Store, open_page: Open, sign_in: SignIn) -> None:
    sign_in("ada")
    at = open_page("texts")
    assert not at.error
    assert "Texts" in [x.value for x in at.title]
    assert "[ada](/account) :gray[admin]" in plain_words_of(at)
    assert not any(x.label == "Your name" for x in at.text_input)
    with shared.reading() as r:
        assert next(person for person in r.people.list() if person.name == "ada").seen is not None


def test_nothing_is_left_for_the_next_one(
    shared: Store, open_page: Open, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that connects again keeps its state, though another person may have signed in meanwhile."""
    sign_in("lea")
    at = open_page("texts")
    at.session_state["bench-1"] = "what lea was doing"
    sign_in("lea")
    assert at.run().session_state["bench-1"] == "what lea was doing"
    token = sign_in("val")
    at = at.run()
    assert "bench-1" not in at.session_state and "[val](/account) :gray[viewer]" in plain_words_of(at)
    at.session_state["bench-1"] = "what val was doing"
    monkeypatch.setattr("themescope.webapp.shared.people._LOOK_AGAIN_S", 0.0)
    people.sign_out(shared, token)
    at = at.run()
    assert "your session has ended" in plain_words_of(at) and not at.dataframe and "bench-1" not in at.session_state


@pytest.mark.parametrize("name", ["lea", "val"])
def test_who_is_no_admin_imports_and_trains_nothing(open_page: Open, sign_in: SignIn, name: str) -> None:
    sign_in(name)
    at = open_page("import")
    role = {"lea": "Importing texts requires the admin role", "val": "Importing requires the coder role"}[name]
    assert role in plain_words_of(at) and not at.text_input
    at.switch_page(str(REGISTRY.get("train").script)).run()
    assert "Training requires the admin role" in plain_words_of(at)
    with pytest.raises(ValueError, match="Could not find a navigation page"):
        at.switch_page(str(REGISTRY.get("people").script))


def test_a_button_that_is_left_is_refused(shared: Store, open_page: Open, sign_in: SignIn) -> None:
    """A change of role ends the session, which every change asks for anew, even seconds after the last check."""
    people.set_role(shared, "lea", Role.ADMIN)
    sign_in("lea")
    at = open_page("texts")
    at.menu_button(key="texts_menu").click("Delete project …").run()
    at.text_input(key="confirm_typed").set_value(CORPUS)
    people.set_role(shared, "lea", Role.LABELLER)
    at = press(at, "Delete")
    assert "your session has ended" in plain_words_of(at)
    with shared.reading() as r:
        assert r.corpora.list()


def test_an_admin_adds_people_changes_their_roles_and_removes_them(
    shared: Store, open_page: Open, sign_in: SignIn
) -> None:
    sign_in("ada")
    at = open_page("people", member="val")
    assert "val" in [x.value for x in at.subheader]
    at.selectbox(key="people_role_val").set_value(Role.LABELLER).run()
    press(at, "Save")
    with shared.reading() as r:
        assert r.people.role("val") is Role.LABELLER
    press(press(at, "Remove …"), "Remove")
    assert {m.person.name for m in people.members(shared)} == {"ada", "lea"}
    at.query_params["people_member"] = "ada"
    press(press(at.run(), "Remove …"), "Remove")
    assert "This is the only admin" in plain_words_of(at)
    at = open_page("people")
    for password, said in (("short", "10 to 1,000 characters"), ("long enough, this", "")):
        next(x for x in at.text_input if x.label == "Name").set_value("Ida")
        next(x for x in at.text_input if x.label == "Initial password").set_value(password)
        assert said in plain_words_of(press(at, "Add"))
    assert people.sign_in(shared, "Ida", "long enough, this", "")
    at.session_state["people_log"] = True
    log = at.run().dataframe[-1].value
    assert [*log["Action"][:2]] == ["signed in", "account added"] and log["By"][1] == "ada"


def test_without_a_login_names_are_taken_on_trust(filled_store: Store, open_page: Open) -> None:
    at = open_page("people")
    assert "everyone except viewers has full access" in plain_words_of(at)
    people.set_role(filled_store, "ada", Role.ADMIN)
    people.set_role(filled_store, "val", Role.VIEWER)
    at = open_page("import")
    assert "Importing texts requires the admin role" in plain_words_of(at)
    at.text_input(key="person").set_value("ada").run()
    assert "Importing texts requires the admin role" not in plain_words_of(at)
    at.text_input(key="person").set_value("val").run()
    assert "Role: viewer" in plain_words_of(at)


def test_a_browser_keeps_the_name(filled_store: Store, open_page: Open, browser: Browser) -> None:
    browser("one")
    open_page("home").text_input(key="person").set_value(" Ada \u202e ").run()
    assert open_page("texts").text_input(key="person").value == "Ada"
    browser("another")
    assert open_page("texts").text_input(key="person").value == ""
    browser("one")
    at = open_page("texts")
    at.text_input(key="person").set_value(" Eve ").run()
    at.switch_page(str(REGISTRY.get("train").script)).run()
    assert at.text_input(key="person").value == " Eve " and people.tidy(at.session_state["person"]) == "Eve"
    at.text_input(key="person").set_value("").run()
    assert open_page("texts").text_input(key="person").value == ""


FORMS = [
    ("Creating a map", "Create map", "map", {}),
    ("Building a triplet set", "Build set", "triplets", {"view": "Sets"}),
    ("Building benchmarks", "Build benchmark", "compare", {}),
]


@pytest.fixture
def ada_manages(filled_store: Store) -> Store:
    people.set_role(filled_store, "ada", Role.ADMIN)
    with filled_store.writing() as w:
        add_model(w, "words", "tfidf")
    return filled_store


def test_forms_are_for_those_who_may_send_them(ada_manages: Store, open_page: Open) -> None:
    for what, send, page, address in FORMS:
        at = open_page(page, **address)
        at.session_state["map_dialog"] = "compute"
        at.session_state["triplets_new"] = at.session_state["compare_about"] = True
        at.run()
        assert any(f"{what} requires the admin role" in m.value for m in at.markdown)
        assert send not in [b.label for b in at.button]
        asked = " ".join(c.value for c in at.caption)
        assert "ask an admin" in asked and "ada" in asked and "enter your name in the menu" in asked
        at.text_input(key="person").set_value("ada").run()
        assert send in [b.label for b in at.button]


def test_work_and_deletion_are_offered_to_who_may_ask_for_them(ada_manages: Store, open_page: Open) -> None:
    for tab, head in (("Clustering", "missing combination"), ("Triplet accuracy", "Evaluate")):
        at = open_page("compare", tab=tab)
        assert not [b for b in at.button if head in b.label]
        at.text_input(key="person").set_value("ada").run()
        assert [b for b in at.button if head in b.label]
    at = open_page("texts")
    assert "Delete project …" not in at.menu_button(key="texts_menu").options
    at.text_input(key="person").set_value("ada").run()
    assert "Delete project …" in at.menu_button(key="texts_menu").options
