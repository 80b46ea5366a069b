"""Code in the kernel we live in: evidence, live outputs, and interrupts that mean it (a real kernel)."""

from __future__ import annotations

import time

import pytest

from tests.kernels import running_kernel

pytestmark = pytest.mark.kernel

SETUP = """
import asyncio, dataclasses
from zidane_lab.kernel.live import LiveExecutor
_executor = LiveExecutor()
async def _run(code, **options):
    e = await _executor.execute(code, **options)
    return {**dataclasses.asdict(e), "kinds": [o.kind for o in e.outputs], "texts": [o.text or o.data.get("text/plain") for o in e.outputs]}
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    with running_kernel(tmp_path_factory.mktemp("live")) as kernel:
        kernel.ok(SETUP)
        yield kernel


def run(kernel, code, **options):
    """Run ``code`` by the executor inside a cell; return the evidence and the cell."""
    cell = kernel.ok(f"_e = await _run({code!r}, **{options!r})", timeout=60)
    evidence = kernel.value("{k: v for k, v in _e.items() if k != 'outputs'}")
    return evidence, cell


def test_outputs_come_in_order_and_are_seen_live(kernel):
    code = "import sys\nprint('one')\nprint('two', file=sys.stderr)\ndisplay('three')\nprint('four')\n5"
    evidence, cell = run(kernel, code)
    assert evidence["kinds"] == ["stdout", "stderr", "display", "stdout", "value"]
    assert evidence["texts"] == ["one\n", "two\n", "'three'", "four\n", "5"]
    assert cell.stream("stdout") == "one\nfour\n"
    assert cell.stream("stderr") == "two\n"
    assert [data["text/plain"] for data in cell.displays] == ["'three'", "5"]
    assert evidence["status"] == "ok"
    assert 0 < evidence["wall_seconds"] < 5
    assert evidence["cpu_seconds"] is not None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import asyncio\nawait asyncio.sleep(0.01)\n'awaited'", "'awaited'"),
        ("%precision 3\n3.14159265", "3.142"),
        ("x = !echo from-the-shell\nx[0]", "'from-the-shell'"),
        ("%%time\nsum([1, 2])", "3"),
        ("if True:\n    y = 2\ny", "2"),
    ],
)
def test_code_behaves_as_in_a_cell(kernel, code, expected):
    evidence, _ = run(kernel, code)
    assert evidence["status"] == "ok", evidence["error"]
    assert expected in evidence["texts"]


def test_a_semicolon_hides_the_value_and_none_is_not_shown(kernel):
    assert run(kernel, "1 + 1;")[0]["kinds"] == []
    assert run(kernel, "None")[0]["kinds"] == []


def test_long_plain_values_are_shown_folded_and_recorded_whole(kernel):
    evidence, cell = run(kernel, "{n: '<b>' for n in range(200)}")
    (shown,) = cell.displays
    assert shown["text/plain"] == evidence["texts"][0]
    assert shown["text/plain"].count("\n") == 199
    assert shown["text/html"].startswith("<details><summary><code>{0: ")
    assert "(200 lines)" in shown["text/html"]
    assert "<b>" not in shown["text/html"]
    assert set(run(kernel, "[1, 2]")[1].displays[0]) == {"text/plain"}


def test_shell_commands_and_subprocesses_are_seen(kernel):
    evidence, cell = run(kernel, "!echo hello from sh\nimport os\ncode = os.system('echo hello from a child')")
    assert "hello from sh" in "".join(evidence["texts"])
    assert "hello from a child" in "".join(evidence["texts"])
    assert "hello from sh" in cell.stream("stdout")
    assert "hello from a child" in cell.stream("stdout")


def test_figures_appear_with_their_piece_of_code(kernel):
    code = "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.title('t')\nprint('before')"
    evidence, cell = run(kernel, code)
    assert evidence["kinds"][-1] == "display"
    assert kernel.value("'image/png' in _e['outputs'][-1]['data']")
    (picture,) = [data for data in cell.displays if "image/png" in data]
    assert picture["image/png"] == kernel.value("_e['outputs'][-1]['data']['image/png']")
    assert run(kernel, "1")[0]["kinds"] == ["value"]  # not shown a second time


def test_an_error_is_evidence_not_a_failed_cell(kernel):
    code = "before = 1\ndef f(x):\n    return 1 / x\nf(0)\nafter = 2"
    evidence, cell = run(kernel, code)
    assert (cell.status, cell.error) == ("ok", {})
    assert (evidence["status"], evidence["error"]["name"]) == ("error", "ZeroDivisionError")
    assert "line 3, in f\n    return 1 / x" in evidence["error"]["traceback"]
    assert "\x1b" not in evidence["error"]["traceback"]
    assert "IPython" not in evidence["error"]["traceback"]
    assert evidence["created"] == ("before", "f")


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("1 +", "SyntaxError"),
        ("  x = 1\n y = 2", "IndentationError"),
        ("%nosuchmagic", "UsageError"),
        ("raise SystemExit", "SystemExit"),
    ],
)
def test_other_failures(kernel, code, name):
    evidence, cell = run(kernel, code)
    assert cell.status == "ok"
    if name == "UsageError":  # IPython prints these and carries on
        assert "nosuchmagic" in str(evidence)
    else:
        assert evidence["error"]["name"] == name


def test_names_created_changed_and_deleted(kernel):
    run(kernel, "alpha = [1]\nbeta = 2\ngamma = 3")
    evidence, _ = run(kernel, "alpha.append(2)\nbeta = 5\ndel gamma\ndelta = 4")
    assert (evidence["created"], evidence["changed"], evidence["deleted"]) == (
        ("delta",),
        ("alpha", "beta"),
        ("gamma",),
    )


def test_warnings_are_noted_and_shown(kernel):
    evidence, cell = run(kernel, "import warnings\nwarnings.simplefilter('always')\nwarnings.warn('mind the gap')")
    assert evidence["warnings"] == ("UserWarning: mind the gap",)
    assert "mind the gap" in cell.stream("stderr")


def test_memory_growth_is_measured(kernel):
    evidence, _ = run(kernel, "big = bytearray(200_000_000)\ndel big")
    assert evidence["peak_memory"] > 150_000_000


def test_the_users_history_stays_theirs(kernel):
    kernel.ok("41 + 1")
    run(kernel, "'not yours'")
    assert kernel.value("Out and list(Out.values())[-1]") == 42
    assert kernel.value("_") == 42
    assert not any("not yours" in str(line) and "_run" not in str(line) for line in kernel.value("In"))


def test_displays_updated_later_are_recorded_as_the_page_shows_them(kernel):
    code = "h = display('old', display_id=True)\nh.update('new')"
    evidence, cell = run(kernel, code)
    assert evidence["texts"] == ["'new'"]
    assert [data["text/plain"] for data in cell.displays] == ["'new'"]


def test_clear_output_clears_the_record_but_not_the_page(kernel):
    evidence, cell = run(kernel, "from IPython.display import clear_output\nprint('a')\nclear_output()\nprint('b')")
    assert evidence["texts"] == ["b\n"]
    assert "clear_output" not in [message["msg_type"] for message in cell.messages]


def test_endless_output_is_kept_but_shown_in_part(kernel):
    evidence, cell = run(kernel, "for n in range(60_000): print('line', n)")
    assert len(evidence["texts"][0]) > 600_000
    assert len(cell.stream("stdout")) < 220_000
    assert "kept but not shown" in cell.stream("stdout")


def test_a_redirected_stdout_still_works(kernel):
    code = "import io, contextlib\nb = io.StringIO()\nwith contextlib.redirect_stdout(b): print('in')\nprint('out', b.getvalue())"
    evidence, _ = run(kernel, code)
    assert evidence["texts"] == ["out in\n\n"]
    kernel.ok("print('still here')")


# --- interrupts -------------------------------------------------------------------------------------

SLEEPERS = {
    "sync": "print('on', flush=True)\nimport time\ntime.sleep(30)",
    "busy": "print('on', flush=True)\nwhile True: pass",
    "async": "print('on', flush=True)\nimport asyncio\nawait asyncio.sleep(30)",
    "blocking in async": "import time\nasync def f():\n    print('on', flush=True)\n    time.sleep(30)\nawait f()",
    "blocking in a task": (
        "import asyncio, time\nasync def f():\n    print('on', flush=True)\n    time.sleep(30)\n"
        "await asyncio.gather(f(), asyncio.sleep(1))"
    ),
    "where it is lost": (
        "import time\nclass A:\n    def __del__(self):\n        print('on', flush=True)\n        time.sleep(30)\n"
        "a = A()\ndel a\ntime.sleep(30)"
    ),
    "subprocess": "print('on', flush=True)\n!sleep 30",
}


@pytest.mark.parametrize("kind", SLEEPERS)
def test_an_interrupt_ends_the_code_within_a_second_and_not_the_cell(kernel, kind):
    shown = []
    msg = kernel.start(f"_e = await _run({SLEEPERS[kind]!r})")
    moments = kernel.interrupt_when(lambda: bool(shown))
    cell = kernel.finish(msg, on_message=lambda m: shown.append(m) if m["msg_type"] == "stream" else None)
    assert time.monotonic() - moments[0] < 1.5
    assert cell.status == "ok", cell.error
    assert kernel.value("_e['status']") == "interrupted"
    if kind != "subprocess":  # IPython itself ends the child and goes on
        assert kernel.value("_e['error']['name']") == "KeyboardInterrupt"
    assert kernel.value("1 + 1") == 2  # the kernel lives


@pytest.mark.parametrize("kind", ["sync", "async", "blocking in a task"])
def test_a_timeout_interrupts_and_says_so(kernel, kind):
    started = time.monotonic()
    kernel.ok("globals().pop('kept', None);")
    evidence, cell = run(kernel, "kept = 1\n" + SLEEPERS[kind], timeout=0.5)
    assert time.monotonic() - started < 5
    assert (evidence["status"], cell.status) == ("timeout", "ok")
    assert "kept" in evidence["created"]


def test_code_that_handles_the_interrupt_itself_is_heard_out(kernel):
    shown = []
    code = "import time\nprint('on', flush=True)\ntry:\n    time.sleep(30)\nexcept KeyboardInterrupt:\n    print('cleaned up')"
    msg = kernel.start(f"_e = await _run({code!r})")
    kernel.interrupt_when(lambda: bool(shown))
    cell = kernel.finish(msg, on_message=lambda m: shown.append(m) if m["msg_type"] == "stream" else None)
    assert cell.stream("stdout") == "on\ncleaned up\n"
    assert kernel.value("(_e['status'], _e['error'])") == ("interrupted", None)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_cancelling_from_another_thread_interrupts_the_code(kernel, kind):
    kernel.ok(
        "import threading, concurrent.futures\n"
        "from zidane_lab.kernel.portal import Portal\n"
        "_loop = asyncio.new_event_loop()\n"
        "threading.Thread(target=_loop.run_forever, daemon=True).start()\n"
    )
    code = f"""
