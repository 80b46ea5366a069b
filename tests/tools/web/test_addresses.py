from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.errors import ConfigurationError
from zidane_lab.tools.web.addresses import METADATA, Allowed, kind_of, private_name, unmapped

ip = ipaddress.ip_address


@pytest.mark.parametrize(
    "text",
    [
        "8.8.8.8",
        "1.1.1.1",
        "93.184.216.34",
        "172.15.255.255",
        "172.32.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "192.167.1.1",
        "192.0.1.1",
        "198.17.255.255",
        "198.20.0.1",
        "169.253.1.1",
        "223.255.255.254",
        "2606:4700::1111",
        "2a00:1450:4001::200e",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    ],
)
def test_addresses_of_the_public_network_have_no_kind(text):
    assert kind_of(ip(text)) == ""


@given(st.ip_addresses(v=4))
def test_whatever_the_standard_library_calls_private_is_not_public_here(address):
    if address.is_private or address.is_multicast or address.is_reserved or address.is_loopback:
        assert kind_of(address)


@given(st.ip_addresses(v=6))
def test_only_given_out_addresses_of_version_six_are_public(address):
    if address.is_private or address.is_multicast or address.is_link_local or address.is_site_local:
        assert kind_of(address) or unmapped(address).version == 4


@given(st.ip_addresses(v=4))
def test_an_address_is_judged_alike_in_each_of_its_forms(address):
    number = int(address)
    for prefix in (0xFFFF << 32, 0x64FF9B << 96):
        assert kind_of(ipaddress.IPv6Address(prefix | number)) == kind_of(address)
    for carried in (number, 0xFFFF << 48 | number):  # compatible, translated
        assert kind_of(ipaddress.IPv6Address(carried))
    assert kind_of(ipaddress.IPv6Address(0x2002 << 112 | number << 80))
    isatap = 0x2606_4700 << 96 | 0x5EFE << 32 | number
    assert bool(kind_of(ipaddress.IPv6Address(isatap))) == bool(kind_of(address))


def test_places_where_clouds_hand_out_credentials_are_no_public_addresses_even_if_they_look_it():
    assert all(kind_of(address) == "a cloud's metadata" for address in METADATA)


def test_names_without_a_dot_and_with_private_endings_are_private():
    for name in ("intranet", "localhost", "a.localhost", "printer.local", "x.internal", "router.home.arpa", "a.svc"):
        assert private_name(name)
    for name in ("example.com", "local.example.com", "internal.net", "home.cern", "arpa.example"):
        assert not private_name(name)


def test_what_is_allowed_is_a_name_names_below_one_an_address_or_a_network_at_a_port_or_at_any():
    allowed = Allowed.parse(["Wiki.Corp", "*.lab.corp", "localhost:8888", "10.1.0.0/16", "[fd00::1]:8080", " "])
    yes = [
        ("wiki.corp", "10.9.9.9", 80),
        ("a.lab.corp", "192.168.0.1", 443),
        ("localhost", "127.0.0.1", 8888),
        ("any.name", "10.1.2.3", 1),
        ("any.name", "::ffff:10.1.2.3", 1),
        ("x", "fd00::1", 8080),
    ]
    no = [
        ("other.corp", "10.9.9.9", 80),
        ("lab.corp", "192.168.0.1", 443),
        ("evillab.corp", "192.168.0.1", 443),
        ("localhost", "127.0.0.1", 22),
        ("any.name", "10.2.2.3", 1),
        ("x", "fd00::1", 80),
        ("x", "fd00::2", 8080),
    ]
    assert all(allowed.permits(host, ip(address), port) for host, address, port in yes)
    assert not any(allowed.permits(host, ip(address), port) for host, address, port in no)


def test_credentials_of_a_cloud_need_an_entry_for_their_very_address():
    metadata = ip("169.254.169.254")
    assert not Allowed.parse(["169.254.0.0/16", "evil.example"]).permits("evil.example", metadata, 80)
    assert Allowed.parse(["169.254.169.254"]).permits("169.254.169.254", metadata, 80)


@pytest.mark.parametrize(
    "text", ["http://x", "a b", "localhost:99999", "localhost:0", "10.0.0.0/40", "a..b", "*", "[::1"]
)
def test_an_entry_that_cannot_be_read_is_said_to_be_so(text):
    with pytest.raises(ConfigurationError, match="does not name"):
        Allowed.parse([text])
