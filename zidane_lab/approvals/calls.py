"""What a call does, judged by its arguments: modes of ``open``, paths to write to, addresses, code in texts."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from typing import Final

from zidane_lab.approvals.builtin_calls import Code, judge_builtin
from zidane_lab.approvals.called import Called
from zidane_lab.approvals.folding import reaches_attribute
from zidane_lab.approvals.loading import judge_loading, judge_opened
from zidane_lab.approvals.origins import Names
from zidane_lab.approvals.page import judge_shown
from zidane_lab.approvals.rules import DATA_METHODS, METHODS, TEXT_RUNNERS, WRITERS_WITH_PATH, method_effect
from zidane_lab.approvals.secrets import secret_name
from zidane_lab.approvals.texts import (
    changes_data,
    is_address,
    is_read_only_database,
    opens_for_writing,
    saves_to,
    sql_effect,
    sql_files,
)
from zidane_lab.approvals.verbs import judge_destinations, judge_verbs

__all__ = ["HIGHER_ORDER", "judge"]

HIGHER_ORDER: Final = frozenset(
    {"agg", "aggregate", "apply", "call_later", "call_soon", "filter", "list", "map", "max", "min", "partial", "pipe"}
    | {"reduce", "register", "sort", "sorted", "starmap", "submit", "transform", "tuple", "vectorize"}
)
"""Functions that call what they are given, or what they are given the name of."""

_BY_NAME: Final = frozenset({"agg", "aggregate", "apply", "map", "transform"})
"""Those of them that take the names of methods."""

_MODES: Final = {
    "open": (1, "r"),
    "io.open": (1, "r"),
    "codecs.open": (1, "r"),
    "gzip.open": (1, "rb"),
    "gzip.GzipFile": (1, "rb"),
    "bz2.open": (1, "rb"),
    "bz2.BZ2File": (1, "r"),
    "lzma.open": (1, "rb"),
    "lzma.LZMAFile": (1, "r"),
    "tarfile.open": (1, "r"),
    "tarfile.TarFile": (1, "r"),
    "zipfile.ZipFile": (1, "r"),
    "wave.open": (1, "r"),
    "h5py.File": (1, "r"),
    "netCDF4.Dataset": (1, "r"),
    "rasterio.open": (1, "r"),
    "fiona.open": (1, "r"),
    "tables.open_file": (1, "r"),
    "zarr.open": (1, "a"),
    "zarr.open_group": (1, "a"),
    "pyarrow.memory_map": (1, "r"),
    "numpy.memmap": (2, "r+"),
    "numpy.lib.format.open_memmap": (1, "r+"),
    "PIL.Image.open": (1, "r"),
    "Image.open": (1, "r"),
    "soundfile.SoundFile": (1, "r"),
}
"""Functions with a mode: its position and its default."""

_MODE: Final = re.compile(r"[rwaxbtU+]{1,4}(?:[:|]\w*)?")
_OPENING: Final = re.compile(r"open|file|memmap", re.IGNORECASE)
_READING: Final = re.compile(
    r"(?:read|load|open|scan|fetch|get|imread|from|parse|retrieve|request|stream)(?:_\w+)?|Image|Audio"
)
_ADDRESS_NAME: Final = re.compile(r"\b\w*(?:url|uri|href|endpoint)s?\b", re.IGNORECASE)
_TARGETS: Final = frozenset(
    {"buf", "excel_writer", "file", "filename", "filepath", "fname", "path", "path_or_buf", "path_or_buffer"}
)
_TEXT_ONLY: Final = frozenset(
    {"Series", "DataFrame", "add", "annotate", "append", "compile", "contains", "count", "dict", "endswith", "extract"}
    | {"find", "findall", "format", "hash", "index", "isinstance", "len", "list", "match", "print", "quote", "repr"}
    | {"removeprefix", "removesuffix", "replace", "search", "set", "set_title", "set_xlabel", "sorted", "split", "str"}
    | {"startswith", "strip", "sub", "text", "title", "tuple", "urljoin", "urlparse", "urlsplit"}
)
"""Functions that treat an address as a text."""
_UNSEEN_MODE: Final = "opens a file in a mode that cannot be seen here"


def judge(
    node: ast.Call, names: Names, *, is_module: Callable[[str], bool], parent: ast.AST | None
) -> Iterator[str | Code]:
    """Yield the reasons to ask that a call gives, and the code in its arguments."""
    origins = names.origins(node.func)
    lasts = {each.rpartition(".")[2] for each in origins}
    if isinstance(node.func, (ast.Attribute, ast.Name)):
        lasts.add(node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id)
    call = Called(node, names, origins, frozenset(lasts))
    yield from judge_builtin(node, names, origins, is_module=is_module, parent=parent)
    yield from _opening(call)
    yield from _moving(call)
    yield from _writing(call)
    yield from _querying(call)
    yield from _stating(call)
    yield from _drawing(call)
    yield from _connecting(call)
    yield from judge_loading(call)
    yield from judge_opened(call)
    yield from _network(call)
    yield from judge_shown(call)
    yield from _formatting(call, is_module)
    yield from judge_verbs(call, is_module)
    yield from judge_destinations(call)
    if call.lasts & HIGHER_ORDER:
        yield from _methods_by_name(call)


def _opening(call: Called) -> Iterator[str]:
    """Judge ``open`` and its like by their mode."""
    opener = next((each for each in call.origins if each in _MODES), None)
    if opener is not None:
        position, default = _MODES[opener]
        given = call.argument(position, "mode")
        modes = frozenset({default}) if given is None else call.names.texts(given)
        if call.is_spread or modes is None or call.argument(None, "opener") is not None:
            yield _UNSEEN_MODE
        elif any(opens_for_writing(mode) for mode in modes):
            yield "opens a file for writing"
    elif any(_OPENING.search(last) for last in call.lasts):
        yield from _opening_unknown(call)


def _opening_unknown(call: Called) -> Iterator[str]:
    """Judge ``something.open(…)``: a path's takes the mode first, a module's takes the path first."""
    given = [*call.node.args[:2], *(each.value for each in call.node.keywords if each.arg == "mode")]
    for texts in map(call.names.texts, given):
        if texts is None and "open" in call.lasts:
            yield _UNSEEN_MODE
        elif any(_MODE.fullmatch(text) and opens_for_writing(text) for text in texts or ()):
            yield "opens a file for writing"
    if call.is_spread and "open" in call.lasts:
        yield _UNSEEN_MODE


_ELEMENT: Final = re.compile(
    r"\.(?:map|apply|applymap|map_elements)\(\).*(?:\[\]|\.(?:max|min)\(\))|^pandas\.Series\(\)(?:\.\w+)?\[\]"
)
"""Something out of a column, which may hold paths."""


def _is_data(origin: str) -> bool:
    """Whether what an origin tells is a table, an array or a text, not a path."""
    if origin in {"str()", "dict()", "list()", "numpy", "pandas", "polars", "xarray", "torch", "tensorflow"}:
        return True
    if origin.endswith("['']"):  # `df["a"]`
        return not origin.startswith(("dict()", "pathlib."))
    if _ELEMENT.search(origin):
        return False
    library = origin.startswith(("pandas.", "polars.", "numpy.", "xarray.", "datetime.")) and "(" in origin
    if "." not in origin:  # `max()` of anything
        return library
    return (
        library
        or origin.endswith((".index", ".columns"))
        or re.sub(r"[\[(].*$", "", origin.rpartition(".")[2]) in DATA_METHODS
    )


def _moving(call: Called) -> Iterator[str]:
    """Tell ``path.rename("new")`` from ``df.rename(columns=…)`` and ``text.replace("a", "b")``."""
    if not call.lasts & {"rename", "replace", "move", "copy", "extract"} or not call.is_attribute:
        return
    receivers = call.names.origins(call.receiver)
    if (receivers and all(map(_is_data, receivers))) or all(each.startswith("copy.") for each in call.origins):
        return
    arguments, keywords = call.node.args, {each.arg for each in call.node.keywords}
    single = len(arguments) == 1 and not keywords
    first = arguments[0] if arguments else None
    is_class = bool(receivers & {"type()", "pathlib.Path", "pathlib.PosixPath", "Path"}) or call.receiver is None
    if call.lasts & {"extract"}:
        if not (isinstance(call.receiver, ast.Attribute) and call.receiver.attr == "str"):
            yield "may write a file out of an archive"
    elif call.is_spread or "target" in keywords or call.lasts & {"move"} or is_class:
        yield "may move, copy or rename a file"
    elif call.lasts & {"copy"}:
        if first is not None and not (isinstance(first, ast.Constant) and isinstance(first.value, bool)):
            yield "may copy a file"
    elif single and not isinstance(first, (ast.Dict, ast.DictComp, ast.Lambda)):
        yield "may move or rename a file"


def _writing(call: Called) -> Iterator[str]:
    """Judge what writes only when it is told where: ``to_csv``, a log's file, ``print``'s."""
    for last in call.lasts:
        if last in WRITERS_WITH_PATH:
            given = [*call.node.args[:1], *(each.value for each in call.node.keywords if each.arg in _TARGETS)]
            if call.is_spread or any(not (isinstance(each, ast.Constant) and each.value is None) for each in given):
                yield "writes a file"
        elif last.startswith("to_") and not last.startswith(("to_date", "to_time")) and last not in METHODS:
            texts = call.names.texts(call.node.args[0]) if call.node.args else None
            if any(map(saves_to, texts or ())) or any(each.arg in _TARGETS for each in call.node.keywords):
                yield "writes a file"
    if "basicConfig" in call.lasts and any(each.arg in {"filename", "handlers"} for each in call.node.keywords):
        yield "writes a log file"
    if "export_graphviz" in call.lasts and call.argument(1, "out_file") is not None:
        yield "writes a file"
    target = call.argument(None, "file") if "print" in call.lasts else None
    if target is not None and not call.names.origins(target) <= {"sys.stdout", "sys.stderr", "io.StringIO()"}:
        yield "writes to a file"


def _stating(call: Called) -> Iterator[str]:
    """Judge a statement of SQL that is given to whatever: ``duckdb.query_df(df, "t", "drop table u")``."""
    if call.is_attribute and not call.lasts & (_TEXT_ONLY | TEXT_RUNNERS):
        texts = (text for each in call.arguments for text in call.names.texts(each) or ())
        if any(map(changes_data, texts)):
            yield "runs SQL that may change data"


_BACKENDS: Final = frozenset({"matplotlib", "plotly", "hvplot", "altair", "holoviews"})
"""Libraries that Pandas draws with."""


def _drawing(call: Called) -> Iterator[str]:
    """Judge ``df.plot(backend="…")``, which imports the module of that name."""
    backend = call.argument(None, "backend") if call.lasts & {"plot", "hist", "boxplot"} else None
    if backend is not None and not (call.names.texts(backend) or {""}) <= _BACKENDS:
        yield "loads a module by its name"


def _querying(call: Called) -> Iterator[str | Code]:
    """Judge code and SQL in texts: ``df.query``, ``pd.eval``, ``connection.execute``, ``read_sql``."""
    if not call.is_attribute or not call.arguments:
        return
    searching = all(each.startswith(("scipy.", "sklearn.")) for each in call.origins)  # a tree is asked for neighbours
    if call.lasts & {"eval", "query"} and not searching:
        given = call.argument(0, "expr")  # xarray takes one text for each dimension
        sources = [given] if given is not None else [each.value for each in call.node.keywords]
        known = [call.names.texts(each) for each in sources if not _is_expression(call.names.origins(each))]
        if call.is_spread or None in known:
            yield "evaluates a text that cannot be seen here"
        for text in frozenset[str]().union(*(each for each in known if each)):
            if re.match(r"\s*(?:select|with|from)\s", text, re.IGNORECASE):
                yield from _sql(text)
            else:  # pandas: `column name` in backticks, @variable
                plain = re.sub(r"`[^`]*`", "column", text).replace("@", "")
                yield Code("\n".join(line.strip() for line in plain.strip().splitlines()))
    if call.lasts & (TEXT_RUNNERS - {"eval", "query"}):
        given = call.argument(0, "query") or call.argument(None, "sql")
        if isinstance(given, ast.Call) and len(given.args) == 1:  # sqlalchemy's text("…")
            given = given.args[0]
        texts = None if call.is_spread else call.names.texts(given)
        if texts is None:
            yield "runs SQL that cannot be seen here"
        for text in texts or ():
            yield from _sql(text)


def _sql(text: str) -> Iterator[str]:
    yield from filter(None, [sql_effect(text)])
    yield from (f"names {each!r}, which commonly holds secrets" for each in sql_files(text) if secret_name(each))


def _is_expression(origins: frozenset[str]) -> bool:
    """Whether this is surely a Polars expression, which no text can become."""
    return bool(origins) and all(each.startswith(("polars.col()", "polars.element()")) for each in origins)


def _connecting(call: Called) -> Iterator[str]:
    """Judge ``connect``: a database in memory, or one opened for reading only, is no one's data."""
    if "connect" in call.lasts and call.is_attribute and call.arguments:
        texts = call.names.texts(call.argument(0, "database"))
        uri = call.argument(None, "uri")
        is_uri = isinstance(uri, ast.Constant) and uri.value is True
        safe = texts and all(text == ":memory:" or (is_uri and is_read_only_database(text)) for text in texts)
        if not safe or call.is_spread:
            yield "opens a connection or a database"


