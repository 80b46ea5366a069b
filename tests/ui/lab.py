"""JupyterLab in a real browser: start a server, open a notebook, run its cells, look."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
QUIET = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def lab_server(folder: Path, state: Path) -> Iterator[str]:
    """Run JupyterLab on ``folder`` with nothing of this machine's configuration; yields its address."""
    port = free_port()
    settings = state / "user-settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(QUIET))
    env = {k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC_", "OPENAI_", "ZIDANE_", "PYTEST_"))}
    for name in ("CONFIG", "DATA", "RUNTIME"):
        env[f"JUPYTER_{name}_DIR"] = str(state / name.lower())
    env |= {"JUPYTERLAB_SETTINGS_DIR": str(state / "user-settings"), "JUPYTERLAB_WORKSPACES_DIR": str(state / "ws")}
    env["ZIDANE_HOME"] = str(state / "home")
    command = [
        sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", f"--port={port}",
        "--ServerApp.ip=127.0.0.1", "--ServerApp.port_retries=0", "--IdentityProvider.token=", "--ServerApp.password=",
        "--ServerApp.disable_check_xsrf=True", "--LabApp.expose_app_in_browser=True",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    log = (state / "lab.log").open("w")
    server = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"{address}/api/status", timeout=1):
                    break
            except OSError:
                assert time.monotonic() < end, (state / "lab.log").read_text()
                time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait(20)
        log.close()


@contextmanager
def lab_page(
    address: str, notebook: str, *, width: int = 1200, height: int = 1000, dark: bool = False
) -> Iterator[Any]:
    """Open a notebook and wait until its kernel answers; yields the Playwright page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=1)
        page.goto(f"{address}/lab/tree/{notebook}?reset")
        page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget?.sessionContext", timeout=60_000)
        page.evaluate(
            """async () => {
                const widget = window.jupyterapp.shell.currentWidget;
                await widget.sessionContext.ready;
                await widget.sessionContext.session.kernel.info;
            }"""
        )
        if dark:
            page.evaluate(
                "() => window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"
            )
        yield page
        browser.close()


def run_all(page: Any) -> None:
    """Run every cell and wait until all are done."""
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")


def run_cell(page: Any, index: int, source: str | None = None) -> None:
    """Run one cell (with another source, if given) without waiting for its end."""
    page.evaluate(
        """([index, source]) => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            notebook.activeCellIndex = index;
            if (source !== null) notebook.activeCell.model.sharedModel.setSource(source);
            window.jupyterapp.commands.execute('notebook:run-cell');
        }""",
        [index, source],
    )


def wait_idle(page: Any, seconds: float = 60) -> None:
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'",
        timeout=seconds * 1000,
    )


def outputs(page: Any) -> str:
    """The text of all output areas."""
    text: str = page.evaluate(
        "() => [...document.querySelectorAll('.jp-OutputArea')].map(n => n.innerText).join('\\n')"
    )
    return text
