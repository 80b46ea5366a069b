"""Code in a kernel of another process: evidence, outputs, interrupts and the kernel's end (real kernels)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time

import pytest
import pytest_asyncio

from tests.kernels import running_kernel
from zidane_lab.errors import ConfigurationError, KernelLostError, ToolInputError
from zidane_lab.kernel.launch import join_kernel, start_kernel

pytestmark = pytest.mark.kernel

# Any import of zidane_lab fails there, as where it is not installed.
WITHOUT_ZIDANE = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "zidane_lab":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocker())
from ipykernel.kernelapp import launch_new_instance
launch_new_instance()
"""


FOREIGN = """
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import launch_new_instance
IPythonKernel.language_info = {"name": "julia", "file_extension": ".jl"}
launch_new_instance()
"""


def kernelspec(folder, name, argv, language="python"):
    """Make a kernel known under ``name``; ``folder`` is to be on JUPYTER_PATH."""
    spec = folder / "kernels" / name
    spec.mkdir(parents=True)
    spec.joinpath("kernel.json").write_text(
        json.dumps({"argv": argv, "display_name": name.title(), "language": language})
    )


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """Name of a kernel without zidane_lab, of the interpreter under test."""
    folder = tmp_path_factory.mktemp("jupyter")
    python = os.environ.get("KERNEL_TEST_PYTHON", sys.executable)
    kernelspec(folder, "elsewhere", [python, "-c", WITHOUT_ZIDANE, "-f", "{connection_file}"])
    kernelspec(folder, "stillborn", [python, "-c", "raise SystemExit('no such luck')", "{connection_file}"])
    kernelspec(folder, "foreign", [python, "-c", FOREIGN, "-f", "{connection_file}"], "julia")
    former = os.environ.get("JUPYTER_PATH")
    os.environ["JUPYTER_PATH"] = str(folder)
    yield "elsewhere"
    os.environ.pop("JUPYTER_PATH")
    if former is not None:
        os.environ["JUPYTER_PATH"] = former


class Heard(list):
    """What ``on_execution`` was told."""

    def __call__(self, code, execution, outputs, count):
        self.append((code, execution, outputs, count))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(elsewhere, tmp_path_factory):
    """One kernel without zidane_lab for all tests that leave it alive, and what it told."""
    heard = Heard()
    folder = tmp_path_factory.mktemp("work")
    async with start_kernel(elsewhere, cwd=folder, on_execution=heard) as executor:
        executor.folder = folder
        yield executor, heard


@pytest.fixture
def kernel(shared):
    shared[1].clear()
    return shared[0]


@pytest.fixture
def heard(shared):
    return shared[1]


def texts(execution):
    return [output.text or output.data.get("text/plain") for output in execution.outputs]


on_shared_loop = pytest.mark.asyncio(loop_scope="module")


# --- evidence ---------------------------------------------------------------------------------------


@on_shared_loop
async def test_outputs_come_in_order_and_the_callback_gets_them_as_in_a_notebook(kernel, heard):
    code = "import sys\nprint('one')\nprint('two', file=sys.stderr)\ndisplay('three')\nprint('four')\n5"
    execution = await kernel.execute(code)
    assert [output.kind for output in execution.outputs] == ["stdout", "stderr", "display", "stdout", "value"]
    assert texts(execution) == ["one\n", "two\n", "'three'", "four\n", "5"]
    assert execution.status == "ok"
    ((told, same, outputs, count),) = heard
    assert (told, same) == (code, execution)
    assert [output["output_type"] for output in outputs] == [
        "stream", "stream", "display_data", "stream", "execute_result"
    ]  # fmt: skip
    assert outputs[-1]["execution_count"] == count


@on_shared_loop
async def test_names_time_and_memory_are_known_in_a_kernel_without_zidane_lab(kernel):
    missing = await kernel.execute("import zidane_lab")
    assert missing.error.name == "ModuleNotFoundError"
    await kernel.execute("kept, moved, gone, grown = 1, 1, 1, [1]")
    execution = await kernel.execute("new = bytearray(80_000_000)\nmoved = 2\ndel gone\ngrown.append(2)")
    assert (execution.created, execution.changed, execution.deleted) == (("new",), ("grown", "moved"), ("gone",))
    assert execution.warnings == ()
    assert execution.cpu_seconds >= 0
    assert 0 < execution.wall_seconds < 20
    if sys.platform == "linux":
        assert execution.peak_memory > 50_000_000


