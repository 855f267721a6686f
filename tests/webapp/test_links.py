"""What a link opens is what it names, whatever was open before."""

import ast
from collections import UserDict
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from tests.webapp.filled import CORPUS, MAP, add_map, of_sections
from tests.webapp.hands import Open
from themescope.db.store import Store
from themescope.webapp.features import REGISTRY
from themescope.webapp.features.coding import LABELLING, NEW, SURFACE, VIEW
from themescope.webapp.shared import navigation, projects
from themescope.webapp.shared.compare_queries import SORT, edit_view
from themescope.webapp.shared.pages import PageKeys

WEBAPP = Path(__file__).parents[2] / "webapp"


class Address(dict[str, Any]):
    """The query parameters of a browser."""

    def get_all(self, name: str) -> list[str]:
        value = self.get(name, [])
        return [value] if isinstance(value, str) else list(value)


PAGES = {card.id: card.page_keys() for card in REGISTRY}
PROJECTS = [SimpleNamespace(id=number, name=name, created=datetime.now(UTC)) for number, name in ((1, "a"), (2, "b"))]
VALUES = {str: ["x", "y"], int: ["1", "2"], float: ["0.5", "2"], bool: ["true", "false"], list: [["p"], ["p", "q"]]}


@some.composite
def visits(draw: some.DrawFn) -> tuple[str, str, dict[str, Any], dict[str, Any]]:
    """A page, a project, what the link to them names, and what somebody then changes."""
    page = draw(some.sampled_from(sorted(PAGES)))
    keys = {} if (found := PAGES[page]) is None else {name: url for name, url in found.urls.items() if name != "corpus"}

    def some_of() -> dict[str, Any]:
        names = draw(some.lists(some.sampled_from(sorted(keys)), unique=True, max_size=4)) if keys else []
        return {name: draw(some.sampled_from(VALUES[keys[name].kind])) for name in names}

    return page, draw(some.sampled_from("ab")), some_of(), some_of()


@settings(max_examples=150)
@given(some.lists(visits(), min_size=1, max_size=8))
def test_a_link_wins_and_a_page_is_found_as_it_was_left(path: list[tuple[str, str, dict[str, Any], Any]]) -> None:
    session: dict[str, Any] = {}
    left: dict[tuple[str, str], dict[str, Any]] = {}
    with pytest.MonkeyPatch.context() as patch:
        for module in (navigation, projects):
            patch.setattr(module, "st", SimpleNamespace(session_state=session, query_params=(address := Address())))
        patch.setattr(projects.queries, "corpora", lambda: PROJECTS)
        patch.setattr(projects, "_OWNERS", dict.fromkeys(projects._OWNERS, lambda name: 0))
        before = ""
        for page, project, named, changed in path:
            for module in (navigation, projects):
                address.clear()
                module.st.query_params = address
            address.update({"corpus": project, **named})
            keys = cast(PageKeys | None, PAGES[page])
            session["navigation_pages"] = {card.id: (card, None) for card in REGISTRY}
            session["navigation_current"] = page
            if page == before:  # a link to the open page sets what the next run opens
                session["navigation_target"] = page, dict(address)
            navigation.arrive()
            assert session["corpus"] == project
            expected = left.get((page, project), {}) if not named else {
                name: keys.urls[name].read([value] if isinstance(value, str) else value)
                for name, value in named.items()
                if keys is not None and keys.urls[name].kind not in (int, float)
            }  # fmt: skip
            names = set() if keys is None else {*keys.urls} - {"corpus"}
            assert {name: session[name] for name in names if name in session} == expected
            session.update(changed)
            left[page, project] = expected | changed
            before = page


class Session(UserDict[str, Any]):
    """A session at whose n-th access a run ends, as Streamlit ends one when a message of the browser has come."""

    left = 0

    def _access(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise InterruptedError

    def __getitem__(self, key: str) -> Any:
        self._access()
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._access()
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        self._access()
        super().__delitem__(key)


def test_a_link_whose_run_is_ended_anywhere_opens_in_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projects.queries, "corpora", lambda: PROJECTS)
    monkeypatch.setattr(projects, "_OWNERS", dict.fromkeys(projects._OWNERS, lambda name: 0))
    ended, outcomes = 0, []
    for number in range(200):
        session, address = Session(), Address(corpus="a", themes_result="first")
        for module in (navigation, projects):
            monkeypatch.setattr(module, "st", SimpleNamespace(session_state=session, query_params=address))
        navigation.offer({card.id: (card, cast(Any, None)) for card in REGISTRY}, "themes")
        navigation.arrive()
        session["map_map"] = "of a"
        session["navigation_target"] = "themes", {"corpus": "b", "themes_result": "second"}
        session.left = number
        try:
            navigation.arrive()
        except InterruptedError:
            ended += 1
            navigation.arrive()
        outcomes.append(dict(session.data))
    assert 20 < ended < 199
    assert outcomes[0]["themes_result"] == "second" and outcomes[0]["navigation_views"][1]["map_map"] == "of a"
    assert all(outcome == outcomes[0] for outcome in outcomes)


