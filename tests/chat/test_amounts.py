"""What people write for an amount is read as they mean it, or refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.agent.budgets import KINDS
from zidane_lab.chat.amounts import amount_words, read_amount


@pytest.mark.parametrize(
    ("kind", "text", "amount"),
    [
        ("turns", "12", 12),
        ("tokens", "200000", 200_000),
        ("tokens", "200,000", 200_000),
        ("tokens", "200_000", 200_000),
        ("tokens", "200k", 200_000),
        ("tokens", "1.5M", 1_500_000),
        ("tokens", " 2m ", 2_000_000),
        ("tokens", "1000000.0", 1_000_000),
        ("cost", "2.50", 2.5),
        ("cost", "$2.50", 2.5),
        ("cost", ".5", 0.5),
        ("cost", "3", 3.0),
        ("time", "90s", 90),
        ("time", "10m", 600),
        ("time", "1h30m", 5400),
        ("time", "1h 30m 5s", 5405),
        ("time", "1.5h", 5400),
        ("time", "2H", 7200),
    ],
)
def test_amounts_are_read(kind, text, amount):
    read = read_amount(kind, text)
    assert read == amount
    assert type(read) is (int if kind in ("turns", "tokens") else float)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *((kind, text) for kind in KINDS for text in ("", "x", "-1", "nan", "inf", "none", "0", "1e5", "٣", "9" * 400)),
        ("turns", "1.5"),
        ("turns", "True"),
        ("tokens", "1.2345"),
        ("tokens", "0.0001k"),
        ("tokens", "10kk"),
        ("cost", "$"),
        ("cost", "2.50 EUR"),
        ("cost", "0.00"),
        ("time", "10"),
        ("time", "m"),
        ("time", "30m1h"),
        ("time", "0s"),
        ("time", "10 minutes"),
    ],
)
def test_what_is_no_amount_says_what_is_expected(kind, text):
    with pytest.raises(ValueError, match=r"^expected a"):
        read_amount(kind, text)


@given(kind=st.sampled_from(KINDS), text=st.text(alphabet="0123456789.,_ $kKmMhHs-+einfa", max_size=12))
def test_nothing_but_an_amount_above_0_comes_out(kind, text):
    try:
        amount = read_amount(kind, text)
    except ValueError:
        return
    assert 0 < amount < float("inf")


@given(st.integers(min_value=1, max_value=10**6))
def test_what_is_said_of_whole_amounts_is_read_back(amount):
    assert read_amount("time", amount_words("time", amount)) == amount
    assert read_amount("tokens", amount_words("tokens", amount).split()[0]) == amount
    assert read_amount("cost", amount_words("cost", amount / 100).replace(",", "")) == pytest.approx(amount / 100)


@pytest.mark.parametrize(
    ("kind", "amount", "words"),
    [
        ("turns", 1, "1 turn"),
        ("turns", 1200, "1,200 turns"),
        ("tokens", 1, "1 token"),
        ("cost", 2.5, "$2.50"),
        ("cost", 1.0423, "$1.0423"),
        ("cost", 0.00001, "<$0.0001"),
        ("cost", 0, "$0.00"),
        ("time", 0, "0s"),
        ("time", 0.25, "0.2s"),
        ("time", 59.7, "59.7s"),
        ("time", 3600, "1h"),
        ("time", 5405.4, "1h30m5s"),
    ],
)
def test_amounts_are_said(kind, amount, words):
    assert amount_words(kind, amount) == words