@on_shared_loop
async def test_looking_leaves_no_trace_in_the_namespace_or_the_history(kernel, heard):
    before = await kernel.execute("sorted(globals())")
    await kernel.list_variables()
    with pytest.raises(ToolInputError):
        await kernel.inspect_variable("not_there")
    after = await kernel.execute("[name for name in sorted(globals()) if not name.startswith('_')]")
    known = {name for name in eval(texts(before)[0]) if not name.startswith("_")}
    assert set(eval(texts(after)[0])) == known
    assert heard[1][3] == heard[0][3] + 1
    assert "zidane" not in texts(await kernel.execute("''.join(In)"))[0].replace("import zidane_lab", "")


@on_shared_loop
async def test_variables_are_listed_and_described(kernel):
    await kernel.execute("prices = {'tea': 3}; pebble = 'flint'")
    listed = await kernel.list_variables(pattern="p*", limit=50)
    assert {"prices", "pebble"} <= {variable["name"] for variable in listed["variables"]}
    assert "flint" in await kernel.inspect_variable("pebble", budget=500)
    with pytest.raises(ToolInputError, match="prices"):
        await kernel.inspect_variable("price")


@on_shared_loop
async def test_it_knows_what_names_stand_for_so_that_code_can_be_judged(kernel):
    await kernel.execute("import subprocess as sp; where = 'https://example.org'; count = 1")
    await kernel.refresh()
    assert {"sp": "subprocess", "where": "https://example.org", "count": "int()"}.items() <= kernel.meanings.items()
    await kernel.execute("del sp, where, count")
    await kernel.refresh()
    assert "sp" not in kernel.meanings


@on_shared_loop
async def test_hostile_names_and_contents_are_only_data(kernel):
    name = "x'\"\\\n); __import__('os')._exit(1) #"
    with pytest.raises(ToolInputError):
        await kernel.inspect_variable(name)
    await kernel.list_variables(pattern=name)
    code = "trap = '\\'\\'\\'); raise SystemExit'\nprint(trap)  # ''' \"\"\" \\"
    assert (await kernel.execute(code)).created == ("trap",)


@on_shared_loop
async def test_a_user_who_shadows_builtins_and_formatters_does_not_disturb_the_evidence(kernel):
    await kernel.execute(
        "exec = eval = globals = sys = dict = None\n"
        "get_ipython().display_formatter.formatters['text/plain'].for_type(object, lambda *a: 1 / 0)"
    )
    execution = await kernel.execute("shadowed = 1")
    assert execution.created == ("shadowed",)
    await kernel.execute(
        "del exec, eval, globals, sys, dict\nget_ipython().display_formatter.formatters['text/plain'].pop(object)"
    )


@on_shared_loop
async def test_where_looking_is_impossible_the_code_still_runs_and_the_evidence_says_so(kernel):
    await kernel.execute("__import__ = None")
    execution = await kernel.execute("del __import__\n'ran'")
    assert texts(execution) == ["'ran'"]
    assert "not known" in execution.warnings[0]
    assert (await kernel.execute("seen_again = 1")).created == ("seen_again",)


@on_shared_loop
async def test_shipped_code_that_vanished_is_shipped_again(kernel):
    await kernel.execute("import sys\nfor n in [n for n in sys.modules if n.startswith('_zidane')]: del sys.modules[n]")
    assert (await kernel.execute("shipped_again = 1")).created == ("shipped_again",)


# --- outputs ----------------------------------------------------------------------------------------


@on_shared_loop
async def test_clear_output_and_updates_are_applied(kernel, heard):
    code = (
        "from IPython.display import clear_output, display, update_display\n"
        "print('gone'); clear_output(); bar = display('0 %', display_id='bar'); print('kept')\n"
        "bar.update('50 %'); clear_output(wait=True)"
    )
    assert texts(await kernel.execute(code)) == ["'50 %'", "kept\n"]
    await kernel.execute("update_display('done', display_id='bar')")
    assert heard[0][2][0]["data"]["text/plain"] == "'done'", "the earlier cell shows the update"


@on_shared_loop
async def test_five_megabytes_of_print_arrive_whole(kernel):
    execution = await kernel.execute("for _ in range(50): print('x' * 100_000)")
    assert len(execution.outputs) == 1
    assert len(execution.outputs[0].text) == 50 * 100_001


@on_shared_loop
async def test_thousands_of_displays_arrive_in_order(kernel):
    execution = await kernel.execute("for number in range(3000): display(number)")
    assert [int(text) for text in texts(execution)] == list(range(3000))


@on_shared_loop
async def test_figures_are_displays(kernel):
    execution = await kernel.execute("import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()\nprint('after')")
    kinds = [(output.kind, "image/png" in output.data) for output in execution.outputs]
    assert ("display", True) in kinds
    assert kinds[-1] == ("stdout", False)


# --- errors -----------------------------------------------------------------------------------------