def _formatting(call: Called, is_module: Callable[[str], bool]) -> Iterator[str]:
    """Judge ``"{0.os.environ}".format(logging)``: a template looks up attributes."""
    if not call.lasts & {"format", "format_map"}:
        return
    template = call.receiver
    if call.names.origins(template) & {"str", "builtins.str"} and call.node.args:  # `str.format(template, …)`
        template = call.node.args[0]
    texts = call.names.texts(template)
    pieces = texts if texts is not None or template is None else call.names.pieces(template)
    if any(map(reaches_attribute, pieces or ())):
        yield "looks up attributes by a text"
    elif texts is None:
        parts = [each for given in call.arguments for each in call.names.parts(given)]
        inner = {each.value for each in parts if isinstance(each, ast.Attribute)}
        handed = [each for each in parts if isinstance(each, (ast.Name, ast.Attribute)) and each not in inner]
        origins = frozenset[str]().union(*map(call.names.origins, handed))
        if any(is_module(each) and ("." not in each or each in sys.modules) for each in origins):
            yield "looks up what cannot be seen here"


def _network(call: Called) -> Iterator[str]:
    """Judge addresses among the arguments, and arguments named like addresses."""
    written = call.node.func
    name = written.attr if isinstance(written, ast.Attribute) else written.id if isinstance(written, ast.Name) else ""
    if name in _TEXT_ONLY:
        return
    if any(is_address(text) for argument in call.arguments for text in call.names.beginnings(argument)):
        yield "uses the network"
    elif _reads(call) and any("://" in text for each in _sources(call) for text in call.names.pieces(each)):
        yield "may use the network"
    elif any(map(_READING.fullmatch, call.lasts)):
        unknown = [each for each in call.arguments[:2] if call.names.texts(each) is None]
        if any(_ADDRESS_NAME.search(ast.unparse(each)) for each in unknown):
            yield "may use the network"