_ex = LiveExecutor(portal=Portal.here())
async def _job():
    task = asyncio.ensure_future(_ex.execute({SLEEPERS[kind]!r}))
    await asyncio.sleep(0.5)
    task.cancel()
    return await task
_e = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_job(), _loop))
"""
    started = time.monotonic()
    kernel.ok(code)
    assert time.monotonic() - started < 4
    assert kernel.value("(_e.status, _e.error.name)") == ("interrupted", "KeyboardInterrupt")


def test_the_kernels_own_interrupt_handling_is_back_afterwards(kernel):
    run(kernel, "1")
    msg = kernel.start("import time\nprint('on', flush=True)\ntime.sleep(30)")
    shown = []
    moments = kernel.interrupt_when(lambda: bool(shown))
    cell = kernel.finish(msg, on_message=lambda m: shown.append(m) if m["msg_type"] == "stream" else None)
    assert cell.error["ename"] == "KeyboardInterrupt"
    assert time.monotonic() - moments[0] < 2


def test_code_that_waits_for_its_turn_never_starts_once_cancelled(kernel):
    code = """
_ex = LiveExecutor()
_first = asyncio.ensure_future(_ex.execute("import asyncio\\nawait asyncio.sleep(0.6)"))
await asyncio.sleep(0.1)
_second = asyncio.ensure_future(_ex.execute("started_anyway = True"))
await asyncio.sleep(0.1)
_second.cancel()
_e2, _e1 = await _second, await _first
"""
    kernel.ok(code)
    assert kernel.value("(_e1.status, _e2.status, 'started_anyway' in globals())") == ("ok", "interrupted", False)


def test_waiting_clears_take_effect_with_the_next_output(kernel):
    code = "from IPython.display import clear_output\nprint('a')\nclear_output(wait=True)\n"
    assert run(kernel, code)[0]["texts"] == ["a\n"]
    assert run(kernel, code + "print('b')")[0]["texts"] == ["b\n"]


def test_loggers_made_earlier_are_heard(kernel):
    kernel.ok("import logging, sys; logging.getLogger('early').addHandler(logging.StreamHandler(sys.stderr))")
    evidence, _ = run(kernel, "logging.getLogger('early').warning('from a logger')")
    assert "from a logger" in "".join(evidence["texts"])


@pytest.mark.parametrize("leaving", ["SystemExit", "KeyboardInterrupt", "GeneratorExit"])
def test_an_exception_whose_text_leaves_ends_nothing_else(kernel, leaving):
    code = f"class Odd(Exception):\n    def __str__(self):\n        raise {leaving}\nraise Odd"
    evidence, cell = run(kernel, code)
    assert (evidence["status"], cell.status) == ("error", "ok")
    assert kernel.value("1 + 1") == 2


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("class P:\n    def __repr__(self): raise ValueError('bad repr')\nP()", "ValueError: bad repr"),
        ("get_ipython().run_cell('1/0')\nprint('after')", "ZeroDivisionError"),
        ("try:\n    1/0\nexcept Exception:\n    get_ipython().showtraceback()", "ZeroDivisionError"),
    ],
)
def test_tracebacks_shown_on_the_way_are_seen(kernel, code, words):
    evidence, cell = run(kernel, code)
    assert evidence["status"] == "ok"
    assert words in "".join(text or "" for text in evidence["texts"])
    assert words in cell.text


def test_everything_is_put_back(kernel):
    name = "(lambda x: getattr(x, '__qualname__', type(x).__name__))"
    state = (
        f"([{name}(x) for x in (sys.displayhook, sys.unraisablehook, warnings.showwarning, signal.getsignal(signal.SIGINT))],"
        " sorted(set(vars(get_ipython().display_pub)) & {'publish', 'clear_output'}),"
        " '_showtraceback' in vars(get_ipython()))"
    )
    kernel.ok("import sys, signal, warnings")
    before = kernel.value(state)
    for code in ("1", "1 / 0", "raise SystemExit", "import asyncio\nawait asyncio.sleep(0.01)", "1 +"):
        run(kernel, code)
    assert kernel.value(state) == before


# --- the user's cells come first --------------------------------------------------------------------

BEHIND = """
from zidane_lab.kernel.portal import Portal
_behind = LiveExecutor(portal=Portal.here(), background=True)
_task = asyncio.ensure_future(_behind.execute({code!r}, timeout={timeout}))
"""


def test_a_cell_that_runs_while_background_code_waits_is_the_users_own(kernel):
    kernel.ok("globals().pop('mine', None);")
    kernel.ok(
        BEHIND.format(code="import asyncio\nawait asyncio.sleep(1.2)\nprint('behind')\nmade_behind = 1", timeout=None)
    )
    kernel.ok("import asyncio; await asyncio.sleep(0.2)")
    failed = kernel.run("1 / 0")
    assert failed.error["ename"] == "ZeroDivisionError"
    cell = kernel.ok("mine = 'my secret'\nprint(mine)\nmine")
    assert cell.stream("stdout") == "my secret\n"
    assert [m["msg_type"] for m in cell.messages if m["msg_type"] == "execute_result"] == ["execute_result"]
    assert kernel.value("_") == "my secret"
    kernel.ok("_e = await _task")
    assert "my secret" not in kernel.value("repr(_e)")
    assert kernel.value("([o.text for o in _e.outputs], _e.created)") == (["behind\n"], ("made_behind",))


def test_a_timeout_behind_does_not_hit_the_users_cell(kernel):
    kernel.ok(BEHIND.format(code="import asyncio\nawait asyncio.sleep(30)", timeout=0.5))
    kernel.ok("import asyncio; await asyncio.sleep(0.1)")
    cell = kernel.ok("import time\nfor _n in range(12): time.sleep(0.1)\nprint('done')")
    assert cell.stream("stdout") == "done\n"
    kernel.ok("_e = await _task")
    assert kernel.value("_e.status") == "timeout"
