"""Completing the names of places behind ``%zidane /run-in``."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from zidane_lab.chat.places import Places
from zidane_lab.chat.settings import Settings
from zidane_lab.notebook import extension


@pytest.fixture
def shell():
    made = InteractiveShell()
    extension.load(made)
    yield made
    made.__dict__.pop(extension._HOST, None)
    extension.unload(made)
    made.history_manager.enabled = False


def completed(shell, line):
    completer = shell.Completer
    with provisionalcompleter():
        return [each.text for each in completer.completions(line, len(line))]


def test_names_of_places_are_completed_once_there_is_a_chat(shell, tmp_path):
    assert "gpu" not in completed(shell, "%zidane /run-in g")
    settings = Settings(contexts={"gpu": {"kind": "ssh", "host": "gpu"}})
    chat = SimpleNamespace(places=Places(lambda: tmp_path), settings=settings)
    setattr(shell, extension._HOST, SimpleNamespace(chat=chat, close=lambda: None))
    assert "gpu" in completed(shell, "%zidane /run-in g")
    assert {"process", "gpu", "default"} <= set(completed(shell, "%zidane /run-in "))
    assert "gpu" not in completed(shell, "%zidane /output g")
