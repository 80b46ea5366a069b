from __future__ import annotations

import asyncio
import datetime as dt
import gzip
import ssl
import zlib

import pytest

from tests.tools.web.support import Server, answer, redirect, resolver, settings_for
from zidane_lab.errors import ToolNotAllowedError
from zidane_lab.tools.web.addresses import Allowed
from zidane_lab.tools.web.connecting import FetchError
from zidane_lab.tools.web.fetching import fetch
from zidane_lab.tools.web.settings import WebSettings

pytestmark = pytest.mark.asyncio


async def test_a_page_comes_with_its_type_and_the_request_says_who_we_are():
    async with Server({"/a?b=1": answer("héllo", "text/plain; charset=UTF-8")}) as server:
        fetched = await fetch(server.url("/a?b=1#part"), settings_for(server))
        assert (fetched.status, fetched.media_type, fetched.charset) == (200, "text/plain", "utf-8")
        assert fetched.body.data.decode() == "héllo"
        head = server.heads[0].lower()
        assert head.startswith("get /a?b=1 http/1.1\r\n")
        assert f"host: 127.0.0.1:{server.port}\r\n" in head
        assert "user-agent: zidane_lab/" in head
        assert "cookie" not in head
        assert "authorization" not in head


async def test_the_connection_goes_to_the_address_that_was_checked_and_names_are_looked_up_once():
    """A name that is public when it is checked and private when it is connected to: DNS rebinding."""
    answers = iter(["127.0.0.1", "127.0.0.2"])
    resolve = resolver(docs_example_com=lambda: next(answers))
    async with Server({"/": answer("ok", "text/plain")}) as server:
        settings = settings_for(server, "docs.example.com:PORT", resolver=resolve)
        fetched = await fetch(server.url(host="docs.example.com"), settings)
        assert fetched.body.data == b"ok"
        assert resolve.asked == ["docs.example.com"]
        assert f"host: docs.example.com:{server.port}" in server.heads[0].lower()


async def test_a_name_that_turns_private_between_two_pages_is_refused_the_second_time():
    answers = iter(["127.0.0.1", "127.0.0.2"])
    async with Server({"/": answer("ok"), "/go": redirect("/")}) as server:
        allowed = Allowed.parse([f"127.0.0.1:{server.port}"])
        settings = WebSettings(allowed=allowed, resolver=resolver(docs_example_com=lambda: next(answers)))
        with pytest.raises(ToolNotAllowedError, match=r"leads to 127\.0\.0\.2"):
            await fetch(server.url("/go", host="docs.example.com"), settings)
        assert server.paths == ["/go"]


async def test_the_next_address_is_tried_where_one_takes_no_connection():
    async with Server({"/": answer("ok")}) as server:
        resolve = resolver(docs_example_com=["127.0.0.9", "127.0.0.1"])
        settings = settings_for(server, "docs.example.com:PORT", resolver=resolve)
        assert (await fetch(server.url(host="docs.example.com"), settings)).body.data == b"ok"


async def test_nothing_is_sent_to_an_address_that_is_not_allowed():
    async with Server({"/": answer("secret")}) as server:
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
            with pytest.raises(ToolNotAllowedError):
                await fetch(server.url(host=host), WebSettings())
        with pytest.raises(ToolNotAllowedError, match="loopback"):
            await fetch(server.url(host="a.example.com"), WebSettings(resolver=resolver(a_example_com="127.0.0.1")))
        assert server.heads == []


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_redirects_on_the_same_site_are_followed(status):
    async with Server({"/a": redirect("b/../c?x=1", status), "/c?x=1": answer("there")}) as server:
        fetched = await fetch(server.url("/a"), settings_for(server))
        assert fetched.body.data == b"there"
        assert str(fetched.address) == server.url("/c?x=1")


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://[::1]/",
        "//localhost/admin",
        "http://2130706433/",
        "http://user:pw@example.com/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "http://printer.local/",
    ],
)
@pytest.mark.parametrize("anywhere", [False, True])
async def test_a_redirect_to_what_is_not_fetched_is_refused(location, anywhere):
    async with Server({"/": redirect(location)}) as server:
        with pytest.raises(ToolNotAllowedError, match="redirects elsewhere"):
            await fetch(server.url(), settings_for(server, follow_anywhere=anywhere))


async def test_a_redirect_to_a_name_that_leads_to_a_private_address_is_refused():
    resolve = resolver(evil_example_com="10.0.0.1")
    async with Server({"/": redirect("http://evil.example.com/")}) as server:
        settings = settings_for(server, follow_anywhere=True, resolver=resolve)
        with pytest.raises(ToolNotAllowedError, match="a private address"):
            await fetch(server.url(), settings)


async def test_a_redirect_to_another_site_is_told_not_followed_unless_that_is_wanted():
    async with Server({"/": answer("other")}) as other, Server({"/": redirect(other.url())}) as server:
        entry = f"127.0.0.1:{other.port}"
        fetched = await fetch(server.url(), settings_for(server, entry))
        assert str(fetched.moved_to) == other.url()
        assert other.heads == []
        followed = await fetch(server.url(), settings_for(server, entry, follow_anywhere=True))
        assert followed.body.data == b"other"


