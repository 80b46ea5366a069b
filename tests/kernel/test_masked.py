"""Credentials are kept out of what code shows and leaves behind."""

from __future__ import annotations

import asyncio
import base64
import sys
from typing import ClassVar

import pytest

from tests.kernels import running_kernel
from zidane_lab.kernel.embedded import embedded_shell
from zidane_lab.kernel.execution import ErrorInfo, Execution, Output
from zidane_lab.kernel.live import LiveExecutor
from zidane_lab.kernel.masked import MaskedExecutor, mask_execution, masked_listener, secrets_under_names
from zidane_lab.secrets.masking import unmask
from zidane_lab.secrets.screen import Screen
from zidane_lab.secrets.vault import Vault

KEY = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
PICTURE = base64.b64encode(b"\x89PNG" * 100).decode()


@pytest.fixture
def screen():
    return Screen(Vault(b"k"))


@pytest.fixture
def run(screen, capsys):
    """Run code with the screen in a shell of its own; return the evidence and what was drawn."""

    def run(code, **names):
        shell = embedded_shell(dict(names))
        drawn = []
        publish = type(shell.display_pub).publish
        type(shell.display_pub).publish = lambda _self, data, _metadata=None, **_: drawn.append(data)
        executor = LiveExecutor(shell)
        executor.screen = screen
        try:
            execution = asyncio.run(executor.execute(code))
        finally:
            type(shell.display_pub).publish = publish
        out, err = capsys.readouterr()
        return execution, out, err, drawn

    return run


def test_streams_displays_values_and_tracebacks(run, screen):
    code = (
        "import sys\nshow = get_ipython().display_pub.publish\nprint('one', key)\nfor c in key: sys.stderr.write(c)\n"
        f"show({{'text/html': '<b>' + key + '</b>'}})\nshow({{'image/png': {PICTURE!r}, 'text/plain': key}})\n"
        "print('two')\nkey"
    )
    execution, out, err, drawn = run(code, key=KEY)
    placeholder = screen.vault.add(KEY)
    assert out == f"one {placeholder}\ntwo\n"
    assert placeholder in err
    assert KEY not in repr((execution, out, err, drawn))
    assert drawn[0]["text/html"] == f"<b>{placeholder}</b>"
    assert drawn[1] == {"image/png": PICTURE, "text/plain": placeholder}
    assert drawn[-1]["text/plain"] == f"'{placeholder}'"
    assert [output.kind for output in execution.outputs][:3] == ["stdout", "stderr", "display"]
    failed, *rest = run("raise ValueError('no ' + key)", key=KEY)
    assert KEY not in repr((failed, rest))
    assert placeholder in failed.error.message
    assert placeholder in failed.error.traceback


def test_what_waits_is_shown_before_a_display_and_at_the_end(run):
    execution, out, _, drawn = run(
        "print('ghp_', end='')\nget_ipython().display_pub.publish({'text/plain': '1'})\nprint('sk-', end='')"
    )
    assert out == "ghp_sk-"
    assert [output.text for output in execution.outputs if output.kind == "stdout"] == ["ghp_", "sk-"]
    assert len(drawn) == 1


def test_code_that_keeps_our_functions_shows_no_more(screen, capsys):
    shell = embedded_shell({"key": KEY})
    drawn = []
    shell.display_pub.publish = lambda data, _metadata=None, **_: drawn.append(data)
    executor = LiveExecutor(shell)
    executor.screen = screen
    for code in (
        "import sys\nshow, say = get_ipython().display_pub.publish, sys.stdout.write",
        "show({'application/json': {'a': [key]}}); say(key + chr(10));",
    ):
        asyncio.run(executor.execute(code))
    assert drawn == [{"application/json": {"a": [screen.vault.add(KEY)]}}]
    assert capsys.readouterr().out == f"{screen.vault.add(KEY)}\n"


def test_variables_with_a_credentials_name_are_known(run):
    execution, out, *_ = run("db_password = 'Tr0mbone-' + str(42)\nprint(db_password)\nnote = db_password\nnote")
    assert "Tr0mbone-42" not in repr((execution, out)).replace("'Tr0mbone-' + str(42)", "")


def test_names_are_looked_at_again_only_when_one_has_come_or_gone():
    namespace = {"api_key": "Zx8vQm3kLw9tRb5n", "password": "password", "note": "Zx8vQm3kLw9tRb5m", "token": 3}
    source = secrets_under_names(namespace)
    assert list(source()) == ["Zx8vQm3kLw9tRb5n"]
    assert list(source()) == []
    namespace["client_secret"] = "Yx8vQm3kLw9tRb5n"
    assert list(source()) == ["Yx8vQm3kLw9tRb5n"]


