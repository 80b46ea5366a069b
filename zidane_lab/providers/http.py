"""One way to ask a service over HTTP, and to stop asking.

A thin layer over an ``httpx`` client: explicit time limits, the errors of our tree, and connections that close
at once when nobody reads any more. httpx is imported on first use.

There is no limit on the whole answer, which may take many minutes. A service that sends nothing, not even a
keep-alive comment, for ``idle`` seconds is given up.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from zidane_lab.errors import AuthError, ConfigurationError, NetworkError, ProviderError, StreamInterruptedError
from zidane_lab.providers.failures import classify
from zidane_lab.providers.waits import human_seconds

if TYPE_CHECKING:
    import httpx

__all__ = ["IDLE_SECONDS", "MAX_REFUSAL_BYTES", "HttpClient", "HttpReply", "is_local"]

CONNECT_SECONDS: Final = 10.0
WRITE_SECONDS: Final = 30.0
POOL_SECONDS: Final = 10.0
IDLE_SECONDS: Final = 300.0
"""Default silence after which a service is given up."""

KEEP_SECONDS: Final = 60.0
"""How long an idle connection is kept for the next turn."""

MAX_REFUSAL_BYTES: Final = 64 * 1024
"""How much of a refusal is read."""

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
"""Longest answer accepted in one piece."""


class HttpReply:
    """A successful answer whose body is still to be read."""

    def __init__(self, client: HttpClient, response: httpx.Response) -> None:
        self._client = client
        self._response = response

    @property
    def is_event_stream(self) -> bool:
        """Whether the body is to be read as Server-Sent Events, which some servers do not announce."""
        kind = _media_type(self._response)
        return not (kind.startswith("application/") and kind.endswith(("json", "+json")))

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives.

        Raises
        ------
        StreamInterruptedError
            The connection broke, or stayed silent for too long.
        """
        import httpx

        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except httpx.ReadTimeout as error:
            raise StreamInterruptedError(
                f"{self._client.provider}: nothing came for {human_seconds(self._client.idle)}; gave up waiting.",
                provider=self._client.provider,
            ) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise StreamInterruptedError(
                f"{self._client.provider}: the connection broke in the middle of the answer ({type(error).__name__}).",
                provider=self._client.provider,
            ) from error

    async def body(self) -> bytes:
        """Read the whole body.

        Raises
        ------
        StreamInterruptedError
            The connection broke.
        ProviderError
            The body is absurdly long.
        """
        out = bytearray()
        async for chunk in self.chunks():
            out += chunk
            if len(out) > MAX_BODY_BYTES:
                raise ProviderError(
                    f"{self._client.provider}: the answer is longer than {MAX_BODY_BYTES} bytes.",
                    provider=self._client.provider,
                    hint="This is no model's answer; look at what stands behind the base URL.",
                )
        return bytes(out)

    def refusal(self, body: bytes) -> ProviderError:
        """Return the error that ``body`` means, once it has turned out to be no answer after all."""
        return self._client.refusal(self._response, body)


class HttpClient:
    """Sends requests of one provider.

    Parameters
    ----------
    provider
        Name of the provider, for messages.
    secrets
        Texts that no message may repeat, should the service quote them.
    idle
        Seconds of silence after which the service is given up.
    transport
        An httpx transport to use instead of the network.
    """

    def __init__(
        self,
        provider: str,
        *,
        secrets: tuple[str, ...] = (),
        idle: float = IDLE_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.provider, self.idle = provider, idle
        self._secrets = secrets
        self._transport = transport
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def post(self, url: str, *, headers: Mapping[str, str], content: bytes) -> AsyncIterator[HttpReply]:
        """Send ``content`` (JSON) and give the answer, if it is a success; close the connection on leaving.

        Raises
        ------
        NetworkError
            The service cannot be reached.
        ConfigurationError
            The address is none.
        AuthError
            The key cannot be written into a header.
        ProviderError
            The service refused; the subclass tells the cause.
        """
        response = await self._send(url, headers, content)
        try:
            if not response.is_success or _media_type(response) == "text/html":
                raise await self._refusal(response)
            yield HttpReply(self, response)
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Release everything."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _send(self, url: str, headers: Mapping[str, str], content: bytes) -> httpx.Response:
        import httpx

        sent = {
            "content-type": "application/json",
            "accept": "text/event-stream, application/json",
            # A compressed stream is often a buffered one.
            "accept-encoding": "identity",
            "user-agent": "zidane_lab",
            **headers,
        }
        try:
            client = self._open()
            request = client.build_request("POST", url, headers=sent, content=content)
            return await self._send_on_a_live_connection(client, request)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ConfigurationError(
                f"{self.provider}: the base URL is not a web address.", hint="Write it as in https://host/v1."
            ) from error
        except httpx.ReadTimeout as error:
            raise NetworkError(
                f"{self.provider}: no answer for {human_seconds(self.idle)}; gave up waiting.", provider=self.provider
            ) from error
        except (httpx.LocalProtocolError, UnicodeError):
            # Without the cause: its text, and its traceback, would quote the header.
            raise AuthError(
                f"{self.provider}: the key cannot be sent; it holds characters that no key has.",
                provider=self.provider,
                hint="It was probably copied with a line break or quotation marks; set it again.",
            ) from None
        except httpx.TransportError as error:
            raise NetworkError(
                f"{self.provider}: {request.url.host} cannot be reached ({type(error).__name__}).",
                provider=self.provider,
            ) from error

    @staticmethod
    async def _send_on_a_live_connection(client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
        """Send, and send again if the connection kept from an earlier turn turns out to be closed by the server."""
        import httpx

        opened: list[str] = []

        async def trace(event: str, _info: Mapping[str, Any]) -> None:
            if event.startswith("connection.connect_"):
                opened.append(event)

        request.extensions = {**request.extensions, "trace": trace}
        try:
            return await client.send(request, stream=True)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            if opened:
                raise
            return await client.send(request, stream=True)

    def refusal(self, response: httpx.Response, body: bytes) -> ProviderError:
        """Return the error that an answer means."""
        return classify(
            provider=self.provider,
            status=response.status_code,
            headers=response.headers,
            body=body[:MAX_REFUSAL_BYTES],
            secrets=self._secrets,
            base_url=str(response.request.url),
        )

    async def _refusal(self, response: httpx.Response) -> ProviderError:
        import httpx

        body = bytearray()
        try:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_REFUSAL_BYTES:
                    break
        except (httpx.TransportError, httpx.DecodingError):
            body += b" (the rest of the refusal was lost)"
        return self.refusal(response, bytes(body))

    def _open(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:  # connections cannot move to another loop
            import httpx

            self._loop = loop
            self._client = httpx.AsyncClient(
                timeout=httpx.Timeout(connect=CONNECT_SECONDS, write=WRITE_SECONDS, pool=POOL_SECONDS, read=self.idle),
                limits=httpx.Limits(max_keepalive_connections=4, keepalive_expiry=KEEP_SECONDS),
                transport=self._transport,
            )
        return self._client


def is_local(base_url: str) -> bool:
    """Tell whether an address is on this machine or in its private network, where tokens cost nothing."""
    try:
        host = urlsplit(base_url).hostname or ""
    except ValueError as error:
        raise ConfigurationError(
            f"{base_url!r} is not a web address.", hint="Write the base URL as in https://host/v1."
        ) from error
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local", ".internal"))


def _media_type(response: httpx.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()
