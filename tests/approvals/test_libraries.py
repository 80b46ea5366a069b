"""Only libraries that are known to compute go unasked; what is handed on is followed; verbs and destinations are read."""

from __future__ import annotations

import importlib
import sys

import pytest

from zidane_lab.approvals.assess import Surroundings
from zidane_lab.approvals.judging import assess
from zidane_lab.approvals.libraries import COMPUTING, import_effect, part_effect
from zidane_lab.approvals.library_parts import PARTS, SUBMODULES
from zidane_lab.approvals.python_code import classify
from zidane_lab.approvals.rules import MODULES


def whys(code, known=None, protected=("df", "other")):
    return [reason.why for reason in classify(code, known=known or {}, protected=frozenset(protected)).reasons]


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module in the user's folder."""
    (tmp_path / "own_helpers_of_mine.py").write_text("def prepare(): return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "own_helpers_of_mine"
    sys.modules.pop("own_helpers_of_mine", None)


@pytest.mark.parametrize(
    "code", ["import nobody_knows", "from nobody_knows.part import x", "import nobody_knows as np"]
)
def test_a_library_nobody_knows_asks(code):
    assert "uses nobody_knows, which is not known to only compute" in whys(code)


def test_importing_a_module_of_the_users_runs_it_until_it_is_loaded(module):
    assert whys(f"import {module}\n{module}.prepare()") != []
    importlib.import_module(module)
    assert whys(f"import {module}\n{module}.prepare()") == []


def test_what_the_kernel_holds_of_a_library_nobody_knows_asks_when_it_is_called_not_when_it_is_shown():
    known = {"thing": "nobody_knows.deep.Thing()", "make": "nobody_knows.make"}
    assert whys("thing", known) == whys("print(thing.name)", known) == []
    for code in ("thing.go()", "thing.parts[0].go()", "make()", "list(map(make, [1]))", "use(thing)"):
        assert whys(code, known) == ["uses nobody_knows, which is not known to only compute"], code


@pytest.mark.parametrize(
    ("code", "runs"),
    [
        ("import torch.nn as nn\nnn.Linear(1, 1)", True),
        ("import torch\ntorch.sigmoid(torch.ones(2)).mean()", True),
        ("import torch\ntorch.profiler.profile()", False),
        ("from torch import package\npackage.PackageExporter('x')", False),
        ("import numpy as np\nnp.add.reduce([1])", True),
        ("import numpy as np\nnp.somewhere.go()", False),
        ("import tqdm.auto", True),
        ("import tqdm.contrib.telegram", False),
        ("from tensorflow import keras\nkeras.callbacks.EarlyStopping()", True),
        ("import tensorflow as tf\ntf.keras.utils.get_new_thing('a')", False),
        ("import cv2\ncv2.cvtColor(a, cv2.COLOR_BGR2RGB)", True),
        ("import cv2\ncv2.VideoCapture(0)", False),
        ("import pandas as pd\npd.core.common.anything()", False),
        ("import pandas as pd\npd.compat._optional.import_optional_dependency('x')", False),
        ("from sklearn.utils import _joblib", False),
        ("from sklearn.tree import _tree", True),
    ],
)
def test_of_wide_libraries_only_parts_that_compute_go_unasked(code, runs):
    assert (whys(code) == []) is runs


def test_a_variable_that_is_called_like_a_library_is_a_variable():
    assert whys("box = {'a': 1}\nbox['a']") == whys("table = df\ntable.profiler.mean()") == []


def test_a_class_counts_wherever_it_is_defined():
    assert part_effect(["lightgbm", "sklearn", "LGBMClassifier"]) is None
    assert part_effect(["keras", "src", "callbacks", "tensorboard", "TensorBoard"]) is not None


def test_what_is_known_to_compute_is_in_no_table_of_what_does_more():
    assert {each for each in COMPUTING & MODULES.keys() if import_effect(each) is None} <= {"IPython"}
    assert not SUBMODULES.keys() & PARTS.keys()


# --- what an object does ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "a.run()",
        "a.b.delete(1)",
        "a().create_table('x')",
        "a.send_message('x')",
        "list(map(a.delete, [1]))",
        "a.publish(df)",
    ],
)
def test_a_verb_is_believed_where_nobody_knows_what_it_is_called_on(code):
    assert any("may do more than compute" in why for why in whys(code))


@pytest.mark.parametrize(
    "code",
    [
        "import numpy as np\nnp.delete([1], 0)",
        "from queue import Queue\nq = Queue()\nq.put(1)",
        "class Steps:\n    def run(self): return 1\nSteps().run()",
        "import re\n[m.start() for m in re.finditer('a', 'b')]",
        "df.run.mean()",
        "s = {1}\ns.add(2)\ns.remove(1)",
    ],
)
def test_a_verb_says_nothing_of_what_computes_or_stands_in_the_code(code):
    assert whys(code) == []


def test_a_method_of_a_class_of_the_users_is_taken_at_its_word():
    assert whys("steps.run()", {"steps": "Steps()"}) == []
    assert whys("steps.client.delete(1)", {"steps": "Steps()"}) != []


