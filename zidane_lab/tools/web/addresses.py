"""Which addresses of the network may be reached: the public ones, and those the user has allowed.

Pages are fetched on behalf of a model that reads untrusted text. Without a guard such a text could make it read what
only this machine can reach: services on the loopback interface, routers, a cloud's metadata with its credentials.
The tables follow IANA's special-purpose address registries; they are kept here because those of the standard library
differ from one Python to the next.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

from zidane_lab.errors import ConfigurationError

__all__ = ["METADATA", "Allowed", "IPAddress", "kind_of", "private_name", "unmapped"]

IPAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

METADATA: Final = frozenset(
    ipaddress.ip_address(each)
    for each in (
        "169.254.169.254",  # nearly every cloud
        "169.254.170.2",  # tasks of Amazon ECS
        "169.254.170.23",  # pods of Amazon EKS
        "100.100.100.200",  # Alibaba
        "168.63.129.16",  # Azure's agent, a public address by its looks
        "192.0.0.192",  # Oracle
        "fd00:ec2::254",  # Amazon
        "fd00:ec2::23",
        "fd20:ce::254",  # Google
    )
)
"""Where clouds hand out credentials to whoever asks from inside; only an entry for that very address allows one."""

_V4: Final = tuple(
    (ipaddress.IPv4Network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", "this network's own"),
        ("10.0.0.0/8", "a private"),
        ("100.64.0.0/10", "a carrier's private"),
        ("127.0.0.0/8", "a loopback"),
        ("169.254.0.0/16", "a link-local"),
        ("172.16.0.0/12", "a private"),
        ("192.0.0.0/24", "a reserved"),
        ("192.0.2.0/24", "a documentation"),
        ("192.88.99.0/24", "a reserved"),
        ("192.168.0.0/16", "a private"),
        ("198.18.0.0/15", "a benchmarking"),
        ("198.51.100.0/24", "a documentation"),
        ("203.0.113.0/24", "a documentation"),
        ("224.0.0.0/4", "a multicast"),
        ("240.0.0.0/4", "a reserved"),
    )
)

_V6: Final = tuple(
    (ipaddress.IPv6Network(network), kind)
    for network, kind in (
        ("::/128", "the unspecified"),
        ("::1/128", "a loopback"),
        ("fc00::/7", "a private"),
        ("fe80::/10", "a link-local"),
        ("fec0::/10", "a private"),
        ("ff00::/8", "a multicast"),
        ("2001:db8::/32", "a documentation"),
        ("3fff::/20", "a documentation"),
        ("2001::/23", "a reserved"),  # among them Teredo, which carries an IPv4 address inside
        ("2002::/16", "a tunnel's"),  # 6to4, the same
    )
)
_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
"""All that has been given out for use; anything else is reserved."""

_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})

_PRIVATE_NAMES: Final = frozenset(
    {"localhost", "local", "internal", "localdomain", "home.arpa", "lan", "home", "corp", "intranet", "private"}
    | {"test", "invalid", "svc", "onion"}
)
"""Endings of names that are not of the public web (RFC 6761, 6762, 7686, 8375, and what networks use at home)."""


def unmapped(address: IPAddress) -> IPAddress:
    """Return the IPv4 address that an IPv6 one stands for, mapped or behind NAT64; any other as it is."""
    if isinstance(address, ipaddress.IPv6Address) and (address in _MAPPED or address in _NAT64):
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def kind_of(address: IPAddress) -> str:
    """Say what kind of address this is, with its article (``a loopback``); empty for one of the public network."""
    address = unmapped(address)
    if address in METADATA:
        return "a cloud's metadata"
    if isinstance(address, ipaddress.IPv4Address):
        return next((kind for network, kind in _V4 if address in network), "")
    bare = ipaddress.IPv6Address(int(address))  # without a zone
    if bare in METADATA:
        return "a cloud's metadata"
    if kind := next((kind for network, kind in _V6 if bare in network), ""):
        return kind
    if bare not in _UNICAST or address.scope_id:
        return "a reserved"
    if int(bare) >> 32 & 0xFFFF_FFFF in _ISATAP:
        return kind_of(ipaddress.IPv4Address(int(bare) & 0xFFFF_FFFF))
    return ""


def private_name(host: str) -> bool:
    """Whether a name cannot be one of the public web: it has a private ending, or no dot."""
    labels = host.split(".")
    return len(labels) < 2 or any(".".join(labels[-count:]) in _PRIVATE_NAMES for count in (1, 2))


_ENTRY: Final = re.compile(r"(?P<host>\[[^\]\s]+\](?:/\d+)?|[^\s\[\]:]+)(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True, slots=True)
class _Entry:
    """One thing that is allowed: a name, names below one, or a network; at one port or at any."""

    host: str = ""
    network: _Network | None = None
    port: int | None = None

    def names(self, host: str, port: int) -> bool:
        """Whether this is an entry for a name."""
        if not self.host or self.port not in {None, port}:
            return False
        return host.endswith(self.host[1:]) if self.host.startswith("*.") else host == self.host

    def holds(self, address: IPAddress, port: int) -> bool:
        """Whether this is an entry for an address."""
        if self.network is None or self.port not in {None, port}:
            return False
        return address.version == self.network.version and address in self.network

    @property
    def is_single(self) -> bool:
        """Whether this is an entry for one address alone."""
        return self.network is not None and self.network.num_addresses == 1


@dataclass(frozen=True, slots=True)
class Allowed:
    """Addresses outside the public web that the user lets pages be fetched from."""

    entries: tuple[_Entry, ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Allowed:
        """Read entries: ``wiki.corp``, ``*.corp``, ``localhost:8888``, ``10.1.0.0/16``, ``[fd00::1]:8080``.

        Raises
        ------
        ConfigurationError
            An entry is none of these.
        """
        return cls(tuple(_parsed(text.strip().lower()) for text in texts if text.strip()))

    def may_name(self, host: str, port: int) -> bool:
        """Whether a name that looks private may be looked up; its addresses are judged then."""
        return any(
            entry.names(host, port) or (entry.network is not None and entry.port in {None, port})
            for entry in self.entries
        )

    def permits(self, host: str, address: IPAddress, port: int) -> bool:
        """Whether an address that is not public may be reached by this name."""
        address = unmapped(address)
        if isinstance(address, ipaddress.IPv6Address) and address.scope_id:
            return False
        if address in METADATA:
            return any(entry.is_single and entry.holds(address, port) for entry in self.entries)
        return any(entry.names(host, port) or entry.holds(address, port) for entry in self.entries)


def _parsed(text: str) -> _Entry:
    refusal = ConfigurationError(
        f"{text!r} does not name what may be fetched.",
        hint="Write a host, a host and port, an address or a network: `wiki.corp`, `localhost:8888`, `10.1.0.0/16`.",
    )
    with suppress(ValueError):  # else it is a name, or something with a port
        return _Entry(network=ipaddress.ip_network(text, strict=False))
    match = _ENTRY.fullmatch(text)
    if match is None:
        raise refusal
    host, port = match["host"], int(match["port"]) if match["port"] else None
    if port is not None and not 0 < port < 65_536:
        raise refusal
    try:
        return _Entry(network=ipaddress.ip_network(host.replace("[", "").replace("]", ""), strict=False), port=port)
    except ValueError:
        if re.fullmatch(r"(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*", host) is None:
            raise refusal from None
        return _Entry(host=host, port=port)
