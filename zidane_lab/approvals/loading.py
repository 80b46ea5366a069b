"""What loads code with the data, or fetches it: pickles, models, datasets; and files opened under a hidden name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from zidane_lab.approvals.builtin_calls import Code
from zidane_lab.approvals.called import Called
from zidane_lab.approvals.shell_rules import names_in

__all__ = ["judge_loading", "judge_opened"]

_PICKLE: Final = "loads a pickle, which runs the code in it"
_MODEL: Final = "loads a model, which may run the code in it"

_PICKLES: Final = {"numpy.load": 2, "numpy.lib.format.read_array": 1, "numpy.lib.npyio.NpzFile": 2}
"""NumPy's loaders, with the position of ``allow_pickle``."""

_LOADERS: Final = {
    **dict.fromkeys(("gensim", "statsmodels", "skops", "cloudpickle", "dill", "compress_pickle"), _PICKLE),
    **dict.fromkeys(("keras", "tensorflow", "mlflow", "skorch", "pytorch_lightning", "lightning"), _MODEL),
}
"""Packages whose loaders run code that comes with what they load."""
_LOADS: Final = re.compile(r"load|loads|load_pickle|load_model|load_from_checkpoint")
_FETCHING: Final = re.compile(r"(?:torchvision|timm|keras\.applications|tensorflow\.keras\.applications)\.")
"""Packages that fetch the weights of their models."""
_KEEPS_NOTES: Final = re.compile(r"CatBoost\w*$")
"""Models that write files while they are trained."""
_FORMULAS: Final = re.compile(r"(?:statsmodels\.(?:formula\.)?|patsy\.|formulaic\.)")
"""Packages whose formulas are Python."""
_PICTURES: Final = names_in("Image SVG Audio Video IFrame")


def judge_loading(call: Called) -> Iterator[str | Code]:
    """Judge loaders that run code or fetch what they load."""
    for keyword, why in (
        ("allow_pickle", _PICKLE),
        ("download", "uses the network"),
        ("pretrained", "uses the network"),
    ):
        given = call.argument(None, keyword)
        if given is not None and not (isinstance(given, ast.Constant) and not given.value):
            yield why
    yield from _loading_arrays(call)
    yield from _loading_models(call)
    yield from _formulas(call)
    if any(".datasets." in each and each.endswith(".load_data") for each in call.origins):
        yield "uses the network"
    if any("imagenet" in (call.names.texts(each) or ()) for each in call.arguments):
        yield "uses the network"
    if any(map(_KEEPS_NOTES.match, call.lasts)) and not _says(call, "allow_writing_files", False):
        yield "writes notes of the training into a folder (unless allow_writing_files=False)"
    if "load_extension" in call.lasts:
        yield "loads an extension"


def _says(call: Called, keyword: str, value: object) -> bool:
    given = call.argument(None, keyword)
    return isinstance(given, ast.Constant) and given.value is value


def _loading_arrays(call: Called) -> Iterator[str]:
    """Judge NumPy's loaders, which take pickles and modes of mapped memory by position, too."""
    position = next((_PICKLES[each] for each in call.origins if each in _PICKLES), None)
    if position is None:
        return
    pickles = call.argument(position, "allow_pickle")
    if call.is_spread or (pickles is not None and not (isinstance(pickles, ast.Constant) and not pickles.value)):
        yield _PICKLE
    mapped = call.argument(1, "mmap_mode") if "numpy.load" in call.origins else None
    if mapped is not None and not (isinstance(mapped, ast.Constant) and mapped.value in {None, "r", "c"}):
        yield "opens a file for writing"


def _loading_models(call: Called) -> Iterator[str]:
    """Judge what comes with code, or from elsewhere: models, their weights, pictures by their address."""
    for origin in call.origins:
        why = _LOADERS.get(origin.partition(".")[0])
        if why and _LOADS.fullmatch(origin.rpartition(".")[2]) and ".datasets." not in origin:
            yield why
        weights = call.argument(None, "weights") if _FETCHING.match(origin) else None
        if weights is not None and not (isinstance(weights, ast.Constant) and weights.value is None):
            yield "uses the network"
    kind = call.argument(None, "typ")
    if isinstance(kind, ast.Constant) and kind.value == "unsafe":
        yield _PICKLE
    if call.lasts & _PICTURES and call.argument(None, "url") is not None:
        yield "may use the network"


def _formulas(call: Called) -> Iterator[Code]:
    """Look into formulas, in which functions are called: ``y ~ I(f(x))``; and into texts that become functions."""
    given: list[ast.expr | None] = []
    if any(_FORMULAS.match(origin) for origin in call.origins):
        given = [call.argument(0, "formula")]
    elif any(origin.startswith("sympy.") and origin.endswith(".lambdify") for origin in call.origins):
        given = [call.argument(1, "expr")]
    for each in given:
        for text in call.names.texts(each) or ():
            yield from (Code(side.replace(":", "+").strip()) for side in text.split("~") if "(" in side)


# --- names of files -------------------------------------------------------------------------------------

_OPENS: Final = re.compile(
    r"open|Path|PosixPath|PurePath|read_(?!clipboard|sql)\w+|loadtxt|genfromtxt|fromfile|imread|scan_\w+|getlines?"
)
_HIDES: Final = names_in(
    """chr fromhex unhexlify a2b_hex b64decode b32decode b16decode b85decode a85decode urlsafe_b64decode
    standard_b64decode decodebytes reversed translate maketrans decompress to_bytes"""
)
"""Functions that make a text nobody can read where it stands."""
_IN_MEMORY: Final = names_in("BytesIO StringIO frombuffer BufferedReader TextIOWrapper")


def judge_opened(call: Called) -> Iterator[str]:
    """Judge a file that is opened under a name which is put together out of sight."""
    if not any(map(_OPENS.fullmatch, call.lasts)):
        return
    for argument in call.arguments[:2]:
        found = set(map(_called, call.names.parts(argument)))
        numbers = any(isinstance(each, ast.Call) and _is_bytes(each) for each in call.names.parts(argument))
        if (numbers or found & _HIDES) and not found & _IN_MEMORY and call.names.texts(argument) is None:
            yield "opens a file whose name cannot be seen here"


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    if isinstance(function, ast.Attribute):
        is_codecs = function.attr == "decode" and isinstance(function.value, ast.Name) and function.value.id == "codecs"
        return "decompress" if is_codecs else function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_bytes(node: ast.Call) -> bool:
    """Whether these are bytes out of numbers: ``bytes([46, 101])``."""
    return isinstance(node.func, ast.Name) and node.func.id in {"bytes", "bytearray"} and bool(node.args)
