"""Check the numbers of a report: each must be a rounding of a number that somebody computed."""

from __future__ import annotations

import re
from collections.abc import Iterable

CONSTANTS = {1.5, 0.7, 1.0, 0.0, 12.0}
"""Figures of the method that a report may explain: outlier rule, strong r, strong skew and rare levels, range of V, bound."""

_NAMES = re.compile(r"`[^`]*`|“[^”]*”")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d)?")
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?%?")
_ANY = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def without_names(report: str) -> str:
    """Leave out names, table headings, list numbers and the note at the end."""
    text = _NAMES.sub(" ", report)
    text = re.sub(r"(?m)^\| (?:column|pair) \|.*$", "", text)
    text = re.sub(r"(?m)^\d+\. ", "", text)
    return re.sub(r"(?m)^_Written by.*$", "", text)


def numbers_in(report: str) -> list[str]:
    """Return the figures of a report as they are written, dates apart."""
    return _NUMBER.findall(_DATE.sub(" ", without_names(report)))


def dates_in(report: str) -> list[str]:
    return _DATE.findall(without_names(report))


def values_in(text: str) -> set[float]:
    """Return every figure in the values that the tools' results end in, and only there."""
    values = re.findall(r"(?ms)^\[value\]\n(.*?)^\[(?:figure|warnings|error|done|failed)", text)
    return {float(figure) for value in values for figure in _ANY.findall(value)}


def is_rounding(figure: str, value: float) -> bool:
    """Whether ``figure``, as written, is ``value`` rounded to the decimals it shows (times 100 for a percentage)."""
    digits = figure.rstrip("%").replace(",", "")
    if figure.endswith("%"):
        value *= 100
    if "e" in digits:
        return abs(float(digits) - value) <= 0.005 * abs(value)
    places = len(digits.partition(".")[2])
    return abs(float(digits) - value) <= 0.5 * 10**-places + 1e-9 * abs(value)


def unexplained(report: str, values: Iterable[float]) -> list[str]:
    """Return the figures of a report that are no rounding of any of ``values``, nor constants of the method."""
    known = {*values, *CONSTANTS}
    return [figure for figure in numbers_in(report) if not any(is_rounding(figure, value) for value in known)]
