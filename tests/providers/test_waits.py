"""How long services ask to wait, in every way they have of saying it."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.providers.waits import (
    LONGEST_WAIT,
    announced_wait,
    human_seconds,
    rate_limit_reset_from_json,
    retry_after,
)


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
        ("Please wait for another 30 seconds.", 30),
        ("or try again in 5 days 22 hours 11 minutes.", 5 * 86400 + 22 * 3600 + 11 * 60),
        ("Your quota will reset after 18h22m14s.", 18 * 3600 + 22 * 60 + 14),
        ("Limit 6000, Used 5034. Please try again in about 4.77s. Need more?", 4.77),
        ("The limit will reset in 1 week", 604_800),
        ("resets in 9" + "9" * 400 + "d", None),
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
EPOCH = int(NOW.timestamp())


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
        ({"retry-after": str(LONGEST_WAIT + 1)}, "", None),
        ({}, "try again in 4s", 4),
        ({}, "", None),
    ],
)
def test_where_a_wait_is_found(headers, text, seconds):
    assert retry_after(headers, text, now=NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        # Anthropic: dates, of which only those of windows that are used up count, and the latest of them.
        (
            {
                "anthropic-ratelimit-requests-remaining": "4",
                "anthropic-ratelimit-requests-reset": "2026-11-30T12:30:00Z",
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2026-11-30T12:00:20Z",
                "anthropic-ratelimit-output-tokens-remaining": "0",
                "anthropic-ratelimit-output-tokens-reset": "2026-11-30T12:00:40Z",
            },
            40,
        ),
        # Anthropic's subscriptions: seconds since 1970 and a status.
        (
            {
                "anthropic-ratelimit-unified-status": "rejected",
                "anthropic-ratelimit-unified-reset": str(EPOCH + 8000),
                "anthropic-ratelimit-unified-5h-status": "rejected",
                "anthropic-ratelimit-unified-5h-reset": str(EPOCH + 8000),
                "anthropic-ratelimit-unified-7d-status": "allowed",
                "anthropic-ratelimit-unified-7d-reset": str(EPOCH + 500_000),
            },
            8000,
        ),
        # OpenAI, Groq: durations.
        (
            {
                "x-ratelimit-remaining-requests": "14",
                "x-ratelimit-reset-requests": "1h2m",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "6m0s",
            },
            360,
        ),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "12ms"}, 0.012),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7.66s"}, 7.66),
        # Cerebras: seconds, with the window's length in the name.
        ({"x-ratelimit-remaining-tokens-minute": "0", "x-ratelimit-reset-tokens-minute": "11.38"}, 11.38),
        # OpenRouter: milliseconds since 1970. Others: seconds since 1970, seconds, milliseconds.
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str((EPOCH + 90) * 1000)}, 90),
        ({"x-ratelimit-reset": str(EPOCH + 5)}, 5),
        ({"x-ratelimit-reset": "30"}, 30),
        ({"x-ratelimit-reset-ms": "1500"}, 1.5),
        ({"x-ratelimit-reset-after": "3.5"}, 3.5),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "50"}, 50),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset": "30"}, None),
        # A stated wait goes before.
        ({"retry-after": "2", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}, 2),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "whenever"}, None),
        ({"x-ratelimit-reset": str(EPOCH - 5)}, 0),
        ({"x-ratelimit-reset": "9" * 30}, None),
    ],
)
def test_the_windows_of_every_family_of_headers(headers, seconds):
    assert retry_after(headers, now=NOW) == (pytest.approx(seconds, abs=0.001) if seconds is not None else None)


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"error": {"type": "usage_limit_reached", "resets_at": EPOCH + 13_872, "resets_in_seconds": 13_872}}, 13_872),
        ({"error": {"details": [{"@type": "…RetryInfo", "retryDelay": "34.074824224s"}]}}, 34.074824224),
        ({"error": {"details": [{"metadata": {"quotaResetDelay": "18h22m14s"}}]}}, 66_134),
        ({"error": {"retry_after": 2.5}}, 2.5),
        ({"error": {"retryAfterMs": 2500}}, 2.5),
        ({"error": {"reset_at": "2026-11-30T12:10:00.000Z"}}, 600),
        ({"error": {"metadata": {"headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "15"}}}}, 15),
        ([{"error": {"retry_after": "7"}}], 7),
        ({"retry_after": True}, None),
        ({"retry_after": "soon"}, None),
        ({"retry_after": {"deeper": {"retry_after": 3}}}, 3),
        ({"message": "nothing here"}, None),
        ("text", None),
        (None, None),
    ],
)
def test_a_wait_in_a_body(body, seconds):
    assert retry_after({}, body=body, now=NOW) == (pytest.approx(seconds) if seconds is not None else None)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["retry_after", "resets_at", "headers", "x-ratelimit-reset", "x"]), inner)
    ),
    max_leaves=8,
)


@given(JSON, st.dictionaries(st.sampled_from(["retry-after", "x-ratelimit-reset", "date"]), st.text(max_size=12)))
def test_whatever_comes_is_no_wait_or_a_plausible_one(body, headers):
    wait = retry_after(headers, body=body, now=NOW)
    assert wait is None or 0 <= wait <= LONGEST_WAIT


@pytest.mark.parametrize(
    ("text", "resource", "moment"),
    [
        (json.dumps({"resources": {"graphql": {"reset": 1_796_000_000}}}), "graphql", 1_796_000_000.0),
        (json.dumps({"resources": {"core": {"reset": 5}, "graphql": {"reset": 6}}}), "core", 5.0),
        (json.dumps({"resources": {"core": {"reset": 5}}}), "graphql", None),
        (json.dumps({"resources": {"graphql": {"reset": "soon"}}}), "graphql", None),
        ("[]", "graphql", None),
        ("not json", "graphql", None),
    ],
)
def test_when_a_quota_of_github_resets(text, resource, moment):
    assert rate_limit_reset_from_json(text, resource) == moment


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
