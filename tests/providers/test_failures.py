"""What services say when they refuse, and what it means."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zidane_lab.errors import (
    AuthError,
    BadRequestError,
    ContextExceededError,
    NetworkError,
    OverloadedError,
    ProviderError,
    QuotaError,
    RateLimitError,
)
from zidane_lab.providers.failures import announced_wait, classify, human_seconds, retry_after


def openai(message, kind="invalid_request_error", code=None):
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def anthropic(kind, message):
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def kind(status, body, headers=None):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return type(classify(provider="p", status=status, headers=headers, body=raw))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, anthropic("invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum")),
        (
            400,
            anthropic(
                "invalid_request_error",
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
            ),
        ),
        (413, anthropic("request_too_large", "Request exceeds the maximum size")),
        (413, b"<html><head><title>413 Request Entity Too Large</title></head></html>"),
        (
            400,
            openai(
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens.",
                code="context_length_exceeded",
            ),
        ),
        (
            400,
            openai(
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
                code="context_length_exceeded",
            ),
        ),
        (
            429,
            openai(
                "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41000. The input or output tokens must be reduced in order to run successfully.",
                "tokens",
                "rate_limit_exceeded",
            ),
        ),
        (
            400,
            {
                "object": "error",
                "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4900 in the messages, 100 in the completion).",
                "type": "BadRequestError",
                "code": 400,
            },
        ),
        (
            400,
            {
                "object": "error",
                "message": "The prompt (total length 9000) is too long to fit into the model; exceeds max_model_len",
                "code": 400,
            },
        ),
        (
            400,
            {
                "error": {
                    "code": 400,
                    "message": "the request exceeds the available context size, try increasing it",
                    "type": "exceed_context_size_error",
                    "n_prompt_tokens": 14429,
                    "n_ctx": 8192,
                }
            },
        ),
        (
            500,
            {
                "error": {
                    "code": 500,
                    "message": "the request exceeds the available context size. try increasing the context size or enable context shift",
                    "type": "exceed_context_size_error",
                }
            },
        ),
        (400, {"error": "the input length exceeds the context length"}),
        (
            400,
            [
                {
                    "error": {
                        "code": 400,
                        "message": "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
                        "status": "INVALID_ARGUMENT",
                    }
                }
            ],
        ),
        (
            400,
            {
                "error": {
                    "code": 400,
                    "message": "Provider returned error",
                    "metadata": {
                        "raw": json.dumps(
                            openai(
                                "This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens."
                            )
                        )
                    },
                }
            },
        ),
        (400, openai("This model's maximum prompt length is 131072 but the request contains 537812 tokens.")),
        (400, openai("Please reduce the length of the messages or completion.", code="context_length_exceeded")),
    ],
)
def test_a_conversation_that_no_longer_fits(status, body):
    assert kind(status, body) is ContextExceededError


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, anthropic("authentication_error", "invalid x-api-key"), AuthError),
        (
            403,
            anthropic("permission_error", "Your API key does not have permission to use the specified resource."),
            AuthError,
        ),
        (
            401,
            openai("Incorrect API key provided: sk-abc. You can find your API key at …", code="invalid_api_key"),
            AuthError,
        ),
        (
            429,
            anthropic("rate_limit_error", "Number of request tokens has exceeded your per-minute rate limit"),
            RateLimitError,
        ),
        (
            429,
            openai(
                "Rate limit reached for gpt-4o in organization org-x on requests per min (RPM): Limit 3.",
                "requests",
                "rate_limit_exceeded",
            ),
            RateLimitError,
        ),
        (
            429,
            openai(
                "You exceeded your current quota, please check your plan and billing details.",
                "insufficient_quota",
                "insufficient_quota",
            ),
            QuotaError,
        ),
        (
            429,
            [
                {
                    "error": {
                        "code": 429,
                        "message": "You exceeded your current quota, please check your plan and billing details. Please retry in 18.3s.",
                        "status": "RESOURCE_EXHAUSTED",
                    }
                }
            ],
            RateLimitError,
        ),
        (
            400,
            anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
            QuotaError,
        ),
        (
            402,
            {"error": {"code": 402, "message": "Insufficient credits. Add more using https://openrouter.ai/credits"}},
            QuotaError,
        ),
        (403, openai("insufficient_quota", code="insufficient_quota"), QuotaError),
        (529, anthropic("overloaded_error", "Overloaded"), OverloadedError),
        (503, b"Service Unavailable", OverloadedError),
        (500, anthropic("api_error", "Internal server error"), OverloadedError),
        (502, b"<html><title>502 Bad Gateway</title></html>", OverloadedError),
        (504, b"", NetworkError),
        (408, b"", NetworkError),
        (
            404,
            openai("The model `gpt-9` does not exist or you do not have access to it.", code="model_not_found"),
            BadRequestError,
        ),
        (404, {"error": "model 'llama9' not found"}, BadRequestError),
        (400, anthropic("invalid_request_error", "messages: roles must alternate"), BadRequestError),
        (422, {"detail": [{"loc": ["body", "messages"], "msg": "Field required", "type": "missing"}]}, BadRequestError),
        (301, b"", BadRequestError),
        (418, b"I'm a teapot", BadRequestError),
    ],
)
def test_other_refusals(status, body, expected):
    assert kind(status, body) is expected


@pytest.mark.parametrize(
    ("body", "expected", "status"),
    [
        (anthropic("overloaded_error", "Overloaded"), OverloadedError, 529),
        (anthropic("rate_limit_error", "slow down"), RateLimitError, 429),
        (anthropic("api_error", "Internal server error"), OverloadedError, 500),
        (anthropic("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), ContextExceededError, 400),
        ({"error": {"code": 502, "message": "Provider disconnected"}, "choices": []}, OverloadedError, 502),
        ({"error": {"code": "server_error", "message": "oops"}}, OverloadedError, 500),
        ({"error": {"message": "Rate limit exceeded"}}, RateLimitError, None),
        ({"error": {"message": "The engine is at capacity"}}, OverloadedError, None),
        ({"object": "error", "message": "CUDA out of memory", "code": 500}, OverloadedError, 500),
        ({"error": {"message": "something odd"}}, ProviderError, None),
        ({"error": "something odd"}, ProviderError, None),
    ],
)
def test_an_error_inside_a_stream_has_no_status_but_a_type(body, expected, status):
    error = classify(provider="p", status=None, body=body)
    assert type(error) is expected
    assert error.status == status


def test_the_message_is_for_people():
    error = classify(
        provider="anthropic", status=401, body=json.dumps(anthropic("authentication_error", "invalid x-api-key"))
    )
    assert error.message == "anthropic: the key was refused (401): invalid x-api-key"
    assert "Check the key" in error.hint


def test_the_wait_is_in_the_hint():
    error = classify(provider="p", status=429, headers={"Retry-After": "150"}, body=b"")
    assert (error.retry_after, error.hint) == (150.0, "Wait 2 min 30 s and try again.")


@pytest.mark.parametrize("depth", [5, 500, 5000])
def test_a_body_nested_without_end_is_survived(depth):
    body = '{"error": ' * depth + '{"message": "deep"}' + "}" * depth
    assert type(classify(provider="p", status=400, body=body)) is BadRequestError


def test_a_wait_among_the_details_of_an_error():
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "18s"}, "junk", {"retryDelay": 3}]
    error = classify(provider="p", status=429, body={"error": {"message": "Too fast.", "details": details}})
    assert (error.retry_after, error.hint) == (18.0, "Wait 18 s and try again.")


def test_a_key_the_service_quotes_is_not_repeated():
    error = classify(
        provider="p",
        status=401,
        body=b'{"error": {"message": "Bad key sk-secret-123!"}}',
        secrets=("", "sk-secret-123"),
    )
    assert "sk-secret" not in str(error)
    assert "Bad key [key]!" in error.message


def test_headers_never_reach_the_message():
    error = classify(provider="p", status=500, headers={"set-cookie": "session=abc"}, body=b"")
    assert "session" not in str(error)


def test_a_web_page_is_not_quoted_but_named():
    error = classify(provider="p", status=200, body=b"<!DOCTYPE html><title>Sign in</title><body>" + b"x" * 9000)
    assert error.message == "p: this is no model's answer (200): a web page came back instead of an answer (Sign in)"


def test_a_long_message_is_shortened_visibly():
    error = classify(provider="p", status=400, body=json.dumps({"error": "x" * 5000}))
    assert error.message.endswith("x…")
    assert len(error.message) < 700


@example(None, b'{"error": {"code": "\\u00b9"}}')
@given(
    st.one_of(st.none(), st.integers(300, 599)),
    st.binary(max_size=40)
    | st.text(max_size=40).map(lambda text: json.dumps({"error": {"message": text, "code": text}}).encode()),
)
def test_whatever_comes_gives_an_error_with_a_sentence(status, body):
    error = classify(provider="p", status=status, body=body)
    assert isinstance(error, ProviderError)
    assert error.message.startswith("p: ")
    assert error.hint


# --- waiting times --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 2h30m14s.", 2 * 3600 + 30 * 60 + 14),
        ("Please try again in 6m0s.", 360),
        ("Please try again in 1.242s. Visit …", 1.242),
        ("Please try again in 28ms.", 0.028),
        ("try again in 5 seconds", 5),
        ("Your limit resets in 3 hours and 5 minutes", 3 * 3600 + 300),
        ("resets in 1 day, 2 hours", 86400 + 7200),
        ("Retry after 30 seconds", 30),
        ("Please retry in 18.3s.", 18.3),
        ("please wait 2 min", 120),
        ("try again later", None),
        ("try again in a moment", None),
        ("resets on Monday", None),
        ("limit 500 requests, used 480", None),
        ("the job took 20 s", None),
    ],
)
def test_announced_waits(text, seconds):
    assert announced_wait(text) == (pytest.approx(seconds) if seconds is not None else None)


@given(st.integers(0, 9), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_all_units_of_a_wait_are_summed(days, hours, minutes, seconds):
    text = f"try again in {days}d{hours}h{minutes}m{seconds}s"
    assert announced_wait(text) == days * 86400 + hours * 3600 + minutes * 60 + seconds


NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "text", "seconds"),
    [
        ({"retry-after": "7"}, "", 7),
        ({"Retry-After": "0.5"}, "", 0.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, "", 1.5),
        ({"retry-after": "Mon, 30 Nov 2026 12:01:30 GMT"}, "", 90),
        ({"retry-after": "Mon, 30 Nov 2026 12:01:30 GMT", "date": "Mon, 30 Nov 2026 12:01:00 GMT"}, "", 30),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, "", 0),
        ({"retry-after": "-3"}, "", None),
        ({"retry-after": "soon"}, "try again in 4s", 4),
        ({"retry-after": "nan"}, "", None),
        ({}, "try again in 4s", 4),
        ({}, "", None),
    ],
)
def test_where_a_wait_is_found(headers, text, seconds):
    assert retry_after(headers, text, now=NOW) == seconds


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.02, "1 s"),
        (59, "59 s"),
        (60, "1 min"),
        (150, "2 min 30 s"),
        (3900, "1 h 5 min"),
        (86400, "1 d"),
        (273_600, "3 d 4 h"),
    ],
)
def test_waits_for_people(seconds, words):
    assert human_seconds(seconds) == words
