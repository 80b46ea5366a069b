"""The kernel tests against other ipykernel versions, each in a private environment (``make test-matrix``).

The environments are kept beside the project, in ``.venv-ipykernel-<version>``, and only the kernels run in them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSIONS = ("6.31.0", "7.1.0", "7.4.0")
SUITES = (
    "tests/kernel/test_live.py",
    "tests/kernel/test_remote.py",
    *(
        f"tests/notebook/test_{name}.py"
        for name in ("magics", "magics_background", "cell_interactions", "rpc_kernel", "rpc_cell", "secrets_magics")
    ),
)


def kernel_python(version: str) -> Path:
    """Return the interpreter of an environment with this ipykernel and the package, made if need be."""
    folder = ROOT / f".venv-ipykernel-{version}"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    wanted = [f"ipykernel=={version}", "ipywidgets", "matplotlib", "pandas"]
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-e", str(ROOT), *wanted], check=True)
    return python


@pytest.mark.matrix
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("version", VERSIONS)
def test_kernel_suites(version):
    environment = {**os.environ, "KERNEL_TEST_PYTHON": str(kernel_python(version))}
    environment.pop("PYTEST_CURRENT_TEST", None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SUITES],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"ipykernel {version}:\n{done.stdout[-6000:]}"
