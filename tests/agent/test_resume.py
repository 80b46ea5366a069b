"""After an abnormal end a run goes on by itself, but never for ever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.agent.resume import ResumePolicy, Resumes, stop_notice
from zidane_lab.errors import ConfigurationError, LengthResumeExhaustedError
from zidane_lab.turns import TextBlock, ThinkingBlock, ToolCallBlock, Turn

TEXT, BLANK, THINKING = TextBlock("half an ans"), TextBlock(" \n"), ThinkingBlock("hm")
CALL, CUT_CALL = ToolCallBlock("c", "echo", {}), ToolCallBlock("c", "echo", {}, raw='{"a": ')


def turn(*blocks) -> Turn:
    return Turn("assistant", blocks)


def test_an_answer_cut_at_the_limit_is_continued_with_the_literal_words():
    injection = Resumes().after(turn(TEXT), "length")
    assert (injection.reason, injection.text) == ("length-resume", "Please continue.")


def test_text_that_never_ends_ends_the_run_cleanly():
    resumes = Resumes(ResumePolicy(most_length_resumes=2))
    said = [resumes.after(turn(TEXT), "length") for _ in range(4)]
    assert [each is not None for each in said] == [True, True, False, False]


@pytest.mark.parametrize("blocks", [(), (BLANK,), (THINKING,), (THINKING, BLANK)])
def test_answers_with_nothing_to_show_fail_the_run(blocks):
    resumes = Resumes()
    for _ in range(2):
        assert resumes.after(turn(*blocks), "length").reason == "length-resume"
    with pytest.raises(LengthResumeExhaustedError) as caught:
        resumes.after(turn(*blocks), "length")
    assert (caught.value.code, caught.value.consecutive_empty_turns) == ("length_resume_exhausted", 3)


@pytest.mark.parametrize(
    ("blocks", "finish"),
    [
        ((TEXT,), "length"),
        ((CALL,), "tool-calls"),
        ((CALL,), "length"),
        ((CUT_CALL,), "length"),
        ((TEXT,), "stop"),
        ((TEXT,), "pause"),
    ],
)
def test_whatever_is_shown_or_called_ends_a_row_of_empty_answers(blocks, finish):
    resumes = Resumes(ResumePolicy(most_empty=2))
    for _ in range(5):
        resumes.after(turn(THINKING), "length")
        resumes.after(turn(*blocks), finish)


@pytest.mark.parametrize("calls", [(CALL,), (TEXT, CALL), (CUT_CALL,), (CALL, CUT_CALL)])
@pytest.mark.parametrize("finish", ["length", "pause", "refusal", "tool-calls", "other"])
def test_calls_are_answered_by_their_results_and_by_nothing_else(calls, finish):
    assert Resumes().after(turn(*calls), finish) is None


@pytest.mark.parametrize("finish", ["stop", "other", "tool-calls"])
def test_a_normal_end_is_one(finish):
    assert Resumes().after(turn(TEXT), finish) is None


def test_a_refusal_is_put_again_once_in_a_row():
    resumes = Resumes()
    first = resumes.after(turn(), "refusal")
    assert first.reason == "refusal-retry"
    assert resumes.after(turn(TEXT), "refusal") is None
    resumes.after(turn(CALL), "tool-calls")  # it got somewhere
    assert resumes.after(turn(), "refusal") == first


def test_a_pause_is_continued_up_to_a_bound():
    resumes = Resumes(ResumePolicy(pause_resumes=2))
    said = [resumes.after(turn(TEXT), "pause") for _ in range(3)]
    assert [(each.reason, each.text) if each else None for each in said] == [("pause-resume", "Continue.")] * 2 + [None]


@pytest.mark.parametrize("blocks", [(TEXT,), (THINKING,)])
def test_continuing_can_be_switched_off(blocks):
    resumes = Resumes(ResumePolicy(on_length=False, refusal_retries=0, pause_resumes=0))
    assert [resumes.after(turn(*blocks), each) for each in ("length", "refusal", "pause") * 5] == [None] * 15


@given(st.lists(st.tuples(st.sampled_from([(), (TEXT,)]), st.sampled_from(["length", "refusal", "pause"]))))
def test_without_progress_every_run_comes_to_an_end(steps):
    policy = ResumePolicy(most_length_resumes=3, most_empty=3, refusal_retries=1, pause_resumes=2)
    resumes = Resumes(policy)
    for said, (blocks, finish) in enumerate(steps, 1):
        try:
            if resumes.after(turn(*blocks), finish) is None:
                return
        except LengthResumeExhaustedError:
            return
        # Each refusal, pause and text there is room for, and at most two empty answers after each of them.
        assert said <= (1 + 2 + 3 + 1) * 3


@pytest.mark.parametrize("name", ["most_length_resumes", "most_empty", "refusal_retries", "pause_resumes"])
def test_numbers_that_are_none_are_refused(name):
    with pytest.raises(ConfigurationError, match=name):
        ResumePolicy(**{name: -1})


@pytest.mark.parametrize("finish", ["length", "refusal", "pause", "other"])
def test_only_an_abnormal_end_of_a_run_that_did_not_fail_is_noticed(finish):
    notice = stop_notice("completed", finish)
    assert notice.finish == finish
    assert notice.title
    assert notice.text
    assert stop_notice("aborted", finish) is stop_notice("error", finish) is None


@pytest.mark.parametrize("finish", ["stop", "tool-calls", None])
def test_a_normal_end_is_not_noticed(finish):
    assert stop_notice("completed", finish) is None
