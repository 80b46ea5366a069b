from __future__ import annotations

import pytest

from zidane_lab.approvals.decisions import Question
from zidane_lab.approvals.gate import Gate
from zidane_lab.approvals.headless import Audit, Unattended, read_declaration, verify_audit
from zidane_lab.errors import ConfigurationError
from zidane_lab.events import Ids, ToolGate

WHOLE = {
    "actor": "nightly report",
    "budget": {"tokens": 1e6, "tool_calls": 50, "seconds": 600, "usd": 2},
    "scopes": ["read", "execute"],
    "allow": ["shell:make:*", "fetch_url:example.org"],
}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        *[({part: None}, part) for part in WHOLE],
        ({"actor": " "}, "actor"),
        ({"budget": {"tokens": 1}}, "not whole"),
        ({"budget": {**WHOLE["budget"], "usd": 0}}, "not whole"),
        ({"budget": {**WHOLE["budget"], "usd": True}}, "not whole"),
        ({"budget": {**WHOLE["budget"], "usd": float("inf")}}, "not whole"),
        ({"budget": None}, "budget"),
        ({"scopes": "execute"}, "scopes"),
        ({"scopes": ["everything"]}, "everything"),
        ({"allow": ["shell:make"]}, "shell:make"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_declaration_is_whole_or_refused(change, word):
    raw = {key: value for key, value in {**WHOLE, **change}.items() if value is not None}
    with pytest.raises(ConfigurationError, match=word):
        read_declaration(raw)


def test_no_limit_must_be_said():
    assert read_declaration({**WHOLE, "budget": "unbounded", "allow": []}).budget == "unbounded"


async def decide(tool, arguments, raw=WHOLE):
    unattended = Unattended(read_declaration(raw))
    event = ToolGate(Ids(), tool, arguments)
    await Gate(unattended, tiers={"fetch_url": "network"})(event)
    return event.block, unattended.audit.since()


@pytest.mark.asyncio
async def test_what_is_declared_runs_and_everything_else_does_not():
    assert (await decide("shell", {"command": "make all"}))[0] is None
    assert (await decide("shell", {"command": "ls"})) == (None, ())
    assert "not among what was declared" in (await decide("shell", {"command": "make; rm x"}))[0]
    assert "not among" in (await decide("shell", {"command": "bash -c make"}))[0]
    assert "as far as network" in (await decide("fetch_url", {"url": "https://example.org"}))[0]
    wider = {**WHOLE, "scopes": ["network"]}
    assert (await decide("fetch_url", {"url": "https://example.org"}, wider))[0] is None
    assert (await decide("fetch_url", {"url": "https://evil.org"}, wider))[0] is not None


@pytest.mark.asyncio
async def test_decisions_are_kept_in_a_chain_without_what_was_asked_about():
    written = []
    unattended = Unattended(read_declaration(WHOLE), Audit(written.append))
    for command in ("make", "make KEY=hunter2", "rm x"):
        await unattended(Question("shell", "", command, remember=(f"shell:{command.split()[0]}:*",)))
    records = unattended.audit.since()
    assert [record["decision"] for record in records] == ["once", "once", "deny"]
    assert list(records) == written
    assert "hunter2" not in str(records)
    assert unattended.audit.since(2) == records[2:]
    assert verify_audit(records)
    assert not verify_audit(records[1:])
    assert not verify_audit([records[0], records[2]])
    assert not verify_audit([{**records[0], "decision": "deny"}, *records[1:]])


@pytest.mark.asyncio
async def test_a_page_that_is_declared_may_be_read_by_whichever_tool():
    raw = {"actor": "a", "budget": "unbounded", "scopes": ["network"], "allow": ["fetch_url:example.org"]}
    ask = Unattended(read_declaration(raw))
    entries = ("fetch_url:example.org",)
    assert (await ask(Question("read_file", "", "x", remember=entries, reach="network"))).decision == "once"
    assert (
        await ask(Question("read_file", "", "x", remember=("fetch_url:other.org",), reach="network"))
    ).decision == "deny"