def test_a_variable_that_is_given_another_value_is_known_by_it():
    namespace = {"password": "Zx8vQm3kLw9tRb5n", "a": 1}
    source = secrets_under_names(namespace)
    assert list(source()) == ["Zx8vQm3kLw9tRb5n"]
    namespace["password"] = "Yx8vQm3kLw9tRb5n"
    assert list(source()) == ["Yx8vQm3kLw9tRb5n"]
    del namespace["a"]
    namespace["secret"] = "Xx8vQm3kLw9tRb5n"
    assert list(source()) == ["Xx8vQm3kLw9tRb5n"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("token_pattern", r"(?u)\b\w\w+\b"),
        ("api_key_column", "customer_id_1"),
        ("password_hint", "my 1st pet's name"),
        ("pad_token", "<|pad_0|>"),
        ("token", "##ing_v2"),
        ("special_token", "[unused_12]"),
        ("password", "password"),
    ],
)
def test_what_is_only_about_credentials_is_none(name, value):
    assert list(secrets_under_names({name: value})()) == []


def test_without_a_screen_nothing_changes(capsys):
    executor = LiveExecutor(embedded_shell({"key": KEY}))
    execution = asyncio.run(executor.execute("print(key)"))
    assert execution.outputs[0].text == f"{KEY}\n" == capsys.readouterr().out


def test_evidence_is_masked_and_keeps_its_pictures(screen):
    execution = Execution(
        f"use('{KEY}')",
        "error",
        (Output("stdout", f"a {KEY}"), Output("value", data={"text/plain": KEY, "image/png": PICTURE})),
        ErrorInfo("ValueError", KEY, f"Traceback {KEY}"),
        (f"Warning: {KEY}",),
        created=("x",),
    )
    masked = mask_execution(execution, screen)
    assert KEY not in repr(masked)
    assert masked.outputs[1].data["image/png"] == PICTURE
    assert unmask(masked.code, screen.vault) == execution.code
    assert masked.created == ("x",)


@pytest.mark.asyncio
async def test_any_executor_can_be_masked(screen):
    class Other:
        namespace: ClassVar = {"service_token": "Zx8vQm3kLw9tRb5nPq7"}
        meanings: ClassVar = {"sp": "subprocess"}

        async def execute(self, code, *, timeout=None):
            return Execution(code, "ok", (Output("stdout", f"{KEY} Zx8vQm3kLw9tRb5nPq7"),))

        async def list_variables(self, *, pattern=None, limit=200):
            return {"variables": [{"name": "x", "summary": f"str {KEY[:30]}…"}]}

        async def inspect_variable(self, name, *, budget=4000):
            return f"{name} = {KEY}"

    masked = MaskedExecutor(Other(), screen)
    assert masked.meanings == {"sp": "subprocess"}
    found = (await masked.execute("1"), await masked.list_variables(), await masked.inspect_variable("x"))
    assert KEY[:30] not in repr(found)
    assert "Zx8vQm3kLw9tRb5nPq7" not in repr(found)


def test_outputs_of_a_kernel_elsewhere_are_masked_where_they_are(screen):
    heard = []
    listener = masked_listener(lambda *args: heard.append(args), screen)
    display = {
        "output_type": "display_data",
        "data": {"text/plain": "first"},
        "metadata": {},
        "transient": {"display_id": "d"},
    }
    listener("1", Execution("1", "ok"), [display], 1)
    display["data"] = {"text/plain": KEY}  # an update by later code
    stream = {"output_type": "stream", "name": "stdout", "text": KEY}
    error = {"output_type": "error", "ename": "X", "evalue": KEY, "traceback": [KEY]}
    listener(f"x = '{KEY}'", Execution(KEY, "ok"), [stream, error], 2)
    assert KEY not in repr((heard, display, stream, error))
    assert heard[1][2][0] is stream


@pytest.mark.kernel
def test_in_a_real_kernel_nothing_is_seen(tmp_path):
    """Also what subprocesses and the C library write to the file descriptor, and what comes in pieces."""
    with running_kernel(tmp_path) as kernel:
        kernel.ok(
            "import asyncio, os, subprocess, sys, time\nfrom zidane_lab.kernel.live import LiveExecutor\n"
            "from zidane_lab.secrets.screen import Screen\nfrom zidane_lab.secrets.vault import Vault\n"
            f"_executor = LiveExecutor()\n_executor.screen = Screen(Vault(b'k'))\nhalves = {KEY[:19]!r}, {KEY[19:]!r}"
        )
        code = (
            "os.write(1, halves[0].encode()); time.sleep(0.2); os.write(1, (halves[1] + '\\n').encode())\n"
            "time.sleep(0.5)  # another thread brings what is written to the descriptor\n"
            "subprocess.run(['echo', ''.join(halves)])\n"
            "sys.stdout.write(halves[0]); sys.stdout.flush(); sys.stdout.write(halves[1] + '\\n')\n"
            "!echo {''.join(halves)}\n"
            "display({'text/html': ''.join(halves)}, raw=True)\n''.join(halves)"
        )
        cell = kernel.ok(f"_e = await _executor.execute({code!r})", timeout=60)
        shown = cell.stream("stdout") + cell.stream("stderr") + repr(cell.displays)
        assert KEY not in shown
        assert shown.count("[secret:github-token:") == 6
        assert kernel.value("''.join(halves) in repr(_e)") is False
        assert kernel.value("len(_e.outputs)") >= 3


def test_the_tests_key_is_one():
    assert KEY in sys.modules[__name__].KEY
