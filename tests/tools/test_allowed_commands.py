"""The fence of a shell that may only run some commands."""

from __future__ import annotations

import pytest

from zidane_lab.tools.allowed_commands import READ_ONLY, why_not_allowed


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "ls -la src",
        "cat a.py | head -5 | wc -l",
        "git status && git log --oneline -5",
        "git diff HEAD~1 -- src; git show abc",
        "grep -rn 'TODO: x' src || true",
        "ls missing 2>/dev/null",
        "cat a 2>&1 | tail -3",
        "ls\ngit status\n",
        "echo $HOME",
        "grep 'a|b' f",
        "cut --output-delimiter=, f",
    ],
)
def test_allowed(command):
    assert why_not_allowed(command, READ_ONLY) is None


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf x",
        "ls; rm x",
        "ls && rm x",
        "ls | xargs rm",
        "ls & rm x",
        "ls\nrm x",
        "ls $(rm x)",
        "ls `rm x`",
        'echo "$(rm x)"',
        'echo "`rm x`"',
        "cat <(rm x)",
        "cat > f",
        "echo x >> f",
        "ls > f",
        "ls >| f",
        "ls >& f",
        "ls &> f",
        "cat < f > g",
        "git push",
        "git -c core.pager=rm log",
        "git log --output=f",
        "git diff --outp f",
        "git diff --ext-diff",
        "git log -Oevil",
        "(rm x)",
        "{ rm x; }",
        "if true; then rm x; fi",
        "! rm x",
        "$CMD x",
        "'$CMD' x",
        "X=1 rm x",
        "PATH=. ls",
        "\\rm x",
        "command rm x",
        "env rm x",
        "sudo ls",
        "bash -c ls",
        "lsof",
        "./ls",
        "/tmp/ls",
        "ls 'unclosed",
        "cat <<EOF\n$(rm x)\nEOF",
        "cat <<EOF\nx\nEOF\nrm x",
        "f() { rm x; }; f",
        "ls ${x:=$(rm)}",
        "ls $'a'",
        "sort -o f f",
        "find . -delete",
        "r\\\nm x",
        "ls |& rm",
        "",
    ],
)
def test_not_allowed(command):
    assert why_not_allowed(command, READ_ONLY) or not command


def test_a_prefix_is_whole_words():
    assert why_not_allowed("git status", ["git status"]) is None
    assert why_not_allowed("git statusx", ["git status"]) is not None
    assert why_not_allowed("git", ["git status"]) is not None
    assert why_not_allowed("pytest -q tests", ["pytest"]) is None


def test_an_empty_list_allows_nothing():
    assert why_not_allowed("ls", []) is not None
    assert why_not_allowed("ls", [""]) is not None
