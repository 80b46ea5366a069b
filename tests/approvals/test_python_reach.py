"""Python that reads secrets without naming them, and what it destroys."""

from __future__ import annotations

import pytest

from zidane_lab.approvals.assess import Surroundings
from zidane_lab.approvals.judging import assess
from zidane_lab.approvals.project import Project
from zidane_lab.approvals.python_code import classify
from zidane_lab.approvals.python_reach import destroys


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("project").resolve()
    for name in ("a.csv", "data/b.csv", "data/c.csv", "conf/credentials.json", ".env", "keys/server.pem"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n1\n")
    (root / "notes.txt").symlink_to(".env")
    (root / "linked").symlink_to("conf")
    return root


def judged(folder, code):
    return assess("run_python", {"code": code}, "execute", Surroundings(Project(str(folder), str(folder))))


@pytest.mark.parametrize(
    "code",
    [
        "open('notes.txt').read()",
        "pd.read_csv('notes.txt')",
        "from pathlib import Path\nPath('notes.txt').read_text()",
        "name = 'notes.txt'\nwith open(name) as f:\n    print(f.read())",
        "%time open('notes.txt').read()",
    ],
)
def test_a_link_to_a_secret_is_asked_about(folder, code, monkeypatch):
    monkeypatch.chdir("/")  # relative paths are the project's
    found = judged(folder, code)
    assert found.critical == ("'notes.txt' commonly holds secrets",)
    assert not found.is_coverable


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("for p in Path('.').rglob('*'):\n    print(p.read_text())", ".env"),
        ("for p in Path('.').iterdir():\n    if p.is_file(): print(p.read_text())", ".env"),
        ("[open(p).read() for p in Path().rglob('*')]", ".env"),
        ("root = Path('conf')\nfor p in root.glob('*'):\n    print(p.read_bytes())", "conf/credentials.json"),
        ("for p in Path.cwd().rglob('*.json'):\n    json.load(open(p))", "conf/credentials.json"),
        ("for n in os.listdir():\n    print(open(n).read())", ".env"),
        ("for n in os.listdir('conf'):\n    open(os.path.join('conf', n)).read()", "conf/credentials.json"),
        ("for d, _, fs in os.walk('.'):\n    for f in fs:\n        open(os.path.join(d, f)).read()", ".env"),
        ("import glob\n[open(f).read() for f in glob.glob('conf/*')]", "conf/credentials.json"),
        ("from glob import glob\nframes = [pd.read_json(f) for f in glob('**/*.json', recursive=True)]", "credentials"),
        ("import glob\nfor f in glob.iglob('keys/*'):\n    np.loadtxt(f)", "keys/server.pem"),
        ("with os.scandir('conf') as entries:\n    [open(e.path).read() for e in entries]", "conf/credentials.json"),
        ("duckdb.sql(\"select * from read_text('conf/*')\")", "conf/credentials.json"),
        ("for p in (Path('conf') / '.').glob('*.json'):\n    p.read_text()", "credentials.json"),
    ],
)
def test_what_would_be_read_by_the_way_goes_back_to_the_model(folder, code, shown):
    found = judged(folder, code)
    assert shown in found.advice
    assert "endings you need" in found.advice


@pytest.mark.parametrize(
    "code",
    [
        "frames = [pd.read_csv(p) for p in Path('data').glob('*.csv')]",
        "frames = [pd.read_csv(p) for p in Path('.').rglob('*.csv')]",
        "import glob\npd.concat(pd.read_csv(f) for f in sorted(glob.glob('data/*.csv')))",
        "import glob\npd.concat(pd.read_csv(f) for f in glob.glob('**/*.csv', recursive=True))",
        "[p.name for p in Path('.').rglob('*')]",
        "sum(p.stat().st_size for p in Path('.').rglob('*'))",
        "os.listdir('.')",
        "[pd.read_csv(os.path.join('data', n)) for n in os.listdir('data')]",
        "[pd.read_csv(n) for n in os.listdir('.') if n.endswith('.csv')]",
        "[pd.read_csv(p) for p in Path('.').iterdir() if p.suffix == '.csv']",
        "duckdb.sql(\"select * from 'data/*.csv'\")",
        "pd.read_csv('a.csv')",
        "open('linked/other.txt')",
        "for p in Path('.').rglob('*'):\n    print(p)\npd.read_csv('a.csv')",
        "for p in Path(folder).glob(pattern):\n    p.read_text()",
        "x = (",
    ],
)
def test_reading_data_is_not_held_up(folder, code):
    found = judged(folder, code)
    assert (found.advice, found.critical) == ("", ())


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import shutil\nshutil.rmtree('out')", "deletes whole folders"),
        ("from shutil import rmtree as r\nr('out')", "deletes whole folders"),
        ("!rm -rf out", "deletes whole folders"),
        ("%%bash\ngit push --force", "throws away work or history"),
        ("%sx git reset --hard", "throws away work or history"),
        ("import os\nos.system('rm -rf out')", "deletes whole folders"),
        ("import subprocess\nsubprocess.run(['git', 'push', '--force'])", "throws away work or history"),
        ("import subprocess\nsubprocess.run('docker system prune -f', shell=True)", "deletes containers"),
        ("con.execute('drop table t')", "destroys the data of a database"),
        ("con.execute('DELETE FROM t')", "destroys the data of a database"),
        ("pd.read_sql('truncate table t', con)", "destroys the data of a database"),
    ],
)
def test_what_destroys_is_critical_in_python_too(folder, code, why):
    found = judged(folder, code)
    assert why in " ".join(found.critical)
    assert found.reach == "execute"


@pytest.mark.parametrize("code", ["!ls", "import os\nos.remove('a')", "con.execute('insert into t values (1)')", "x"])
def test_ordinary_risks_destroy_nothing(code):
    assert destroys(code, classify(code)) == ()


def test_code_that_is_allowed_to_the_letter_may_destroy(folder):
    found = judged(folder, "import shutil\nshutil.rmtree('out')")
    assert found.is_exact
    assert found.is_coverable
    assert not judged(folder, "import shutil\nshutil.rmtree('out'); open('.env')").is_exact


def test_elsewhere_nothing_is_looked_up_here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    around = Surroundings(Project("/work", "/work", is_local=False))
    assert assess("run_python", {"code": "open('notes.txt')"}, "execute", around).critical == ()
