"""Contexts by name, and how their paths are shown."""

from __future__ import annotations

import sys

import pytest

from zidane_lab.contexts.base import ContextLostError
from zidane_lab.contexts.container import ContainerSpec, Mount
from zidane_lab.contexts.docker import DockerContext
from zidane_lab.contexts.guarded import GuardedContext
from zidane_lab.contexts.posix_paths import show_path
from zidane_lab.contexts.process import LocalProcess
from zidane_lab.contexts.registry import ContextSettings, context_names, place_for, read_context
from zidane_lab.contexts.ssh import SshHost
from zidane_lab.errors import ConfigurationError, ToolError

NONE = ContextSettings()


@pytest.mark.parametrize("name", ["", "process", " process "])
@pytest.mark.asyncio
async def test_this_machine(name, tmp_path):
    place = await place_for(name, tmp_path)
    assert isinstance(place, LocalProcess)
    assert place.cwd == str(tmp_path)


@pytest.mark.asyncio
async def test_a_container_is_not_started_by_naming_it(tmp_path):
    place = await place_for("docker:registry.example:5000/python:3.12-slim", tmp_path)
    assert isinstance(place, DockerContext)
    assert place.spec.image == "registry.example:5000/python:3.12-slim"
    assert place.spec.mounts == (Mount(str(tmp_path), "/workspace"),)
    assert not place.spec.network
    assert place.container_id is None
    await place.aclose()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("host", SshHost("host")),
        ("ada@host", SshHost("host", "ada")),
        ("ada@host:2222", SshHost("host", "ada", 2222)),
        ("host/srv/data", SshHost("host", folder="/srv/data")),
        ("ada@host:22/~/my work", SshHost("host", "ada", 22, "~/my work")),
        ("host/~", SshHost("host", folder="~")),
        ("[::1]:22", SshHost("::1", port=22)),
        ("a.b-c.example", SshHost("a.b-c.example")),
    ],
)
def test_machines(text, expected, tmp_path):
    assert read_context(f"ssh:{text}", tmp_path, NONE) == expected


@pytest.mark.parametrize(
    "name",
    [
        "docker",
        "docker:",
        "ssh:",
        "ssh:a b",
        "ssh:-oProxyCommand=x",
        "ssh:host:0",
        "ssh:host:99999",
        "ssh:@host",
        "podman:x",
        "nope",
    ],
)
def test_names_of_nothing(name, tmp_path):
    with pytest.raises(ConfigurationError):
        read_context(name, tmp_path, NONE)


@pytest.mark.asyncio
async def test_a_machine_is_connected_to_when_it_is_chosen(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "known_hosts").write_text("")
    with pytest.raises(ContextLostError, match="cannot be reached"):
        await place_for("ssh:127.0.0.1:1", tmp_path)


# --- named in the settings ----------------------------------------------------------------------------


def test_named_contexts(tmp_path):
    settings = ContextSettings(
        contexts={
            "box": {
                "kind": "docker",
                "image": "python:3.12",
                "memory": "8g",
                "cpus": 4,
                "project": "ro",
                "mounts": [f"{tmp_path}:/data", f"{tmp_path}:/out:rw"],
                "network": True,
            },
            "gpu": {"kind": "ssh", "host": "gpu.example", "user": "ada", "port": 2222, "keys": ["/k"]},
            "here": {"kind": "process"},
        }
    )
    assert read_context("box", tmp_path, settings) == ContainerSpec(
        "python:3.12",
        memory="8g",
        cpus=4.0,
        network=True,
        mounts=(
            Mount(str(tmp_path), "/workspace", read_only=True),
            Mount(str(tmp_path), "/data", read_only=True),
            Mount(str(tmp_path), "/out"),
        ),
    )
    assert read_context("gpu", tmp_path, settings) == SshHost("gpu.example", "ada", 2222, keys=("/k",))
    assert read_context("here", tmp_path, settings) is None
    assert context_names(settings) == ("process", "box", "gpu", "here", "docker:", "ssh:")


@pytest.mark.parametrize(
    "given",
    [
        "docker:x",
        {},
        {"kind": "vm"},
        {"kind": "docker"},
        {"kind": "docker", "image": 3},
        {"kind": "docker", "image": "x", "privileged": True},
        {"kind": "docker", "image": "x", "project": "all"},
        {"kind": "docker", "image": "x", "mounts": ["/a"]},
        {"kind": "docker", "image": "x", "mounts": "/a:/b"},
        {"kind": "docker", "image": "x", "mounts": ["/a:/b:rwx"]},
        {"kind": "docker", "image": "x", "cpus": True},
        {"kind": "docker", "image": "x", "pids": -1},
        {"kind": "docker", "image": "x", "network": "no"},
        {"kind": "docker", "image": "x", "folder": "rel"},
        {"kind": "ssh"},
        {"kind": "ssh", "host": "-x"},
        {"kind": "ssh", "host": "x", "port": "22"},
        {"kind": "process", "image": "x"},
    ],
)
def test_settings_that_cannot_be_used(tmp_path, given):
    with pytest.raises(ConfigurationError):
        read_context("odd", tmp_path, ContextSettings(contexts={"odd": given}))


# --- kept inside --------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_isolation_comes_from_the_settings(tmp_path):
    settings = ContextSettings(isolation="auto", allow_write="../more", allow_network=True, env=())
    place = await place_for("process", lambda: tmp_path, settings)
    assert isinstance(place, GuardedContext)
    assert place.policy.writable_roots == (str(tmp_path), str(tmp_path.parent / "more"))
    assert place.policy.network
    assert not place.is_required
    assert (await place_for("process", tmp_path, ContextSettings(isolation="required"))).is_required
    with pytest.raises(ConfigurationError, match="expected one of"):
        await place_for("process", tmp_path, ContextSettings(isolation="on"))
    with pytest.raises(ConfigurationError, match="cannot be kept inside"):
        await place_for("ssh:host", tmp_path, ContextSettings(isolation="required"))


# --- paths --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b.py", "a/b.py"),
        ("{cwd}/a", "a"),
        ("{cwd}/a/../c", "c"),
        ("{cwd}", "."),
        ("~", "~"),
        ("{home}/x", "~/x"),
        ("{home}more/x", "{home}more/x"),
        ("/etc/passwd", "/etc/passwd"),
        ("..", "{above}"),
    ],
)
def test_paths_are_shown_short(tmp_path, monkeypatch, path, expected):
    home = "/home/zidane"
    container = DockerContext(ContainerSpec("some:1", folder="/workspace"))
    names = {"cwd": "/workspace", "home": home, "above": "/"}
    assert show_path(container, path.format(**names), with_place=False) == expected.format(**names)
    assert show_path(container, path.format(**names)) == f"container of some:1: {expected.format(**names)}"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    names = {"cwd": str(tmp_path / "work"), "home": str(tmp_path / "home"), "above": str(tmp_path)}
    here = LocalProcess(tmp_path / "work")
    assert show_path(here, path.format(**names)) == expected.format(**names)


def test_the_heavy_libraries_are_not_imported_for_names():
    import subprocess

    code = "import sys, zidane_lab.contexts.registry; print({'docker', 'asyncssh'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
    assert issubclass(ContextLostError, ToolError)
