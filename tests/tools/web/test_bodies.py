from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.web.bodies import Unpacker


def raw_deflate(data):
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS = {
    "": lambda data: data,
    "identity": lambda data: data,
    "gzip": gzip.compress,
    "X-GZIP": gzip.compress,
    "deflate": zlib.compress,
}


def unpack(encoding, packed, most, size=7):
    unpacker = Unpacker(encoding, most)
    for start in range(0, len(packed), size):
        unpacker.feed(packed[start : start + size])
        if unpacker.is_full:
            break
    return unpacker


@given(st.binary(max_size=3_000), st.sampled_from([*PACKERS, "raw"]), st.integers(1, 500))
def test_what_was_packed_comes_out_whatever_the_pieces(data, encoding, size):
    packed = raw_deflate(data) if encoding == "raw" else PACKERS[encoding](data)
    unpacker = unpack("deflate" if encoding == "raw" else encoding, packed, 1 << 20, max(size, 2))
    assert bytes(unpacker.data) == data
    assert not unpacker.is_full
    assert unpacker.is_complete


@given(st.binary(min_size=100, max_size=3_000), st.sampled_from([*PACKERS]), st.integers(1, 99))
def test_never_more_than_the_limit_comes_out_and_it_is_the_beginning(data, encoding, most):
    unpacker = unpack(encoding, PACKERS[encoding](data), most)
    assert bytes(unpacker.data) == data[:most]
    assert unpacker.is_full


@given(st.binary(max_size=500))
def test_a_body_of_just_the_limit_is_not_cut(data):
    for encoding, pack in PACKERS.items():
        assert not unpack(encoding, pack(data), len(data) or 1).is_full or not data


def test_several_packed_parts_one_after_another_are_one_body():
    packed = gzip.compress(b"one ") + gzip.compress(b"two") + b"\0\0padding"
    assert bytes(unpack("gzip", packed, 1_000).data) == b"one two"


def test_very_many_empty_parts_do_not_go_on_for_ever():
    packed = gzip.compress(b"") * 10_000
    unpacker = unpack("gzip", packed, 5_000, 1_000)
    assert unpacker.is_full
    assert not unpacker.data


@given(st.binary(min_size=1, max_size=200), st.sampled_from(["gzip", "deflate"]))
def test_rubbish_is_an_error_or_incomplete_but_never_anything_else(data, encoding):
    try:
        unpacker = unpack(encoding, data, 1_000)
    except ValueError:
        return
    assert len(unpacker.data) <= 1_000


def test_a_missing_end_shows():
    packed = gzip.compress(b"a long enough text " * 50)
    assert not unpack("gzip", packed[:-9], 10_000).is_complete


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress"])
def test_a_packing_that_we_did_not_say_we_take_is_refused(encoding):
    with pytest.raises(ValueError, match="packed as"):
        Unpacker(encoding, 10)