def _reads(call: Called) -> bool:
    """Whether it is a reader that is called, or one that is handed on to be called."""
    lasts = set(call.lasts)
    if call.lasts & HIGHER_ORDER:
        lasts |= {each.rpartition(".")[2] for argument in call.arguments for each in call.names.origins(argument)}
    return any(_READING.fullmatch(each) and not each.startswith("from") for each in lasts)


def _sources(call: Called) -> list[ast.expr]:
    """Return what a reader may be given as an address."""
    mapped = [call.receiver] if call.receiver is not None and call.lasts & HIGHER_ORDER else []
    return [*mapped, *call.arguments]


def _methods_by_name(call: Called) -> Iterator[str]:
    """Judge methods called by their name, as in ``df.agg("to_csv")``."""
    for argument in call.arguments:
        names = {each.value for each in ast.walk(argument) if isinstance(each, ast.Constant)}
        if call.lasts & _BY_NAME:
            built = [each for each in ast.walk(argument) if isinstance(each, (ast.BinOp, ast.JoinedStr, ast.Call))]
            names |= call.names.pieces(argument).union(*(call.names.texts(each) or () for each in built))
        for name in names:
            if isinstance(name, str) and (method_effect(name) or name in WRITERS_WITH_PATH):
                yield f"calls `{name}` by its name"
    first = call.argument(0, "func")
    if call.lasts & _BY_NAME and first is not None:
        texts = call.names.texts(first)
        if texts is None and isinstance(first, (ast.JoinedStr, ast.BinOp)) and call.names.pieces(first):
            yield "calls a method by a name that cannot be seen here"
        yield from (f"calls `{text}` by its name" for text in texts or () if text in TEXT_RUNNERS)
