"""One request, sent to an address that was checked.

A name is looked up once, here. Each address it has must be allowed, and the connection goes to one of them as a
number, so that a name cannot mean something else a moment later (DNS rebinding). Host header, server name and
certificate stay those of the name. There are no cookies, no credentials, and no connection is kept: one that was
opened for one name never serves another at the same address.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from urllib.request import getproxies, proxy_bypass

from zidane_lab.errors import ToolError
from zidane_lab.tools.web.addresses import IPAddress
from zidane_lab.tools.web.settings import PROXY_VARIABLE, WebSettings
from zidane_lab.tools.web.urls import WebAddress, check_address, check_ip

if TYPE_CHECKING:
    import httpx

__all__ = ["FetchError", "environment_proxy", "lookup", "opened", "system_resolver"]

_TRIED: Final = 4
"""Addresses of one name that are tried."""


class FetchError(ToolError):
    """A page could not be fetched: a server that is not there, does not answer, or breaks off."""

    code = "fetch"
    default_hint = "Check the address, or try again later."


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """Look a name up as this machine does."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


async def lookup(address: WebAddress, settings: WebSettings) -> tuple[IPAddress, ...]:
    """Return the IP addresses of a host, all of them allowed.

    Raises
    ------
    ToolNotAllowedError
        One of them is not.
    FetchError
        There is none.
    """
    check_address(address, settings.allowed)
    if address.literal is not None:
        return (address.literal,)
    resolve = settings.resolver or system_resolver
    try:
        async with asyncio.timeout(settings.connect):
            texts = await resolve(address.host, address.port)
        found = tuple(ipaddress.ip_address(text) for text in texts)
    except TimeoutError:
        raise FetchError(f"The name {address.host} was not looked up within {settings.connect:g} s.") from None
    except (OSError, UnicodeError, ValueError):
        found = ()
    if not found:
        raise FetchError(f"There is no host {address.host}.{_proxy_note(address, settings)}")
    for each in found:
        check_ip(address, each, settings.allowed)
    return found


@asynccontextmanager
async def opened(
    address: WebAddress, headers: Mapping[str, str], settings: WebSettings
) -> AsyncIterator[httpx.Response]:
    """Ask for a page and lend the answer, its body still to be read; leaving closes the connection.

    Raises
    ------
    ToolNotAllowedError
        The host is not to be reached.
    FetchError
        It cannot be reached.
    """
    import httpx

    proxy = environment_proxy(address.scheme, address.host) if settings.through_proxy else None
    found = await _lookup_for_proxy(address, settings) if proxy else await lookup(address, settings)
    try:
        transport = httpx.AsyncHTTPTransport(proxy=proxy, limits=httpx.Limits(max_keepalive_connections=0))
    except ImportError as error:
        raise FetchError(f"The proxy of the environment cannot be used: {error}.") from None
    except ValueError:
        # Without its text, which may quote the proxy's address, and that a password.
        raise FetchError("The proxy of the environment cannot be used: its address cannot be read.") from None
    try:
        response = await _first_answer(transport, address, found, headers, settings)
        try:
            yield response
        finally:
            await response.aclose()
    except httpx.TimeoutException as error:
        raise FetchError(f"{address.authority} {_silence(error, settings)}") from None
    except httpx.TransportError as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        note = _proxy_note(address, settings)
        raise FetchError(f"{address.authority} cannot be reached or broke off: {said}.{note}") from None
    finally:
        await transport.aclose()


async def _first_answer(
    transport: httpx.AsyncHTTPTransport,
    address: WebAddress,
    found: Sequence[IPAddress | None],
    headers: Mapping[str, str],
    settings: WebSettings,
) -> httpx.Response:
    """Ask at one address after another until one takes the connection."""
    import httpx

    tried = found[:_TRIED]
    for each in tried:
        try:
            return await transport.handle_async_request(_request(address, each, headers, settings, len(tried)))
        except (httpx.ConnectError, httpx.ConnectTimeout):
            if each == tried[-1]:
                raise
        except (httpx.InvalidURL, ValueError) as error:  # a proxy with an address of no shape shows only here
            raise FetchError(f"{address.authority} cannot be asked ({type(error).__name__}).") from None
    raise AssertionError("a host has an address")


def _request(
    address: WebAddress, found: IPAddress | None, headers: Mapping[str, str], settings: WebSettings, count: int
) -> httpx.Request:
    """Return the request for a page; ``None`` leaves finding the host to a proxy."""
    import httpx

    host = address.host if found is None else str(found)
    connect = settings.connect / count
    times = {"connect": connect, "read": settings.idle, "write": settings.idle, "pool": settings.connect}
    return httpx.Request(
        "GET",
        httpx.URL(scheme=address.scheme, host=host, port=address.port, raw_path=address.target.encode("ascii")),
        headers={**headers, "host": address.authority},
        extensions={"timeout": times, "sni_hostname": address.host},
    )


def environment_proxy(scheme: str, host: str) -> str | None:
    """Return the proxy that the environment names for a host."""
    proxies = getproxies()
    if proxy_bypass(host):
        return None
    return proxies.get(scheme) or proxies.get("all")


async def _lookup_for_proxy(address: WebAddress, settings: WebSettings) -> tuple[None]:
    """Check a host as far as it can be known here: behind a proxy names often cannot be looked up."""
    try:
        await lookup(address, settings)
    except FetchError:
        check_address(address, settings.allowed)
    return (None,)


def _silence(error: httpx.TimeoutException, settings: WebSettings) -> str:
    import httpx

    if isinstance(error, (httpx.ConnectTimeout, httpx.PoolTimeout)):
        return f"did not take the connection within {settings.connect:g} s."
    return f"sent nothing for {settings.idle:g} s."


def _proxy_note(address: WebAddress, settings: WebSettings) -> str:
    """Say what to do where the only way out may be a proxy that we do not use unasked."""
    if settings.through_proxy or environment_proxy(address.scheme, address.host) is None:
        return ""
    return f" The environment names a proxy, which is not used for pages unless {PROXY_VARIABLE}=1 is set."
