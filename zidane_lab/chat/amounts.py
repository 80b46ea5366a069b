"""Amounts of budgets as people write and read them: ``200k`` tokens, ``$2.50``, ``1h30m``.

The same reader serves the options of the magic and of the command line, the settings and ``/budget``.
"""

from __future__ import annotations

import re
from typing import Final

from zidane_lab.events import BudgetKind
from zidane_lab.turns import MOST_TOKENS

__all__ = ["LIMIT_NAMES", "amount_words", "read_amount"]

LIMIT_NAMES: Final[dict[BudgetKind, str]] = {
    "turns": "max_turns",
    "tokens": "budget_tokens",
    "cost": "max_cost",
    "time": "budget_seconds",
}
"""What a run's limits are called among the options of a prompt (``max_tokens`` would be those of one answer)."""

_WHOLE: Final = re.compile(r"[0-9]{1,16}")
_TOKENS: Final = re.compile(r"([0-9][0-9_,]{0,20}(?:\.[0-9]{1,6})?)([kKmM]?)")
_SCALES: Final = {"": 1, "k": 1_000, "m": 1_000_000}
_NUMBER: Final = r"[0-9]{1,12}(?:\.[0-9]{1,6})?"
_MONEY: Final = re.compile(rf"\$? ?({_NUMBER}|\.[0-9]{{1,6}})")
_TIME: Final = re.compile(rf"(?=[0-9])(?:({_NUMBER})h)? ?(?:({_NUMBER})m)? ?(?:({_NUMBER})s)?")

_HINTS: Final[dict[BudgetKind, str]] = {
    "turns": "a whole number of at least 1",
    "tokens": "a whole number of tokens of at least 1, such as 200000, 200k or 1.5M",
    "cost": "an amount in dollars above 0, such as 2.50",
    "time": "a time such as 90s, 10m or 1h30m",
}


def read_amount(kind: BudgetKind, text: str) -> float:
    """Read an amount a person wrote.

    Parameters
    ----------
    kind
        Which budget it is for.
    text
        ``turns``: a whole number. ``tokens``: one, also with ``k`` or ``M`` behind it and ``,`` or ``_`` between its
        digits. ``cost``: US dollars, with or without ``$``. ``time``: hours, minutes and seconds, each with its letter;
        a bare number is refused, as nobody can know what it means.

    Returns
    -------
    float
        Turns, tokens, US dollars or seconds; whole numbers are ``int``.

    Raises
    ------
    ValueError
        It is none, or not above 0; the message says what is expected.
    """
    amount = _READERS[kind](text.strip())
    if amount is None or not amount > 0:
        raise ValueError(f"expected {_HINTS[kind]}")
    return amount


def _turns(text: str) -> int | None:
    return int(text) if _WHOLE.fullmatch(text) else None


def _tokens(text: str) -> int | None:
    match = _TOKENS.fullmatch(text)
    if match is None:
        return None
    digits, scale = match[1].replace(",", "").replace("_", ""), _SCALES[match[2].lower()]
    amount = float(digits) * scale if "." in digits else int(digits) * scale
    return int(amount) if amount == int(amount) and amount <= MOST_TOKENS else None


def _cost(text: str) -> float | None:
    match = _MONEY.fullmatch(text)
    return float(match[1]) if match is not None else None


def _time(text: str) -> float | None:
    match = _TIME.fullmatch(text.lower())
    if match is None:
        return None
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds


_READERS: Final = {"turns": _turns, "tokens": _tokens, "cost": _cost, "time": _time}


def amount_words(kind: BudgetKind, amount: float) -> str:
    """Say an amount: ``12 turns``, ``200,000 tokens``, ``$2.50``, ``1h30m``; what was spent is not rounded away."""
    match kind:
        case "turns":
            return f"{amount:,.0f} turn{'' if amount == 1 else 's'}"
        case "tokens":
            return f"{amount:,.0f} token{'' if amount == 1 else 's'}"
        case "cost":
            return _dollars(amount)
        case "time":
            return _duration(amount)


def _dollars(amount: float) -> str:
    if 0 < amount < 0.0001:
        return "<$0.0001"
    return f"${amount:,.2f}" if round(amount, 2) == round(amount, 4) else f"${amount:,.4f}"


def _duration(seconds: float) -> str:
    if seconds < 60 and seconds != int(seconds):
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{number}{letter}" for number, letter in ((hours, "h"), (minutes, "m"), (rest, "s")) if number]
    return "".join(parts) or "0s"
