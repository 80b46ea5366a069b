"""A conversation of its own for each test."""

from __future__ import annotations

import pytest

from zidane_lab.chat.chat import Chat
from zidane_lab.chat.place import Place


@pytest.fixture
def chat(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chat = Chat(Place(tmp_path / "work.ipynb", tmp_path, "told"), env={"ZIDANE_HOME": str(tmp_path / "home")})
    yield chat
    if chat._session is not None:
        chat._session.close()
