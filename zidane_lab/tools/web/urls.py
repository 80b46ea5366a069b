r"""Web addresses, read in one way only.

Programs disagree on odd spellings of an address (``http://127.1/``, ``http://a\@b/``, ``http://0x7f000001/``), and
what one checks another connects to. So only plain spellings are taken, the rest is refused, and everything that
follows works with the parts read here.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, urljoin

from zidane_lab.errors import ToolNotAllowedError
from zidane_lab.tools.web.addresses import Allowed, IPAddress, kind_of, private_name

__all__ = ["ALLOW_VARIABLE", "LONGEST", "WebAddress", "check_address", "joined", "read_address", "refused", "same_site"]

LONGEST: Final = 4_096
"""Characters of an address."""

ALLOW_VARIABLE: Final = "ZIDANE_WEB_ALLOW"
"""Environment variable that names what may be fetched besides the public web, separated by commas."""

_PORTS: Final = {"http": 80, "https": 443}
_OTHER_PORTS: Final = frozenset(
    {1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110}
    | {111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531}
    | {532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060}
    | {5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211}
)
"""Where mail, shells, databases and the like are spoken (https://fetch.spec.whatwg.org/#port-blocking and two more)."""
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BARE: Final = re.compile(r"[^\s/?#:@\\]+\.[^\s/?#:@\\]+(?::\d+)?(?:[/?#]|$)")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"\d+|0x[0-9a-f]*")
_KEPT: Final = "!$%&'()*+,/:;=?@[]~"
"""What may stand in a target as it is, besides letters, digits and ``_.-``."""


