"""Code and commands that were written without a look at the judge, judged as a live kernel would have them judged."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from zidane_lab.approvals.assess import Surroundings
from zidane_lab.approvals.judging import assess
from zidane_lab.approvals.project import Project

NAMESPACE = {
    "pd": "pandas",
    "np": "numpy",
    "plt": "matplotlib.pyplot",
    "xr": "xarray",
    "pl": "polars",
    "os": "os",
    "Path": "pathlib.Path",
    "torch": "torch",
    "pa": "pyarrow",
    "sm": "statsmodels.api",
    "stats": "scipy.stats",
    "requests": "requests",
    "duckdb": "duckdb",
    "zarr": "zarr",
    "da": "dask.array",
    "keras": "keras",
    "re": "re",
    "h5py": "h5py",
    "sns": "seaborn",
    "json": "json",
    "joblib": "joblib",
    "io": "io",
    "df": "pandas.DataFrame()",
    "other": "pandas.DataFrame()",
    "X": "numpy.ndarray()",
    "y": "numpy.ndarray()",
    "model": "sklearn.linear_model._base.LinearRegression()",
    "results": "list()",
    "config": "dict()",
    "files": "list()",
    "engine": "sqlalchemy.engine.base.Engine()",
    "con": "_duckdb.DuckDBPyConnection()",
    "session": "sqlalchemy.orm.session.Session()",
    "users_table": "sqlalchemy.sql.schema.Table()",
    "f": "f",
    "g": "g",
    "Base": "Base",
    "User": "User",
    "net": "Net()",
    "app": "dash.dash.Dash()",
    "table": "pyarrow.lib.Table()",
    "fig": "matplotlib.figure.Figure()",
    "spark": "pyspark.sql.session.SparkSession()",
    "nb": "nbformat.notebooknode.NotebookNode()",
    "store": "pandas.HDFStore()",
    "s3": "botocore.client.S3()",
    "client": "google.cloud.bigquery.client.Client()",
    "slack": "slack_sdk.web.client.WebClient()",
    "es": "elasticsearch.Elasticsearch()",
    "coll": "pymongo.collection.Collection()",
    "rng": "numpy.random._generator.Generator()",
    "net2": "torch.nn.modules.container.Sequential()",
}
PROTECTED = frozenset(
    [
        "df",
        "other",
        "model",
        "X",
        "y",
        "results",
        "config",
        "engine",
        "con",
        "files",
        "session",
        "net",
        "table",
        "users_table",
        "Base",
        "spark",
        "app",
        "nb",
        "User",
    ]
)


def corpora(kind):
    folder = Path(__file__).parent
    return {path.stem: runpy.run_path(str(path)) for path in sorted(folder.glob(f"corpus_blind_{kind}*.py"))}


ALL = corpora("")
SHELL = {f"{name} {group}": each for name in corpora("shell") for group, each in ALL[name]["RISKY"].items()}
PYTHON = {
    f"{name} {group}": each
    for name, corpus in ALL.items()
    if "shell" not in name
    for group, each in corpus.get("RISKY", {}).items()
}
HARMLESS = [
    ("run_python", {"code": code}) for name in corpora("harmless") for code in ALL[name]["HARMLESS"]["python"]
] + [
    ("shell", {"command": command})
    for name in corpora("harmless")
    for command in ALL[name]["HARMLESS"].get("shell", ())
]


@pytest.fixture
def around(tmp_path, monkeypatch):
    """A project with a secret in it, and a home folder with more."""
    home, project = tmp_path / "home", tmp_path / "project"
    for name in (".ssh/id_rsa", ".aws/credentials", ".netrc", ".pgpass", ".config/gh/hosts.yml", ".kube/config"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("secret")
    for name in (
        "data/train.csv",
        "data/a.csv",
        "data/x.json",
        "src/a.py",
        "a.py",
        "b.py",
        "a.txt",
        ".env",
        ".git/config",
    ):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    return Surroundings(Project(str(project), str(project)), PROTECTED, NAMESPACE)


def is_held(tool, arguments, around):
    found = assess(tool, arguments, "execute", around)
    return found.reach not in {"read", "compute"} or bool(found.critical) or bool(found.advice)


@pytest.mark.parametrize("group", PYTHON)
def test_no_risky_code_runs_unasked(group, around):
    assert [code for code in PYTHON[group] if not is_held("run_python", {"code": code}, around)] == []


@pytest.mark.parametrize("group", SHELL)
def test_no_risky_command_runs_unasked(group, around):
    assert [command for command in SHELL[group] if not is_held("shell", {"command": command}, around)] == []


def test_work_with_data_is_not_held_up(around):
    held = [call for call in HARMLESS if is_held(*call, around)]
    assert len(held) <= len(HARMLESS) // 100, held