async def test_five_redirects_are_followed_and_no_sixth():
    routes = {f"/{n}": redirect(f"/{n - 1}") for n in range(1, 10)}
    async with Server({**routes, "/0": answer("end"), "/loop": redirect("/loop")}) as server:
        assert (await fetch(server.url("/5"), settings_for(server))).body.data == b"end"
        for path in ("/6", "/loop"):
            with pytest.raises(FetchError, match="more than 5 times"):
                await fetch(server.url(path), settings_for(server))


async def test_an_endless_body_is_read_to_the_limit_only():
    async def endless(writer):
        writer.write(answer(b"", content_length=None))
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()

    async with Server({"/": endless}) as server:
        body = (await fetch(server.url(), settings_for(server, most_bytes=300_000))).body
        assert body.cut
        assert len(body.data) == 300_000


@pytest.mark.parametrize("pack", ["gzip", "deflate"])
async def test_what_unpacks_to_far_too_much_is_unpacked_to_the_limit_only(pack):
    packed = gzip.compress(b"\0" * 50_000_000) if pack == "gzip" else zlib.compress(b"\0" * 50_000_000)
    assert len(packed) < 100_000
    async with Server({"/": answer(packed, content_encoding=pack)}) as server:
        body = (await fetch(server.url(), settings_for(server, most_bytes=200_000))).body
        assert body.cut
        assert len(body.data) == 200_000


async def test_a_slow_drip_is_given_up_when_the_time_for_a_page_is_over_and_what_came_is_kept():
    async def drip(writer):
        writer.write(answer(b"", content_length=None))
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with Server({"/": drip}) as server:
        body = (await fetch(server.url(), settings_for(server, idle=1, total=0.4))).body
        assert set(body.data) == {ord("x")}
        assert "still sending" in body.trouble


async def test_a_head_that_drips_for_ever_is_given_up():
    async def drip(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(10_000):
            writer.write(b"x-%d: y\r\n" % number)
            await writer.drain()
            await asyncio.sleep(0.02)

    async with Server({"/": drip}) as server:
        with pytest.raises(FetchError, match=r"took longer than 0\.4 s"):
            await fetch(server.url(), settings_for(server, idle=1, total=0.4))


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000,
        b"HTTP/1.1 200 OK\r\n" + b"a: " + b"b" * 400_000,
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 100_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 200_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\nabc",
    ],
    ids=["informational", "one", "many", "chunk", "lengths", "negative", "null"],
)
async def test_a_hostile_head_is_an_error_or_an_answer_in_the_time_for_a_page(head):
    async with Server({"/": head}) as server:
        try:
            fetched = await fetch(server.url(), settings_for(server, idle=1, total=5))
        except FetchError as error:
            assert error.message.isprintable()  # noqa: PT017 - either is fine
        else:
            assert len(fetched.body.data) <= 6 or fetched.body.trouble


async def test_a_head_is_read_for_what_it_may_say_and_nothing_else():
    routes = {
        "/": answer("x", "text/html Method: lies; charset=a!b", link="</a.md>; rel=alternate; type=text/markdown"),
        "/odd": answer("x", "\t<b>not/a type</b>", link="<" * 9_000),
        "/control": answer("x", "text/html\x0bMethod: lies"),
        "/go": redirect("/there\x0bx"),
    }
    async with Server(routes) as server:
        settings = settings_for(server)
        fetched = await fetch(server.url(), settings)
        assert (fetched.media_type, fetched.charset) == ("text/html", "a")
        assert fetched.alternates == (("text/markdown", "/a.md"),)
        odd = await fetch(server.url("/odd"), settings)
        assert (odd.media_type, odd.charset, odd.alternates) == ("", "", ())
        for path in ("/control", "/go"):
            with pytest.raises((ToolNotAllowedError, FetchError)):
                await fetch(server.url(path), settings)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "aes128gcm"])
async def test_what_is_packed_in_a_way_we_did_not_offer_is_not_read(encoding):
    async with Server({"/": answer(b"whatever" * 1_000, content_encoding=encoding)}) as server:
        fetched = await fetch(server.url(), settings_for(server))
        assert "accept-encoding: gzip, deflate\r\n" in server.heads[0].lower()
        assert fetched.body.data == b""
        assert f"packed as '{encoding}'" in fetched.body.trouble


async def test_a_server_that_never_answers_is_given_up():
    async def silent(writer):
        await asyncio.sleep(30)

    async with Server({"/": silent}) as server:
        with pytest.raises(FetchError, match=r"sent nothing for 0\.2 s"):
            await fetch(server.url(), settings_for(server, idle=0.2))


async def test_silence_in_the_middle_keeps_what_came_and_says_so():
    async def stuck(writer):
        writer.write(answer(b"beginning", content_length="1000"))
        await writer.drain()
        await asyncio.sleep(30)

    async with Server({"/": stuck}) as server:
        body = (await fetch(server.url(), settings_for(server, idle=0.2))).body
        assert body.data == b"beginning"
        assert "silent" in body.trouble