CALLS = {"page_link", "switch_page", "nothing", "Link", "ResultLink", "TourStep"}


def links() -> list[tuple[str, str, list[str]]]:
    """Place, page and named keys of the links that the code writes out."""
    found = []
    for path in [*WEBAPP.rglob("*.py"), *(WEBAPP.parent / "jobs" / "kinds").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
                texts = [part.value for part in node.args if isinstance(part, ast.Constant)]
                page = next((text for text in texts if text in PAGES), "")
                named = [part for part in [*node.args, *(k.value for k in node.keywords)] if isinstance(part, ast.Dict)]
                keys = [key.value for part in named for key in part.keys if isinstance(key, ast.Constant)]
                if page:
                    found.append((f"{path.name}:{node.lineno}", page, keys))
    return found


def test_every_link_names_keys_of_its_page() -> None:
    assert len(links()) > 40
    for place, page, names in links():
        keys = PAGES[page]
        known = {"corpus"} if keys is None else {name.removeprefix(f"{page}_") for name in keys.urls}
        assert {*names} <= known, place


def follow(at: AppTest, page: str, **view: str) -> AppTest:
    at._page_hash = calc_hash(page)
    at.query_params.clear()
    keys = REGISTRY.get(page).page_keys()
    at.query_params.update(view if keys is None else keys.address(view))
    return at.run()


@pytest.fixture
def two(filled_store: Store) -> Store:
    """A store with two labellings and two maps."""
    for name in ("Survey codes", "Pilot"):
        of_sections(filled_store, name)
    with filled_store.writing() as w:
        add_map(w, 1, "older", w.corpora.sentence_ids(1))
    return filled_store


@pytest.mark.parametrize("target", ["Survey codes", "Pilot"])
def test_an_item_of_a_task_opens_its_labelling_on_its_tab(two: Store, open_page: Open, target: str) -> None:
    other = "Pilot" if target == "Survey codes" else "Survey codes"
    at = open_page("code", corpus=CORPUS, labelling=other, view=NEW, surface="Table", search="word")
    follow(at, "tasks", corpus=CORPUS)
    follow(at, "code", corpus=CORPUS, **edit_view(target))
    assert at.session_state[LABELLING] == target and VIEW not in at.session_state
    assert at.session_state[SURFACE] == SORT and "code_search" not in at.session_state


@pytest.mark.parametrize("target", [MAP, "older"])
def test_a_map_opens_with_its_colour(two: Store, open_page: Open, target: str) -> None:
    at = open_page("map", corpus=CORPUS, map="older" if target == MAP else MAP, colour="Article", search="river")
    follow(at, "home", corpus=CORPUS)
    follow(at, "map", corpus=CORPUS, map=target, colour="Section")
    assert at.session_state["map_map"] == target and at.query_params["map_colour"] in ("Section", ["Section"])
    assert "map_search" not in at.query_params
    follow(at, "home", corpus=CORPUS)
    follow(at, "map", corpus=CORPUS)  # a link of the navigation: as it was left
    assert at.session_state["map_map"] == target


@pytest.mark.parametrize(
    ("page", "key", "gone", "first"),
    [("triplets", "view", "Margins", "Accuracy"), ("compare", "tab", "One article", "Clustering")],
)
def test_links_to_what_went_open_another(
    two: Store, open_page: Open, page: str, key: str, gone: str, first: str
) -> None:
    at = open_page(page, corpus=CORPUS, **{key: gone})
    assert not at.error and at.session_state[f"{page}_{key}"] == first
    follow(at, page, corpus=CORPUS, **{key: {"view": "Sets", "tab": "Pair"}[key]})
    follow(at, "home", corpus=CORPUS)
    follow(at, page, corpus=CORPUS, **{key: gone})
    assert not at.error and at.session_state[f"{page}_{key}"] == first
