from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zidane_lab.approvals.safelist import (
    Entry,
    covers,
    describe_entry,
    first_token,
    host_of,
    is_on_safelist,
    parse_entry,
    suggest_entries,
)
from zidane_lab.approvals.shell_code import classify_shell

CORPUS = runpy.run_path(str(Path(__file__).with_name("corpus_shell.py")))
COMMANDS = [*CORPUS["HARMLESS"], *(command for group in CORPUS["RISKY"].values() for command in group)]


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("shell", Entry("shell", "tool")),
        ("shell:git:*", Entry("shell", "token", "git")),
        ("shell:./a:b:*", Entry("shell", "token", "./a:b")),
        ("shell:>:*", Entry("shell", "token", ">")),
        ("fetch_url:Example.org:8080", Entry("fetch_url", "host", "example.org:8080")),
        ("browser_open:[::1]:80", Entry("browser_open", "host", "[::1]:80")),
    ],
)
def test_the_shapes_that_exist_are_read(text, entry):
    assert parse_entry(text) == entry


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "shell:",
        "shell:git",
        "shell::*",
        "shell: :*",
        "shell: git:*",
        "a b",
        "*",
        "*:*",
        "shell:git:**x",
        "ü:x:*",
        "fetch_url:",
        "fetch_url:a/b",
        "fetch_url:*",
        "shell:git:status",
        "re:/x/",
        "fetch_url:a@b",
    ],
)
def test_other_shapes_are_ignored(text):
    assert parse_entry(text) is None
    assert not is_on_safelist([text], "shell", {"command": "git status"})
    assert not is_on_safelist([text], "fetch_url", {"url": "https://a/b"})


def test_every_head_must_be_covered():
    call = {"command": "cd dir && cat file | make"}
    assert not is_on_safelist(["shell:cd:*", "shell:cat:*"], "shell", call)
    assert is_on_safelist(["shell:cd:*", "shell:cat:*", "shell:make:*"], "shell", call)
    assert is_on_safelist(["shell"], "shell", call)
    assert not is_on_safelist(["run_python"], "shell", call)


@pytest.mark.parametrize("entries", [["shell"], ["shell:bash:*", "shell:ls:*", "shell:cat:*", "shell:sudo:*"]])
@pytest.mark.parametrize("command", ["ls 'x", "bash -c ls", "sudo ls", "$x", "cat .env", "ls $(", "rm -rf /"])
def test_what_cannot_be_read_or_is_critical_is_on_no_list(command, entries):
    assert not is_on_safelist(entries, "shell", {"command": command})


@pytest.mark.parametrize("tool", ["read_file", "grep", "ask_user", "present_plan", "todowrite", "skills_use"])
def test_tools_that_only_look_are_always_on_it(tool):
    assert is_on_safelist([], tool, {})


@pytest.mark.parametrize(
    ("tool", "arguments", "entries"),
    [
        ("shell", {"command": "cd dir && cat file"}, ("shell:cd:*", "shell:cat:*")),
        ("shell", {"command": "cat a; cat b"}, ("shell:cat:*",)),
        ("shell", {"command": "make > log"}, ("shell:make:*", "shell:>:*")),
        ("shell", {"command": "server &"}, ("shell:server:*", "shell:&:*")),
        ("shell", {"command": "git 'x"}, ("shell:git:*",)),
        ("shell", {"command": ""}, ("shell",)),
        ("shell", {}, ("shell",)),
        ("fetch_url", {"url": "https://Example.org/a?b"}, ("fetch_url:example.org",)),
        ("fetch_url", {"url": "http://localhost:8888/"}, ("fetch_url:localhost:8888",)),
        ("browser_open", {"url": "https://user:x@evil.org"}, ("browser_open",)),
        ("fetch_url", {"url": "http://[::1"}, ("fetch_url",)),
        ("edit", {"path": "a.py"}, ("edit",)),
        ("someones_tool", {}, ("someones_tool",)),
    ],
)
def test_suggestions(tool, arguments, entries):
    assert suggest_entries(tool, arguments) == entries


@given(st.sampled_from(COMMANDS) | st.lists(st.sampled_from(COMMANDS), min_size=2, max_size=3).map(" && ".join))
@settings(max_examples=400, deadline=None)
def test_suggestions_are_never_none_and_cover_exactly(command):
    entries = suggest_entries("shell", {"command": command})
    verdict = classify_shell(command)
    assert entries
    assert all(parse_entry(entry) for entry in entries)
    if verdict.is_opaque or verdict.critical or not verdict.tokens:
        assert not is_on_safelist(entries, "shell", {"command": command})
        return
    assert is_on_safelist(entries, "shell", {"command": command})
    for entry in entries:
        fewer = [each for each in entries if each != entry]
        assert not is_on_safelist(fewer, "shell", {"command": command})
    assert not is_on_safelist(entries, "shell", {"command": f"{command}\nunheard_of"})
    assert not is_on_safelist(entries, "run_python", {"code": command})


def test_an_address_is_covered_by_its_host_and_port_only():
    entries = suggest_entries("fetch_url", {"url": "https://example.org:444/x"})
    assert is_on_safelist(entries, "fetch_url", {"url": "https://example.org:444/y"})
    for url in ("https://example.org/x", "https://sub.example.org:444/", "https://example.org:444@evil.org/", "x"):
        assert not is_on_safelist(entries, "fetch_url", {"url": url})
    assert host_of("someones_tool", {"url": "https://example.org"}) == ""


def test_other_tools_are_covered_by_the_first_word_of_their_main_argument():
    assert is_on_safelist(["lookup:cats:*"], "lookup", {"query": "cats and dogs"})
    assert not is_on_safelist(["lookup:cats:*"], "lookup", {"query": "catsanddogs"})
    assert first_token({"intent": "x y", "n": 3, "text": " a b"}) == "a"
    assert not covers(["lookup:cats:*"], "lookup", [])


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("shell:git:*", "every `git …` command, `git push` too"),
        ("shell:make:*", "every `make …` command, whatever it runs"),
        ("shell:curl:*", "every `curl …` command, wherever it leads"),
        ("shell:mkdir:*", "every `mkdir …` command"),
        ("shell:>:*", "writing files by redirection"),
        ("shell", "every call of shell"),
        ("fetch_url:example.org", "fetch_url at example.org"),
        ("run_python:writes@out:*", "Python code that writes files in out"),
        ("run_python:writes@.:*", "Python code that writes files in the project's top folder"),
        ("run_python:overwrites-your-variable-df:*", "Python code that overwrites your variable df"),
        ("run_python:code-abc:*", "exactly this Python code"),
        ("lookup:cats:*", "lookup calls that begin with cats"),
        ("a b", "nothing: 'a b' is not understood"),
    ],
)
def test_entries_are_told_in_words(entry, text):
    assert describe_entry(entry) == text
