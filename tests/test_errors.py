"""One tree; every message ends with what to do next."""

from __future__ import annotations

import inspect

import pytest

from zidane_lab import errors
from zidane_lab.errors import (
    AuthError,
    BadRequestError,
    BudgetExceededError,
    ContextExceededError,
    NetworkError,
    OverloadedError,
    ProviderError,
    QuotaError,
    RateLimitError,
    StreamInterruptedError,
    ZidaneError,
)

TREE = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, ZidaneError)]


def make(cls: type[ZidaneError]) -> ZidaneError:
    return cls("turns", 5, 5) if cls is BudgetExceededError else cls("It broke.")


@pytest.mark.parametrize("cls", TREE, ids=lambda cls: cls.__name__)
def test_each_error_says_what_happened_and_what_to_do(cls):
    error = make(cls)
    assert str(error) == f"{error.message} {error.hint}"
    assert len(error.hint) > 10
    assert error.hint.rstrip("`")[-1] in ".?"
    assert error.code
    assert cls.__doc__


def test_codes_tell_the_causes_apart():
    codes = [cls.code for cls in TREE]
    assert len(set(codes)) == len(codes)


def test_all_are_exported():
    assert {cls.__name__ for cls in TREE} == set(errors.__all__)


def test_a_hint_can_be_given_or_left_out():
    assert str(ZidaneError("A.", hint="B.")) == "A. B."
    assert str(ZidaneError("A.", hint="")) == "A."


def test_provider_errors_keep_the_facts():
    error = RateLimitError("Slow down.", provider="anthropic", status=429, retry_after=3.5)
    assert (error.provider, error.status, error.retry_after, error.retryable) == ("anthropic", 429, 3.5, True)
    assert isinstance(error, ProviderError)


def test_budgets_are_worded_in_their_own_unit():
    assert "5 of 5 turns" in str(BudgetExceededError("turns", 5, 5))
    assert "$0.0123 of $0.0100" in str(BudgetExceededError("cost", 0.01, 0.0123))


def test_a_hint_can_grow_and_the_message_stays():
    error = RateLimitError("Slow down.", hint="Wait.")
    error.add_hint("It was tried 4 times.")
    assert (error.message, error.hint) == ("Slow down.", "Wait. It was tried 4 times.")
    assert str(error) == "Slow down. Wait. It was tried 4 times."


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (RateLimitError("x"), True),
        (RateLimitError("x", retry_after=60), True),
        (RateLimitError("x", retry_after=60.1), False),
        (OverloadedError("x", final=True), False),
        (NetworkError("x"), True),
        (StreamInterruptedError("x"), True),
        (QuotaError("x"), False),
        (QuotaError("x", retry_after=30), True),
        (QuotaError("x", retry_after=30, final=True), False),
        (QuotaError("x", retry_after=600), False),
        (AuthError("x", retry_after=1), False),
        (BadRequestError("x"), False),
        (ContextExceededError("x"), False),
        (ProviderError("x"), False),
    ],
)
def test_which_failures_pass_within_a_minute(error, retryable):
    assert error.retryable is retryable