@on_shared_loop
async def test_an_error_keeps_its_evidence_and_a_short_clean_traceback(kernel, heard):
    execution = await kernel.execute("import json\nhalf = 1\njson.loads('{')\nother = 2")
    assert execution.status == "error"
    assert execution.error.name == "JSONDecodeError"
    assert "half" in execution.created
    lines = execution.error.traceback.split("\n")
    assert lines[0].startswith("Cell In[")
    assert any("library frame" in line for line in lines)
    assert lines[-1].startswith("JSONDecodeError: Expecting property name")
    assert "\x1b" not in execution.error.traceback
    assert heard[0][2][-1]["output_type"] == "error"


@pytest.mark.parametrize(
    ("code", "name"),
    [("1 +", "SyntaxError"), ("input('?')", "StdinNotImplementedError"), ("import sys; sys.exit(3)", "SystemExit")],
)
@on_shared_loop
async def test_other_ends_are_errors_too(kernel, code, name):
    execution = await kernel.execute(code)
    assert (execution.status, execution.error.name) == ("error", name)
    assert (await kernel.execute("'alive'")).status == "ok"


# --- interrupts -------------------------------------------------------------------------------------

BLOCKING = "import time\nmarker('started')\ntime.sleep(60)"
AWAITING = "import asyncio\nmarker('started')\nawait asyncio.sleep(60)"
BLOCKING_IN_ASYNC = "import asyncio, time\nawait asyncio.sleep(0)\nmarker('started')\ntime.sleep(60)"
BLOCKING_IN_TASK = (
    "import asyncio, time\nasync def block():\n    marker('started')\n    time.sleep(60)\n"
    "await asyncio.gather(block(), asyncio.sleep(60))"
)
WAYS = pytest.mark.parametrize("code", [BLOCKING, AWAITING, BLOCKING_IN_ASYNC, BLOCKING_IN_TASK])


async def started(kernel, code):
    """Start code in a task; return it once the code says that it runs."""
    flag = kernel.folder / "started"
    flag.unlink(missing_ok=True)
    await kernel.execute(f"def marker(text): open({str(flag)!r}, 'w').close()")
    task = asyncio.create_task(kernel.execute(code))
    while not flag.exists():
        await asyncio.sleep(0.02)
    return task


@WAYS
@on_shared_loop
async def test_cancelling_interrupts_and_returns_when_the_code_has_ended(kernel, code):
    task = await started(kernel, code)
    moment = time.monotonic()
    task.cancel()
    execution = await task
    assert execution.status == "interrupted"
    assert execution.error.name == "KeyboardInterrupt"
    assert time.monotonic() - moment < 5
    assert texts(await kernel.execute("1 + 1")) == ["2"]


@pytest.mark.parametrize("code", [BLOCKING, BLOCKING_IN_ASYNC])
@on_shared_loop
async def test_a_timeout_interrupts_in_the_same_way(kernel, code):
    execution = await kernel.execute(code.replace("marker('started')", "kept_by_timeout = 1"), timeout=0.3)
    assert execution.status == "timeout"
    assert 0.3 <= execution.wall_seconds < 5
    assert "kept_by_timeout" in (*execution.created, *execution.changed)
    await kernel.execute("del kept_by_timeout")


@on_shared_loop
async def test_code_that_shrugs_off_an_interrupt_gets_another_one(kernel):
    code = "import time\nmarker('started')\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    time.sleep(60)"
    task = await started(kernel, code)
    task.cancel()
    assert (await task).status == "interrupted"


@on_shared_loop
async def test_an_interrupt_from_outside_is_an_interrupt(kernel):
    pid = int(texts(await kernel.execute("import os\nos.getpid()"))[0])
    task = await started(kernel, BLOCKING)
    os.kill(pid, signal.SIGINT)
    assert (await task).status == "interrupted"


@on_shared_loop
async def test_code_cancelled_while_it_waits_for_other_code_never_runs(kernel):
    first = await started(kernel, BLOCKING)
    second = asyncio.create_task(kernel.execute("never = 1"))
    await asyncio.sleep(0.05)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    first.cancel()
    await first
    assert texts(await kernel.execute("'never' in globals()")) == ["False"]


# --- the kernel's beginning and end -----------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_kernel_that_dies_is_said_to_be_lost_and_stays_so(tmp_path):
    heard = Heard()
    async with start_kernel(cwd=tmp_path, on_execution=heard) as executor:
        assert executor.lost is None
        with pytest.raises(KernelLostError, match="SIGKILL"):
            await executor.execute(
                "import os, signal\nprint('last words', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"
            )
        with pytest.raises(KernelLostError, match="variables are lost"):
            await executor.list_variables()
        assert executor.lost is not None
    assert heard[0][1].error.name == "KernelLostError"


