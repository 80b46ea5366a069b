from __future__ import annotations

import asyncio
import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.web.corpus import FINE, HOSTILE, LOOKUPS
from zidane_lab.errors import ToolError, ToolNotAllowedError
from zidane_lab.tools.web.addresses import kind_of
from zidane_lab.tools.web.connecting import lookup
from zidane_lab.tools.web.settings import WebSettings
from zidane_lab.tools.web.urls import joined, read_address, same_site


async def resolve(host, port):
    return LOOKUPS.get(host, ["93.184.216.34", "2606:2800:220:1::1"])


def reach(url):
    return asyncio.run(lookup(read_address(url), WebSettings(resolver=resolve)))


def test_the_corpus_is_large_enough_and_has_nothing_twice():
    assert len(HOSTILE) == len(set(HOSTILE)) >= 120
    assert len(FINE) == len(set(FINE)) >= 30


@pytest.mark.parametrize("url", HOSTILE)
def test_a_hostile_address_is_refused(url):
    with pytest.raises(ToolNotAllowedError) as caught:
        reach(url)
    assert caught.value.hint
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", FINE)
def test_an_ordinary_address_may_be_reached(url):
    found = reach(url)
    assert found
    assert not any(map(kind_of, found))


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_and_what_is_read_is_read_again_the_same(text):
    for candidate in (text, f"http://{text}", f"http://example.com/{text}"):
        try:
            address = read_address(candidate)
        except ToolNotAllowedError:
            continue
        assert read_address(str(address)) == address
        assert str(address).isascii()


@given(st.ip_addresses(v=4), st.sampled_from(["{}", "0x{:08x}", "0{:o}"]))
def test_an_address_written_as_one_number_is_refused_whatever_it_means(address, shape):
    with pytest.raises(ToolNotAllowedError):
        read_address(f"http://{shape.format(int(address))}/")


def test_the_refusal_says_what_an_unusual_number_means_and_what_to_do():
    with pytest.raises(ToolNotAllowedError, match=r"unusual way to write 127\.0\.0\.1"):
        read_address("http://2130706433/")
    with pytest.raises(ToolNotAllowedError, match=r"leads to 127\.0\.0\.1, a loopback address.*ZIDANE_WEB_ALLOW="):
        reach("http://rebind.example.com/")


def test_parts_of_an_address():
    address = read_address("HTTP://WWW.Example.com.:8080/a b?q=é#top")
    assert (address.scheme, address.host, address.port) == ("http", "www.example.com", 8080)
    assert address.target == "/a%20b?q=%C3%A9"
    assert str(address) == "http://www.example.com:8080/a%20b?q=%C3%A9"
    six = read_address("https://[2606:4700:0:0::1]/")
    assert six.authority == "[2606:4700::1]"
    assert six.literal == ipaddress.ip_address("2606:4700::1")


def test_an_address_without_a_scheme_is_taken_as_https():
    assert str(read_address("example.com/a")) == "https://example.com/a"


def test_a_reference_is_read_from_where_the_page_is_and_checked_like_any_address():
    base = read_address("https://example.com/a/b?c")
    assert str(joined(base, "../d")) == "https://example.com/d"
    assert str(joined(base, "//example.org/x")) == "https://example.org/x"
    for location in ("file:///etc/passwd", "//user@example.org/", "http://0x7f.1/", "http://[::1", "javascript:x"):
        with pytest.raises(ToolError):
            joined(base, location)


def test_a_site_is_a_host_at_a_port_with_or_without_www():
    def same(one, other):
        return same_site(read_address(one), read_address(other))

    assert same("http://example.com/a", "https://www.example.com/b")
    assert same("http://example.com:8080/a", "http://example.com:8080/b")
    assert not same("http://example.com/", "http://example.com:8080/")
    assert not same("http://example.com/", "http://docs.example.com/")
    assert not same("http://example.com/", "http://example.org/")
