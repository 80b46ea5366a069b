"""Help with keys."""

from __future__ import annotations

import pytest

from zidane_lab.errors import AuthError, BadRequestError, ProviderError, RateLimitError
from zidane_lab.providers.failures import classify
from zidane_lab.providers.signin import AuthFailure, auth_failure_of, sign_in_help


def behind(error):
    outer = RuntimeError("the subagent failed")
    outer.__cause__ = RateLimitError("in between")
    outer.__cause__.__cause__ = error
    return outer


@pytest.mark.parametrize("wrap", [lambda error: error, behind])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (AuthError("No key.", provider="p", hint="Set it."), "missing"),
        (AuthError("Refused.", provider="p", status=401, hint="Set it."), "refused"),
        (AuthError("Not this model.", provider="p", status=403, hint="Set it."), "forbidden"),
    ],
)
def test_a_failure_to_sign_in_is_found(wrap, error, kind):
    assert auth_failure_of(wrap(error)) == AuthFailure(kind, "p", error.message, "Set it.", error.status)


def test_a_401_of_another_kind_is_one_too():
    failure = auth_failure_of(behind(BadRequestError("What?", provider="openai", status=401)))
    assert (failure.kind, failure.provider) == ("refused", "openai")
    assert "OPENAI_API_KEY" in failure.hint


def test_an_error_of_signing_in_goes_before_a_bare_401():
    outer = ProviderError("outer", status=401)
    outer.__cause__ = AuthError("inner", status=403)
    assert auth_failure_of(outer).message == "inner"


@pytest.mark.parametrize("error", [None, ValueError("401"), RateLimitError("m", status=429), ProviderError("m")])
def test_everything_else_is_none(error):
    assert auth_failure_of(error) is None


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize(
    ("provider", "words"), [("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY"), ("acme", "the key")]
)
def test_the_help_names_the_variable_the_doctor_and_the_way_without(provider, words, missing):
    text = sign_in_help(provider, missing=missing)
    assert all(word in text for word in (words, "`%zidane /doctor`", "`--model offline`"))


def test_a_refused_key_comes_with_the_help():
    error = classify(provider="openai", status=401, body=b'{"error": {"message": "Incorrect API key"}}')
    assert error.hint == sign_in_help("openai")