@pytest.mark.asyncio
async def test_a_kernel_of_ours_works_in_its_folder_without_our_keys_and_ends_with_the_block(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("KEPT", "yes")
    async with start_kernel(cwd=tmp_path) as executor:
        names = "('ANTHROPIC_API_KEY', 'MPLBACKEND', 'KEPT')"
        seen = await executor.execute(f"import os\nos.getcwd(), os.getpid(), [n in os.environ for n in {names}]")
        folder, pid, has = eval(texts(seen)[0])
        assert executor.facts.language_info["name"] == "python"
    assert folder == os.path.realpath(tmp_path)
    # ipykernel names a backend of its own, the inline one.
    assert (has[0], has[2]) == (False, True)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.asyncio
async def test_an_unknown_or_broken_kernel_is_a_configuration_error(elsewhere, tmp_path):
    with pytest.raises(ConfigurationError, match=r"no kernel named 'rust'.*elsewhere"):
        async with start_kernel("rust", cwd=tmp_path):
            pass
    with pytest.raises(ConfigurationError, match=r"(?s)does not start.*exit code 1.*no such luck"):
        async with start_kernel("stillborn", cwd=tmp_path):
            pass


@pytest.mark.asyncio
async def test_a_kernel_of_another_language_is_refused(elsewhere, tmp_path):
    with pytest.raises(ConfigurationError, match="runs julia, not Python"):
        async with start_kernel("foreign", cwd=tmp_path):
            pass


@pytest.mark.asyncio
async def test_a_joined_kernel_shares_its_variables_and_is_left_running(tmp_path):
    with running_kernel(tmp_path) as kernel:
        kernel.ok("theirs = 5")
        async with join_kernel(kernel.manager.connection_file) as executor:
            execution = await executor.execute("ours = theirs + 1\nours")
            assert texts(execution) == ["6"]
            assert execution.created == ("ours",)
            flag = tmp_path / "started"
            task = asyncio.create_task(
                executor.execute(f"import asyncio\nopen({str(flag)!r}, 'w').close()\nawait asyncio.sleep(60)")
            )
            while not flag.exists():
                await asyncio.sleep(0.02)
            task.cancel()
            assert (await task).status == "interrupted"
            assert executor.kill is None
        assert kernel.value("ours") == 6

        # While their own cell runs, ours waits; taken back, it never runs and theirs is not interrupted.
        theirs = kernel.start("import time\ntime.sleep(1.5)\n'theirs ended'")
        async with join_kernel(kernel.manager.connection_file) as executor:
            task = asyncio.create_task(executor.execute("never = 1"))
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert kernel.finish(theirs).status == "ok"
        assert kernel.value("'never' in globals()") is False


@pytest.mark.asyncio
async def test_a_joined_kernel_that_is_restarted_or_dies_is_lost(tmp_path):
    with running_kernel(tmp_path) as kernel:
        async with join_kernel(kernel.manager.connection_file) as executor:
            await executor.execute("x = 1")
            await asyncio.to_thread(_restart, kernel)
            until = time.monotonic() + 10
            while executor.lost is None and time.monotonic() < until:
                await asyncio.sleep(0.1)
            assert "restarted" in str(executor.lost) or "heart" in str(executor.lost)


def _restart(kernel):
    kernel.kill()
    kernel.manager.provisioner.process.wait()
    import subprocess

    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", kernel.manager.connection_file]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    kernel.manager.provisioner.process = process
    kernel.manager.provisioner.pid = process.pid
    kernel.manager.provisioner.pgid = process.pid


@pytest.mark.asyncio
async def test_a_connection_file_without_a_kernel_is_a_configuration_error(tmp_path, monkeypatch):
    monkeypatch.setattr("zidane_lab.kernel.launch.JOIN_SECONDS", 0.5)
    with pytest.raises(ConfigurationError, match="not the connection file"):
        async with join_kernel(tmp_path / "kernel-nothing.json"):
            pass
    damaged = tmp_path / "kernel-damaged.json"
    damaged.write_text("[1, 2]")
    with pytest.raises(ConfigurationError, match="not the connection file"):
        async with join_kernel(damaged):
            pass
    stale = tmp_path / "kernel-stale.json"
    ports = {f"{name}_port": 1 for name in ("shell", "iopub", "stdin", "control", "hb")}
    stale.write_text(
        json.dumps({**ports, "ip": "127.0.0.1", "transport": "tcp", "key": "k", "signature_scheme": "hmac-sha256"})
    )
    with pytest.raises(ConfigurationError, match="No kernel answers"):
        async with join_kernel(stale):
            pass