@pytest.mark.parametrize("code", ["store['a'] = 1", "del store['a']", "store.put('a', 1)", "store.remove('a')"])
@pytest.mark.parametrize("kind", ["pandas.HDFStore()", "h5py._hl.files.File()", "zarr.core.array.Array()"])
def test_setting_a_part_of_what_stands_for_a_file_writes_it(code, kind):
    assert whys(code, {"store": kind}) != []


@pytest.mark.parametrize(
    "argument", ["output_dir='x'", "storage='sqlite:///a'", "save=True", "log_dir=p", "target='a.png'"]
)
def test_an_argument_that_says_where_to_write_asks(argument):
    assert any("may write a file" in why for why in whys(f"import plotnine\nplotnine.thing({argument})"))


@pytest.mark.parametrize("code", ["def p(save): return save\np(save=True)", "a(output_dir=None)", "a(save=False)"])
def test_an_argument_of_ones_own_function_or_that_says_no_writes_nothing(code):
    assert whys(code) == []


# --- what is handed on ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "def c(d): d.dropna(inplace=True)\nc(df)",
        "def c(d, how):\n    d.dropna(how=how, inplace=True)\nc(how='any', d=df)",
        "c = lambda d: d.dropna(inplace=True)\nc(df)",
        "(lambda d: d.dropna(inplace=True))(df)",
        "df.pipe(lambda d: d.dropna(inplace=True))",
        "list(map(lambda d: d.dropna(inplace=True), [df]))",
        "for k, d in {'a': df}.items(): d.dropna(inplace=True)",
        "tables = [df, other]\ntables[0].dropna(inplace=True)",
        "tables = {'a': df}\ntables.get('a').dropna(inplace=True)",
        "class W:\n    def __init__(self, d): self.d = d\nW(df).d.dropna(inplace=True)",
    ],
)
def test_changing_in_place_is_seen_through_functions_and_containers(code):
    assert any("in place" in why for why in whys(code))


@pytest.mark.parametrize(
    "code",
    [
        "t = df.copy()\nt.dropna(inplace=True)",
        "t = df[['a']].head()\nt.columns = ['x']\nt.rename(columns=str.upper, inplace=True)",
        "def c(d):\n    d = d.copy()\n    d.dropna(inplace=True)\n    return d\nc(df)",
        "import torch.nn as nn\nnn.ReLU(inplace=True)",
        "mine.dropna(inplace=True)",
        "mine['a'].fillna(0, inplace=True)",
    ],
)
def test_changing_what_was_made_here_in_place_runs(code):
    assert whys(code) == []


@pytest.mark.parametrize("sql", ["drop table t", "COPY t TO 'x.csv'", "delete from t where a", "attach 'x.db' as x"])
def test_a_statement_that_changes_data_asks_whatever_it_is_given_to(sql):
    assert whys(f"import duckdb\nduckdb.some_new_function(df, {sql!r})") == ["runs SQL that may change data"]
    assert whys(f"print({sql!r})\nax.set_title({sql!r})") == []


def test_an_address_is_seen_through_pairs():
    assert whys("s = {'a': 'https://h/a.csv'}\n[pd.read_csv(u) for k, u in s.items()]") == ["uses the network"]
    assert whys("for n, u in zip('a', ['https://h/a.csv']): pd.read_csv(u)") == ["uses the network"]


@pytest.mark.parametrize(
    "code", ["type(df).head = None", "df.plot(backend='evil')", "pd.options.plotting.backend = 'evil'"]
)
def test_libraries_are_not_changed_for_everybody_by_another_way(code):
    assert whys(code) != []


# --- answers that last ------------------------------------------------------------------------------------


def test_a_library_nobody_knows_can_be_allowed_by_its_name():
    code = "import nobody_knows\nnobody_knows.compute(df)"
    assert assess("run_python", {"code": code}, "execute", Surroundings()).tokens == ("uses-nobody_knows",)
    more = assess("run_python", {"code": f"{code}\nopen(x, 'w')"}, "execute", Surroundings())
    assert more.tokens[0].startswith("code-")


@pytest.mark.parametrize(
    ("command", "risk"),
    [
        ("find . -name '*.csv' -exec wc -l {} +", "pure"),
        ("find . -type f -exec stat -c %s {} \\;", "pure"),
        ("find . -exec wc -l --files0-from=.env {} +", "ask"),
        ("find . -exec cat {} +", "ask"),
        ("find . -exec wc {} \\; -delete", "ask"),
        ("find . -exec wc {} + -exec rm {} +", "ask"),
        ("ls | xargs -n1 basename", "pure"),
        ("ls | xargs -I{} basename {} .csv", "pure"),
        ("ls | xargs wc -l", "ask"),
        ("ls | xargs -n1 rm", "ask"),
        ("ls | xargs", "ask"),
        ("wc -l --files0-from=.env", "ask"),
        ("du --files0-from .env", "ask"),
        ("wc --f=.env", "ask"),
    ],
)
def test_programs_that_tell_about_files_may_be_run_on_each(command, risk):
    from zidane_lab.approvals.shell_code import classify_shell

    assert classify_shell(command).risk == risk
