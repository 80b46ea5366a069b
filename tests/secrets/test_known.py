"""Known values are found wherever they stand, in texts of every alignment."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from zidane_lab.secrets.known import KnownValues

ALPHABET = st.text(st.sampled_from("ab1é€\U0001f511 \n\ud800"), min_size=8, max_size=24)


@given(
    st.lists(ALPHABET, min_size=1, max_size=6),
    st.lists(st.text(st.sampled_from("ab1é€ "), max_size=20), max_size=6),
    st.randoms(),
)
@settings(max_examples=300, deadline=None)
def test_every_place_is_found_and_no_other(values, filler, rng):
    known = KnownValues()
    for value in values:
        known.add(value)
    parts = [*filler, *values, *values[:1]]
    rng.shuffle(parts)
    text = "".join(parts)
    expected = {
        (at, at + len(value))
        for value in values
        for at in range(len(text))
        if text.startswith(value, at)
        and not (
            value.isalpha() and (text[at - 1 : at].isalnum() or text[at + len(value) : at + len(value) + 1].isalnum())
        )
    }
    assert set(known.find(text)) == expected


@given(ALPHABET, st.integers(1, 23), st.text(st.sampled_from("xyz \n"), max_size=10))
@settings(max_examples=200, deadline=None)
def test_a_beginning_at_the_end_is_noticed(value, size, before):
    known = KnownValues()
    known.add(value)
    text = before + value[: min(size, len(value) - 1)]
    at = known.open_at(text)
    if not text.endswith(("x", "y", "z")) and not value[0].isspace():
        assert at is not None
        assert at <= len(before)


def test_short_values_are_not_taken_in():
    known = KnownValues()
    known.add("1234567")
    assert len(known) == 0
    assert list(known.find("1234567 1234567")) == []
    assert "1234567" not in known
