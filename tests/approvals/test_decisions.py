from __future__ import annotations

import pytest

from zidane_lab.approvals.decisions import Answer, Grants, Question, as_answer, first_answer, read_answer

PLAIN = Question("shell", "", "make")
ALL = Question("shell", "", "make", remember=("shell:make:*",), choices=("once", "session", "always", "deny"))


@pytest.mark.parametrize(
    ("value", "decision"),
    [
        (True, "once"),
        (False, "deny"),
        ("yes", "deny"),
        (1, "deny"),
        (object(), "deny"),
        (Answer("once"), "once"),
        (Answer("session"), "session"),
        (Answer("deny", "no"), "deny"),
        (Answer("sure"), "deny"),
        (Answer(["once"]), "deny"),
        (Answer("once", reason=3), "deny"),
        (Answer("once", hunks=[True]), "deny"),
        (Answer("once", hunks=(1,)), "deny"),
    ],
)
def test_only_a_plain_yes_is_one(value, decision):
    assert as_answer(value, ALL).decision == decision


def test_nobody_is_not_a_no():
    assert as_answer(None, ALL) is None


def test_more_than_was_offered_counts_as_once():
    assert as_answer(Answer("always"), PLAIN).decision == "once"
    assert as_answer(Answer("always"), ALL).decision == "always"


def test_no_part_allowed_is_a_no():
    question = Question("multi_edit", "", "", hunks=2)
    assert as_answer(Answer("once", "bad", (False, False)), question) == Answer("deny", "bad")
    assert as_answer(Answer("once", "", (False, True)), question).hunks == (False, True)
    assert as_answer(Answer("once", "", (False,)), question).decision == "once"


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y", Answer("once")),
        (" YES ", Answer("once")),
        ("s", Answer("session")),
        ("always", Answer("always")),
        ("n", Answer("deny")),
        ("", Answer("deny")),
        ("n too slow", Answer("deny", "too slow")),
        ("use polars instead", Answer("deny", "use polars instead")),
        ("yes but only once", Answer("deny")),
        ("yy", Answer("deny", "yy")),
    ],
)
def test_what_is_typed_is_read_strictly(typed, answer):
    assert read_answer(typed, ALL) == answer


def test_what_was_not_offered_cannot_be_typed():
    assert read_answer("a", PLAIN).decision == read_answer("session", PLAIN).decision == "deny"


def test_the_prompt_tells_what_always_would_allow():
    assert PLAIN.prompt == "Allow it? [y/N] "
    assert ALL.prompt == (
        "Session or always would allow: every `make …` command, whatever it runs "
        "(still asked: what cannot be undone, secrets, other folders)\n"
        "Allow it? [y]es once, this [s]ession, [a]lways here, [N]o: "
    )
    assert "\x1b" not in Question("shell", "", "", remember=("shell:\x1b[2J:*",), choices=("once", "session")).prompt


def test_grants_hold_what_can_be_read_once_and_can_be_taken_back():
    grants = Grants()
    grants.allow(["shell:make:*", "shell:make:*", "no such shape!"])
    assert grants.entries == ["shell:make:*"]
    assert grants.revoke("shell:make:*")
    assert not grants.revoke("shell:make:*")


@pytest.mark.asyncio
async def test_the_first_that_answers_decides():
    asked = []

    def answering(name, answer):
        async def ask(question):
            asked.append(name)
            return answer

        return ask

    ask = first_answer(answering("a", None), answering("b", Answer("deny", "no")), answering("c", True))
    assert await ask(PLAIN) == Answer("deny", "no")
    assert asked == ["a", "b"]
    assert await first_answer()(PLAIN) is None