@dataclass(frozen=True, slots=True)
class WebAddress:
    """An address that was read.

    Parameters
    ----------
    scheme
        ``http`` or ``https``.
    host
        A name in small ASCII letters, or an IP address without brackets.
    port
        Written out, or the scheme's own.
    target
        Path and query, at least ``/``.
    literal
        The host, where it is an IP address.
    """

    scheme: str
    host: str
    port: int
    target: str = "/"
    literal: IPAddress | None = None

    @property
    def authority(self) -> str:
        """Host and, if it is not the scheme's own, port: what the ``Host`` header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    def at(self, target: str) -> WebAddress:
        """Return another place on the same host."""
        return replace(self, target=_quoted(target))


def refused(url: str, why: str, hint: str = "Give a plain public address: https://host/path.") -> ToolNotAllowedError:
    """Return the error for an address that is not fetched."""
    shown = url if len(url) <= 200 else f"{url[:200]}…"
    return ToolNotAllowedError(f"{shown!r} is not fetched: {why}.", hint=hint)


def read_address(text: str) -> WebAddress:
    """Read an address; one without a scheme gets ``https``.

    Raises
    ------
    ToolNotAllowedError
        It is not of the web, has credentials, or is written in a way that programs understand differently.
    """
    text = text.strip()
    if len(text) > LONGEST:
        raise refused(text, f"it is longer than {LONGEST:,} characters")
    if any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in text):
        raise refused(text, "it has characters that cannot be seen")
    if _BARE.match(text):
        text = f"https://{text}"
    match = _SCHEME.match(text)
    scheme = match[1].lower() if match else ""
    if scheme not in _PORTS:
        raise refused(text, "only http and https are fetched")
    rest = text[len(scheme) + 1 :]
    if not rest.startswith("//"):
        raise refused(text, "no host stands behind `//`")
    authority, target = _split(rest[2:])
    host_text, port = _host_and_port(text, authority, _PORTS[scheme])
    literal, host = _host(text, host_text)
    return WebAddress(scheme, host, port, _quoted(target), literal)


def check_address(address: WebAddress, allowed: Allowed) -> None:
    """Refuse what can be seen to be private without looking anything up.

    Raises
    ------
    ToolNotAllowedError
        The host is an address or a name that is not of the public web, or the port one where no web is spoken, and
        that is not allowed.
    """
    if address.port in _OTHER_PORTS and not allowed.may_name(address.host, address.port):
        raise refused(str(address), f"port {address.port} is not one of the web", _allow_hint(address))
    if address.literal is not None:
        check_ip(address, address.literal, allowed)
    elif private_name(address.host) and not allowed.may_name(address.host, address.port):
        raise refused(str(address), f"{address.host} is not a name of the public web", _allow_hint(address))


def check_ip(address: WebAddress, found: IPAddress, allowed: Allowed) -> None:
    """Refuse an IP address that is not public.

    Raises
    ------
    ToolNotAllowedError
        It is private in some way, and not allowed.
    """
    kind = kind_of(found)
    if kind and not allowed.permits(address.host, found, address.port):
        what = f"{found} is" if address.literal is not None else f"{address.host} leads to {found},"
        raise refused(str(address), f"{what} {kind} address", _allow_hint(address))


def joined(base: WebAddress, location: str) -> WebAddress:
    """Read an address that a page refers to, seen from where the page is.

    Raises
    ------
    ToolNotAllowedError
        It is none that is fetched.
    """
    try:
        return read_address(urljoin(str(base), location.strip()))
    except ValueError:
        raise refused(location, "it is not an address") from None


def same_site(one: WebAddress, other: WebAddress) -> bool:
    """Whether two addresses are of one site: the same host but for ``www.``, at the usual port or the same."""

    def key(address: WebAddress) -> tuple[str, int]:
        own = address.port == _PORTS[address.scheme]
        return address.host.removeprefix("www."), 0 if own else address.port

    return key(one) == key(other)


def _allow_hint(address: WebAddress) -> str:
    return (
        "Only the public web is fetched. If the user wants this one, they can start the kernel with "
        f"{ALLOW_VARIABLE}={address.authority} in the environment."
    )


def _split(text: str) -> tuple[str, str]:
    """Cut into authority and target; a fragment is for browsers and left out."""
    end = re.search(r"[/?#]", text)
    authority, target = (text, "") if end is None else (text[: end.start()], text[end.start() :])
    target = target.partition("#")[0]
    return authority, target if target.startswith("/") else f"/{target}"


def _quoted(target: str) -> str:
    return quote(target, safe=_KEPT)


def _host_and_port(url: str, authority: str, default: int) -> tuple[str, int]:
    if "@" in authority:
        raise refused("an address with a user name or password", "credentials do not belong in an address")
    if "\\" in authority or any(char.isspace() for char in authority):
        raise refused(url, "its host is ambiguous")
    match = re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]*))?", authority)
    if match is None:
        raise refused(url, "its host cannot be read")
    port = int(match[2]) if match[2] else default
    if not 0 < port < 65_536 or len(match[2] or "") > 5:
        raise refused(url, "there is no such port")
    return match[1], port


def _host(url: str, text: str) -> tuple[IPAddress | None, str]:
    """Return the host as an IP address, where it is one, and as text."""
    if text.startswith("["):
        try:
            literal = ipaddress.IPv6Address(text[1:-1])
        except ValueError:
            raise refused(url, "its IPv6 address cannot be read") from None
        if literal.scope_id is not None:
            raise refused(url, "an address with a zone is of this machine's own network")
        return literal, str(literal)
    if "%" in text:
        raise refused(url, "its host is written with percent signs")
    host = _ascii(url, text).removesuffix(".")
    labels = host.split(".")
    if not host or len(host) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise refused(url, "its host is not a name")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            four = ipaddress.IPv4Address(host)
        except ValueError:
            raise refused(url, _number_meaning(host)) from None
        return four, str(four)
    for label in labels:
        if label.startswith("xn--"):
            _check_punycode(url, label)
    return None, host


def _ascii(url: str, text: str) -> str:
    """Return a host in small ASCII letters, other scripts by the rules of international names."""
    if text.isascii():
        return text.lower()
    import idna

    try:
        return idna.encode(text, uts46=True, std3_rules=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        raise refused(url, "its host is not a name") from None


def _check_punycode(url: str, label: str) -> None:
    """Refuse an encoded label that stands for nothing, or for something that has a plainer spelling."""
    try:
        decoded = label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError):
        decoded = ""
    if decoded.isascii() or unicodedata.normalize("NFKC", decoded).lower() != decoded:
        raise refused(url, "its host is encoded wrongly")


def _number_meaning(host: str) -> str:
    """Say what a number in the place of a host would be taken for."""
    try:
        meant = socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return "its host is neither a name nor an address"
    return f"its host is an unusual way to write {meant}"
