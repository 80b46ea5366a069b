"""What services say when they refuse, and what it means."""

from __future__ import annotations

import json

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
from zidane_lab.providers.failures import classify


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
    assert all(word in error.hint for word in ("ANTHROPIC_API_KEY", "%zidane /doctor", "--model offline"))


NOW = 1_796_000_000.0


@pytest.mark.parametrize(
    ("status", "headers", "body", "message"),
    [
        (429, {"retry-after": "6300"}, b"", "Claude rate limit reached. Resets in 1 h 45 min."),
        (429, {}, anthropic("rate_limit_error", "too fast"), "Claude rate limit reached."),
        (402, {}, b"", "Claude quota reached."),
        (529, {}, anthropic("overloaded_error", "Overloaded"), "Claude is overloaded."),
        (529, {"retry-after": "30"}, b"", "Claude is overloaded. Try again in 30 s."),
        (500, {}, anthropic("api_error", "Overloaded"), "Claude is overloaded."),
        (503, {}, b"We are at capacity", "Claude is overloaded."),
        (None, {}, anthropic("overloaded_error", "Overloaded"), "Claude is overloaded."),
        (503, {}, b"Loading model", "anthropic: the service is not available for the moment (503): Loading model"),
        (500, {}, b"oops", "anthropic: the service failed (500): oops"),
    ],
)
def test_a_limit_is_one_sentence_and_a_failure_is_none(status, headers, body, message):
    raw = body if isinstance(body, bytes) or status is None else json.dumps(body).encode()
    error = classify(provider="anthropic", status=status, headers=headers, body=raw, now=NOW)
    assert error.message == message
    assert error.product == "Claude"


def test_the_services_words_about_a_limit_are_in_the_hint():
    body = anthropic("rate_limit_error", "30,000 input tokens per minute")
    error = classify(provider="anthropic", status=429, headers={"retry-after": "9"}, body=body, now=NOW)
    assert "input tokens" not in error.message
    assert error.hint.endswith('The service said: "30,000 input tokens per minute"')
    assert (error.retry_after, error.resets_at, error.native_code) == (9.0, NOW + 9, "rate_limit_error")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (openai("m", code="context_length_exceeded"), "context_length_exceeded"),
        (openai("m", kind="tokens"), "tokens"),
        ({"error": {"message": "m", "code": 429, "status": "RESOURCE_EXHAUSTED"}}, "RESOURCE_EXHAUSTED"),
        ({"error": {"message": "m", "code": "1261"}}, "1261"),
        ({"error": {"message": "m", "code": 502}}, None),
        (b"words", None),
    ],
)
def test_the_services_own_code_is_kept(body, code):
    raw = body if isinstance(body, bytes) else json.dumps(body)
    assert classify(provider="p", status=500, body=raw).native_code == code


@pytest.mark.parametrize(
    ("status", "headers", "body", "retryable"),
    [
        (429, {}, b"", True),
        (429, {"retry-after": "60"}, b"", True),
        (429, {"retry-after": "61"}, b"", False),
        (529, {"retry-after": "3600"}, b"", False),
        (500, {"x-should-retry": "false"}, b"", False),
        (500, {"X-Should-Retry": "true"}, b"", True),
        (400, {"x-should-retry": "true"}, b"", False),
        (402, {}, b"", False),
        (402, {"retry-after": "20"}, b"", True),
        (402, {"retry-after": "200"}, b"", False),
        (429, {}, openai("You exceeded your current quota.", code="insufficient_quota"), False),
        (429, {}, {"error": {"message": "You exceeded your current quota. Please retry in 18.3s."}}, True),
        (429, {}, {"error": {"message": "You exceeded your current quota. Please retry in 18h22m14s."}}, False),
        (401, {"retry-after": "1"}, b"", False),
        (413, {"retry-after": "1"}, b"", False),
        (400, {}, anthropic("invalid_request_error", "prompt is too long: 2 tokens > 1 maximum"), False),
        (502, {}, b"<html><title>502 Bad Gateway</title></html>", True),
        (408, {}, b"", True),
    ],
)
def test_what_may_be_asked_again(status, headers, body, retryable):
    raw = body if isinstance(body, bytes) else json.dumps(body)
    assert classify(provider="p", status=status, headers=headers, body=raw).retryable is retryable


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"upstream connect error or disconnect/reset before headers", NetworkError),
        (b"upstream request timeout", NetworkError),
        (b"Too Many Requests", RateLimitError),
        (b"The server is overloaded", OverloadedError),
        (b"insufficient credits", QuotaError),
        (b"prompt is too long: 9 tokens > 8 maximum", ContextExceededError),
        (b"Welcome to nginx!", BadRequestError),
        (b'{"error": {"type": "authentication_error", "message": "bad key"}}', AuthError),
    ],
)
def test_an_error_behind_a_status_that_says_all_is_well(body, expected):
    assert kind(200, body) is expected


@pytest.mark.parametrize("depth", [5, 500, 5000])
def test_a_body_nested_without_end_is_survived(depth):
    body = '{"error": ' * depth + '{"message": "deep"}' + "}" * depth
    assert type(classify(provider="p", status=400, body=body)) is BadRequestError


def test_a_wait_among_the_details_of_an_error():
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "18s"}, "junk", {"retryDelay": 3}]
    error = classify(provider="p", status=429, body={"error": {"message": "Too fast.", "details": details}})
    assert error.retry_after == 18.0
    assert error.message == "p rate limit reached. Resets in 18 s."


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
    assert error.message.startswith(("p: ", "p rate limit", "p quota", "p is overloaded"))
    assert error.hint


@pytest.mark.parametrize(
    ("wait", "expected", "sentence"),
    [
        ("18.3s", RateLimitError, "Gemini rate limit reached. Resets in 19 s."),
        ("18h22m14s", QuotaError, "Gemini quota reached. Resets in 18 h 22 min."),
    ],
)
def test_a_quota_of_a_minute_is_a_rate_limit_and_one_of_a_day_is_a_quota(wait, expected, sentence):
    body = [{"error": {"code": 429, "message": f"You exceeded your current quota. Please retry in {wait}."}}]
    url = "https://generativelanguage.googleapis.com/v1beta/openai"
    error = classify(provider="openai", status=429, body=json.dumps(body), base_url=url, now=NOW)
    assert type(error) is expected
    assert error.message == sentence
