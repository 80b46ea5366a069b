"""What is known of a model: how much it can read and write, and what its tokens cost.

Context windows and prices are the data of the ``genai-prices`` package, which travel inside it: nothing is
fetched. It is imported on first use only. A figure that is not known is ``None``, never a guess and never zero.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from zidane_lab.errors import ConfigurationError
from zidane_lab.turns import Usage

if TYPE_CHECKING:
    from genai_prices import types as prices

__all__ = [
    "OUTPUT_RESERVE",
    "WINDOW_VARIABLE",
    "ModelInfo",
    "claude_version",
    "cost_of",
    "effective_window",
    "model_info",
]

OUTPUT_RESERVE: Final = 20_000
"""Tokens of a window kept free for the answer."""

WINDOW_VARIABLE: Final = "ZIDANE_CONTEXT_WINDOW"
"""Environment variable with the window, in tokens, of a model nobody knows (a local one, say)."""

SMALLEST_SHARE: Final = 5
"""A prompt may take up at least this part (one over it) of a window."""

LARGE_WINDOW: Final = 400_000

# Vendors' own endpoints, for providers whose base URL was not given.
_ENDPOINTS: Final[Mapping[str, str]] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
}

# Output limits, first match wins. Sources: the vendors' model pages, as of November 2026.
_MAX_OUTPUT: Final = (
    (r"gpt-5(?:\.\d)?-chat", 16_384),
    (r"gpt-(?:[5-9]|\d\d)", 128_000),
    (r"gpt-4\.1", 32_768),
    (r"(?:chat)?gpt-4o", 16_384),
    (r"gpt-4-turbo", 4_096),
    (r"o[134](?:-|$)", 100_000),
)
_CLAUDE_OUTPUT: Final = (((4, 6), 128_000), ((4, 5), 64_000), ((3, 7), 64_000), ((3, 5), 8_192), ((0, 0), 4_096))


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a model.

    ``window`` is the longest prompt in tokens, ``max_output`` the longest answer; the prices are US dollars
    per million tokens, those of the lowest tier. ``None`` means unknown.
    """

    window: int | None = None
    max_output: int | None = None
    input_price: float | None = None
    output_price: float | None = None

    @property
    def effective_window(self) -> int | None:
        """What a prompt may take up, see :func:`effective_window`."""
        return None if self.window is None else effective_window(self.window)

    @property
    def default_max_tokens(self) -> int | None:
        """Tokens to allow an answer when the caller sets no limit.

        A large window has room for a long answer; in a small one it must not exceed what
        :attr:`effective_window` keeps free, or a prompt that fits would be refused.
        """
        if self.max_output is None:
            return None
        roomy = self.window is not None and self.window >= LARGE_WINDOW
        return min(self.max_output, 32_000 if roomy else OUTPUT_RESERVE)


def effective_window(window: float) -> int:
    """Return the tokens a prompt may take up: the window less what an answer needs.

    At least a fifth of the window, and 1: in small windows answers are short, and with nothing left to fill them they
    would always count as full.
    """
    return max(1, int(window) - OUTPUT_RESERVE, int(window) // SMALLEST_SHARE)


def model_info(
    provider: str, model: str, *, base_url: str | None = None, env: Mapping[str, str] | None = None
) -> ModelInfo:
    """Return what is known of a model.

    Parameters
    ----------
    provider, model
        The two parts of a model's name.
    base_url
        Where the provider asks, when not at its vendor's own endpoint. The same model may have another
        window or price there; of endpoints not in the data nothing is known.
    env
        Searched for ``ZIDANE_CONTEXT_WINDOW``, which applies where the data know no window.

    Raises
    ------
    ConfigurationError
        ``ZIDANE_CONTEXT_WINDOW`` is not a whole number of tokens.
    """
    found = _find(provider, model, base_url)
    window = found[1].context_window if found is not None else None
    if window is not None and window >= LARGE_WINDOW and re.match(r"gpt-(?:[5-9]|\d\d)", _own_name(model)):
        # The data give OpenAI's total, of which 128,000 tokens are for the answer only.
        window -= 128_000
    if window is None:
        window = _window_from(os.environ if env is None else env)
    input_price, output_price = _prices(found)
    return ModelInfo(window, _max_output(model), input_price, output_price)


def cost_of(
    provider: str, model: str, usage: Usage, *, base_url: str | None = None, hour_writes: int = 0
) -> float | None:
    """Return what a call cost in US dollars, or ``None`` where no price is known to apply.

    A price applies to metered traffic at an endpoint of the data: the vendor's own, or that of a host whose
    prices are known. Proxies, local servers, unknown models and unpriced ones cost an unknown amount.
    ``hour_writes`` of the tokens written into the cache are kept for an hour, which costs more than five minutes.
    """
    found = _find(provider, model, base_url)
    if found is None or usage.is_empty or None in _prices(found):
        return None
    from genai_prices import Usage as PricedUsage

    owner, info = found
    counts = PricedUsage(
        input_tokens=usage.context,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_creation,
        cache_write_1h_tokens=min(hour_writes, usage.cache_creation) or None,
    )
    total = info.calc_price(counts, owner).total_price
    return float(total) if total > 0 else None


def claude_version(model: str) -> tuple[str, tuple[int, int]] | None:
    """Return the family and version in a Claude model's name: ``claude-opus-4-8`` gives ``("opus", (4, 8))``.

    A trailing date is no version: ``claude-sonnet-4-20250514`` is 4.0. ``None`` for other names.
    """
    name = model.lower()
    found = re.search(r"claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", name)
    if found is not None:
        return found[1], (int(found[2]), int(found[3] or 0))
    old = re.search(r"claude-(\d)(?:[-.](\d))?-([a-z]+)", name)
    return (old[3], (int(old[1]), int(old[2] or 0))) if old is not None else None


def _find(provider: str, model: str, base_url: str | None) -> tuple[prices.Provider, prices.ModelInfo] | None:
    url = base_url or _ENDPOINTS.get(provider)
    if url is None or not urlsplit(url).hostname:
        return None
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider_model(model, None, None, url)
    except LookupError:
        return None


def _prices(found: tuple[prices.Provider, prices.ModelInfo] | None) -> tuple[float | None, float | None]:
    if found is None:
        return None, None
    from datetime import UTC, datetime

    price = found[1].get_prices(datetime.now(UTC))
    return _base_price(price.input_mtok), _base_price(price.output_mtok)


def _base_price(price: Any) -> float | None:
    base = getattr(price, "base", price)
    return float(base) if isinstance(base, Decimal) and base > 0 else None


def _max_output(model: str) -> int | None:
    claude = claude_version(model)
    if claude is not None:
        family, version = claude
        if family == "opus" and (4, 0) <= version < (4, 5):
            return 32_000
        return next(limit for least, limit in _CLAUDE_OUTPUT if version >= least)
    return next((limit for pattern, limit in _MAX_OUTPUT if re.match(pattern, _own_name(model))), None)


def _own_name(model: str) -> str:
    """Return the name without the maker's, which routers put before it."""
    return model.rpartition("/")[2]


def _window_from(env: Mapping[str, str]) -> int | None:
    text = env.get(WINDOW_VARIABLE, "").strip()
    if not text:
        return None
    digits = text.replace("_", "").replace(",", "")
    if not (digits.isascii() and digits.isdigit()) or int(digits) < 1:
        raise ConfigurationError(
            f"{WINDOW_VARIABLE}={text!r} is not a number of tokens.", hint=f"Set it as in {WINDOW_VARIABLE}=32768."
        )
    return int(digits)
