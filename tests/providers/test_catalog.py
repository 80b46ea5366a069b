"""What is known of models, and what is honestly not."""

from __future__ import annotations

import pytest

from zidane_lab.errors import ConfigurationError
from zidane_lab.providers.catalog import ModelInfo, claude_version, cost_of, model_info
from zidane_lab.turns import Usage

USAGE = Usage(input=1_000_000, output=1_000_000)
NOTHING = {}


@pytest.mark.parametrize(
    ("provider", "model", "window", "max_output"),
    [
        ("anthropic", "claude-sonnet-4-5-20250929", 200_000, 64_000),
        ("anthropic", "claude-sonnet-5-5", 1_000_000, 128_000),
        ("anthropic", "claude-opus-4-1", 200_000, 32_000),
        ("anthropic", "claude-3-5-haiku-latest", 200_000, 8192),
        ("openai", "gpt-4o", 128_000, 16_384),
        ("openai", "gpt-5", 272_000, 128_000),
        ("openai", "gpt-6-sol", 922_000, 128_000),
        ("openai", "o3", 200_000, 100_000),
    ],
)
def test_windows_and_limits(provider, model, window, max_output):
    info = model_info(provider, model, env=NOTHING)
    assert (info.window, info.max_output) == (window, max_output)
    assert info.effective_window == window - 20_000
    assert info.input_price > 0
    assert info.output_price > info.input_price


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", "llama3.1"), ("anthropic", "my-own"), ("scripted", "a/b.json"), ("offline", "x"), ("", "")],
)
def test_of_a_model_nobody_knows_nothing_is_claimed(provider, model):
    assert model_info(provider, model, env=NOTHING) == ModelInfo()
    assert ModelInfo().effective_window is None
    assert ModelInfo().default_max_tokens is None


def test_a_known_model_elsewhere_is_unknown_unless_the_host_is_known():
    assert model_info("openai", "gpt-4o", base_url="http://localhost:8000/v1", env=NOTHING).window is None
    assert model_info(
        "openai", "anthropic/claude-sonnet-4.5", base_url="https://openrouter.ai/api/v1", env=NOTHING
    ).window
    assert model_info("openai", "openai/gpt-5", base_url="https://openrouter.ai/api/v1", env=NOTHING).window == 272_000


def test_the_environment_gives_the_window_of_unknown_models_only():
    env = {"ZIDANE_CONTEXT_WINDOW": "32_768"}
    assert model_info("openai", "llama3.1", env=env).window == 32_768
    assert model_info("openai", "gpt-4o", env=env).window == 128_000


def test_the_environment_is_the_process_by_default(monkeypatch):
    monkeypatch.setenv("ZIDANE_CONTEXT_WINDOW", "4096")
    assert model_info("scripted", "x").effective_window == 819


@pytest.mark.parametrize("text", ["many", "-5", "0", "1e5", "12.5", "٣"])
def test_a_window_that_is_no_number_is_refused(text):
    with pytest.raises(ConfigurationError, match="not a number of tokens"):
        model_info("openai", "llama3.1", env={"ZIDANE_CONTEXT_WINDOW": text})


@pytest.mark.parametrize(
    ("info", "limit"),
    [
        (ModelInfo(1_000_000, 128_000), 32_000),
        (ModelInfo(200_000, 64_000), 20_000),
        (ModelInfo(200_000, 8192), 8192),
        (ModelInfo(None, 64_000), 20_000),
        (ModelInfo(200_000, None), None),
    ],
)
def test_an_answer_fits_into_what_the_window_keeps_free(info, limit):
    assert info.default_max_tokens == limit


# --- cost -----------------------------------------------------------------------------------------


def test_costs_at_the_vendors_own_endpoint():
    assert cost_of("anthropic", "claude-sonnet-4-5", Usage(1000, 1000)) == pytest.approx(0.018)
    assert cost_of(
        "anthropic", "claude-sonnet-4-5", Usage(1000, 1000), base_url="https://api.anthropic.com"
    ) == pytest.approx(0.018)
    assert cost_of("openai", "gpt-4o", Usage(1000, 1000)) == pytest.approx(0.0125)


def test_cached_tokens_have_their_own_price():
    cost = cost_of("anthropic", "claude-sonnet-4-5", Usage(100, 10, cache_read=10_000, cache_creation=1000))
    assert cost == pytest.approx((100 * 3 + 10 * 15 + 10_000 * 0.3 + 1000 * 3.75) / 1e6)


def test_tokens_cached_for_an_hour_cost_twice_the_input():
    written = Usage(cache_creation=1000)
    costs = [cost_of("anthropic", "claude-sonnet-4-5", written, hour_writes=hours) for hours in (0, 400, 1000, 5000)]
    assert costs == pytest.approx([0.00375, 0.00465, 0.006, 0.006])


def test_large_prompts_are_priced_by_their_tier():
    small, large = (cost_of("anthropic", "claude-sonnet-4-5", Usage(size, 1)) / size for size in (100_000, 300_000))
    assert large > 1.9 * small


@pytest.mark.parametrize(
    ("provider", "model", "base_url"),
    [
        ("anthropic", "claude-sonnet-4-5", "http://localhost:8080"),
        ("anthropic", "claude-sonnet-4-5", "https://proxy.example.com"),
        ("openai", "gpt-4o", "http://127.0.0.1:8000/v1"),
        ("openai", "llama3.1", None),
        ("openai", "moderation", None),
        ("anthropic", "claude-nova-7", None),
        ("scripted", "x", None),
        ("offline", "x", None),
        ("unheard-of", "gpt-4o", None),
        ("openai", "gpt-4o", "nonsense"),
    ],
)
def test_an_unknown_cost_is_none_and_never_zero(provider, model, base_url):
    assert cost_of(provider, model, USAGE, base_url=base_url) is None


def test_no_tokens_cost_nothing_that_could_be_stated():
    assert cost_of("openai", "gpt-4o", Usage()) is None


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "version"),
    [
        ("claude-opus-4-8", ("opus", (4, 8))),
        ("claude-sonnet-4-20250514", ("sonnet", (4, 0))),
        ("claude-sonnet-4-5-20250929", ("sonnet", (4, 5))),
        ("claude-opus-5", ("opus", (5, 0))),
        ("claude-3-5-sonnet-20241022", ("sonnet", (3, 5))),
        ("claude-3-opus-latest", ("opus", (3, 0))),
        ("anthropic/claude-sonnet-4.5", ("sonnet", (4, 5))),
        ("anthropic.claude-opus-4-7-v1", ("opus", (4, 7))),
        ("gpt-4o", None),
        ("claude-instant", None),
    ],
)
def test_versions_in_names(model, version):
    assert claude_version(model) == version
