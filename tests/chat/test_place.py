"""Which notebook is this? Told, guessed, or said to be unknown."""

from __future__ import annotations

import pytest

from zidane_lab.chat.ownership import made_by_agent, users_names
from zidane_lab.chat.place import find_place
from zidane_lab.errors import ConfigurationError
from zidane_lab.turns import ToolResultBlock, Turn


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "work.ipynb"
    path.write_text("{}")
    return path


def test_an_explicit_path_wins(tmp_path, book):
    place = find_place("other.ipynb", {"__vsc_ipynb_file__": str(book)}, {}, tmp_path)
    assert (place.notebook, place.name, place.how) == (tmp_path / "other.ipynb", "other", "named explicitly")


def test_vs_code_tells(tmp_path, book):
    assert find_place(None, {"__vsc_ipynb_file__": str(book)}, {}, tmp_path).notebook == book


@pytest.mark.parametrize("form", ["absolute", "relative", "in a folder of the server"])
def test_the_jupyter_server_tells_when_it_names_a_file(tmp_path, book, form):
    name = {"absolute": str(book), "relative": "work.ipynb", "in a folder of the server": "some/where/work.ipynb"}[form]
    assert find_place(None, {}, {"JPY_SESSION_NAME": name}, tmp_path).notebook == book


@pytest.mark.parametrize("name", ["", "3f6c-uuid", "gone.ipynb", "/tmp/elsewhere/gone.ipynb"])
def test_otherwise_it_is_not_known_and_said_so(tmp_path, name):
    place = find_place(None, {"__vsc_ipynb_file__": 7}, {"JPY_SESSION_NAME": name}, tmp_path)
    assert (place.notebook, place.folder, place.name) == (None, tmp_path, "untitled")
    assert "not known" in place.how


@pytest.mark.parametrize("path", ["notes.txt", "missing/work.ipynb"])
def test_an_explicit_path_must_be_possible(tmp_path, path):
    with pytest.raises(ConfigurationError, match="not a notebook"):
        find_place(path, {}, {}, tmp_path)


def ran(created=(), deleted=()):
    return Turn("user", (ToolResultBlock("c", metadata={"execution": {"created": created, "deleted": deleted}}),))


def test_what_the_agent_made_is_its_own_and_the_rest_is_the_users():
    turns = [ran(("a", "b")), ran(("c",), ("b",)), Turn("user", (ToolResultBlock("d"),))]
    assert made_by_agent(turns) == {"a", "c"}
    namespace = {"a": 1, "b": 2, "df": 3, "_x": 4, "In": [], "Out": {}, "get_ipython": None}
    assert users_names(namespace, turns) == {"b", "df"}