async def test_a_length_that_promises_more_than_comes_is_noted():
    async with Server({"/": answer("short", content_length="1000")}) as server:
        body = (await fetch(server.url(), settings_for(server))).body
        assert body.data == b"short"
        assert "broke" in body.trouble


async def test_what_follows_a_shorter_length_is_no_part_of_the_page():
    async with Server({"/": answer("0123456789", content_length="4")}) as server:
        assert (await fetch(server.url(), settings_for(server))).body.data == b"0123"


@pytest.mark.parametrize(
    "junk", [b"", b"\x00\x01\x02", b"HTTP/9.9 what\r\n\r\n", b"HTTP/1.1 200 OK\r\nbroken header\r\n\r\n"]
)
async def test_what_is_no_http_is_an_error_in_words(junk):
    async with Server({"/": junk}) as server:
        with pytest.raises(FetchError, match="cannot be reached or broke off"):
            await fetch(server.url(), settings_for(server))


async def test_a_port_where_nobody_listens_and_a_name_that_does_not_exist():
    async with Server() as server:
        settings, url = settings_for(server, resolver=resolver()), server.url()
    with pytest.raises(FetchError, match="cannot be reached"):
        await fetch(url, settings)
    with pytest.raises(FetchError, match=r"There is no host nowhere\.example\.com"):
        await fetch("http://nowhere.example.com/", settings)


async def test_a_lookup_that_hangs_is_given_up():
    async def hang(host, port):
        await asyncio.sleep(30)

    with pytest.raises(FetchError, match="not looked up"):
        await fetch("http://a.example.com/", WebSettings(connect=0.1, resolver=hang))


async def test_cookies_of_an_answer_are_not_sent_back():
    routes = {"/": answer(b"", status="302 Found", location="/b", set_cookie="id=1"), "/b": answer("ok")}
    async with Server(routes) as server:
        await fetch(server.url(), settings_for(server))
        assert len(server.heads) == 2
        assert "cookie" not in server.heads[1].lower()


async def test_cancelling_closes_the_connection():
    closed = asyncio.Event()

    async def watch(writer):
        writer.write(answer(b"", content_length=None))
        try:
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.01)
        except ConnectionError:
            closed.set()
            raise

    async with Server({"/": watch}) as server:
        task = asyncio.create_task(fetch(server.url(), settings_for(server)))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(closed.wait(), 5)


async def test_a_proxy_of_the_environment_is_used_only_where_that_is_set(monkeypatch):
    async with Server({"http://docs.example.com/": answer("by proxy", "text/plain")}) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url())
        monkeypatch.delenv("no_proxy", raising=False)
        resolve = resolver()
        with pytest.raises(FetchError, match="ZIDANE_WEB_PROXY=1"):
            await fetch("http://docs.example.com/", WebSettings(resolver=resolve))
        assert proxy.heads == []
        settings = WebSettings(resolver=resolve, through_proxy=True)
        assert (await fetch("http://docs.example.com/", settings)).body.data == b"by proxy"


@pytest.mark.parametrize(
    "proxy", ["ftp://me:SECRETWORD@h", "http://me:SECRETWORD@[bad", "http://me:SECRETWORD@h:99999999"]
)
async def test_a_proxy_that_cannot_be_used_is_an_error_without_its_password(monkeypatch, proxy):
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    settings = WebSettings(resolver=resolver(docs_example_com="93.184.216.34"), through_proxy=True, connect=1)
    with pytest.raises(FetchError) as caught:
        await fetch("http://docs.example.com/", settings)
    assert "SECRETWORD" not in str(caught.value)


async def test_a_proxy_is_not_asked_for_what_is_seen_to_be_private(monkeypatch):
    async with Server() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url())
        monkeypatch.delenv("no_proxy", raising=False)
        settings = WebSettings(resolver=resolver(evil_example_com="10.0.0.1"), through_proxy=True)
        for url in ("http://10.0.0.1/", "http://db.internal/", "http://evil.example.com/"):
            with pytest.raises(ToolNotAllowedError):
                await fetch(url, settings)
        assert proxy.heads == []


# --- certificates ---------------------------------------------------------------------------------


@pytest.fixture
def certificate(tmp_path, monkeypatch):
    """Return a server's side of TLS for docs.example.com, with a certificate that this test trusts."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "docs.example.com")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("docs.example.com")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "cert.pem"
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


async def test_the_certificate_is_that_of_the_name_though_the_connection_goes_to_a_number(certificate):
    asked = []
    certificate.sni_callback = lambda _socket, name, _context: asked.append(name)
    resolve = resolver(docs_example_com="127.0.0.1", other_example_com="127.0.0.1")
    async with Server({"/": answer("safe")}, tls=certificate) as server:
        settings = settings_for(server, "*.example.com:PORT", resolver=resolve)
        fetched = await fetch(server.url(host="docs.example.com", scheme="https"), settings)
        assert fetched.body.data == b"safe"
        assert asked == ["docs.example.com"]
        for host in ("other.example.com", "127.0.0.1"):
            with pytest.raises(FetchError, match="certificate"):
                await fetch(server.url(host=host, scheme="https"), settings)
        assert len(server.heads) == 1
