"""What a call does, judged by its arguments: modes of ``open``, paths to write to, addresses, code in texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from zidane_lab.approvals.origins import Names
from zidane_lab.approvals.rules import DATA_METHODS, METHOD_PREFIXES, METHODS, READERS, URL, WRITERS_WITH_PATH

__all__ = ["HIGHER_ORDER", "JUDGED", "Code", "judge"]

JUDGED: Final = frozenset(
    {"open", "eval", "exec", "compile", "__import__", "getattr", "setattr", "delattr", "globals", "locals"}
)
"""Built-in functions whose calls are judged here."""

HIGHER_ORDER: Final = frozenset(
    """map filter reduce partial starmap apply agg aggregate transform pipe submit sorted max min sort list tuple
    call_soon call_later add_done_callback register Thread Process Timer timeit vectorize""".split()
)
"""Functions that call what they are given."""

_OPENERS: Final = {
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
    "numpy.memmap": (2, "r+"),
    "numpy.lib.format.open_memmap": (1, "r+"),
    "PIL.Image.open": (1, "r"),
    "soundfile.SoundFile": (1, "r"),
    "Image.open": (1, "r"),
}
"""Functions with a mode: its position and its default."""

_PATH_KEYWORDS: Final = frozenset(
    "path_or_buf path path_or_buffer buf fname filepath file excel_writer filename path_or_file".split()
)
_HARMLESS_WITH_URL: Final = frozenset(
    """print len str repr format append startswith endswith urlparse urlsplit urljoin quote contains replace split
    match search sub compile isinstance hash sorted set list tuple dict add set_title set_xlabel title text annotate
    Series DataFrame count index find removeprefix removesuffix strip findall extract""".split()
)
_SQL_READS: Final = re.compile(r"^\s*(?:select|with|values|show|describe|desc|explain|from)\b", re.IGNORECASE)
_SQL_WRITES: Final = re.compile(
    r"\b(?:insert|update|delete|drop|create|alter|attach|detach|copy|install|load|load_extension|vacuum|into|truncate|"
    r"grant|revoke|merge|call|pragma|set|export|import|replace\s+into|pg_\w+|lo_\w+|xp_\w+|dblink\w*|read_text|"
    r"writefile|readfile|edit|getenv)\b|://",
    re.IGNORECASE,
)
_SCRIPTED: Final = re.compile(r"<\s*script|javascript:|\bon\w+\s*=|<\s*(?:iframe|object|embed)", re.IGNORECASE)
_SHOWN: Final = frozenset({"HTML", "SVG", "Markdown", "display_html", "display_svg", "Latex"})
_SAVES_TO: Final = re.compile(r"[/\\]|\.[A-Za-z]\w{1,7}$")


@dataclass(frozen=True, slots=True)
class Code:
    """Python in a text, to be looked into."""

    text: str


def judge(
    node: ast.Call, names: Names, *, is_module: Callable[[str], bool], parent: ast.AST | None
) -> Iterator[str | Code]:
    """Yield the reasons to ask that a call gives, and the code in its arguments."""
    origins = names.origins(node.func)
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    plain = method or (node.func.id if isinstance(node.func, ast.Name) else "")
    lasts = {each.rpartition(".")[2] for each in origins} | {plain}
    yield from _builtins(node, names, origins, is_module, parent)
    opener = next((each for each in origins if each in _OPENERS), None)
    if opener is not None:
        yield from _mode(node, names, *_OPENERS[opener])
    elif "open" in lasts and (method or "open" not in origins):
        yield from _unknown_open(node, names)
    if lasts & {"rename", "replace", "move", "copy"}:
        yield from _moving(node, names, lasts)
    for last in lasts:
        yield from _writing(node, names, last)
        yield from _querying(node, names, last, is_method=bool(method))
    yield from _loading(node, names, lasts)
    yield from _network(node, names, plain)
    yield from _showing(node, names, lasts)
    if lasts & HIGHER_ORDER:
        yield from _named_methods(node)


def _argument(node: ast.Call, position: int, keyword: str) -> ast.expr | None:
    """Return an argument by position or keyword."""
    for each in node.keywords:
        if each.arg == keyword:
            return each.value
    return node.args[position] if len(node.args) > position else None


def _is_spread(node: ast.Call) -> bool:
    """Whether arguments come from somewhere else, as in ``f(*args, **options)``."""
    return any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords)


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def _builtins(
    node: ast.Call,
    names: Names,
    origins: frozenset[str],
    is_module: Callable[[str], bool],
    parent: ast.AST | None,
) -> Iterator[str | Code]:
    """Judge ``eval``, ``getattr`` and their like."""
    first = node.args[0] if node.args else None
    if origins & {"eval", "exec", "compile"}:
        texts = None if first is None or _is_spread(node) else names.texts(first)
        if texts is None:
            yield "runs code that cannot be seen here"
        else:
            yield from (Code(text) for text in texts)
    if origins & {"__import__"}:
        modules = names.texts(first)
        if modules is None:
            yield "imports what cannot be seen here"
        else:
            yield from (Code(f"import {module}") for module in modules)
    if "getattr" in origins:
        attributes = names.texts(node.args[1]) if len(node.args) > 1 else None
        if attributes is None or _is_spread(node):
            yield "looks up what cannot be seen here"
        else:
            # Judged as if it had been written out, under the same names.
            yield from (Code(f"{ast.unparse(node.args[0])}.{each}") for each in attributes)
    if origins & {"setattr", "delattr"}:
        attributes = names.texts(node.args[1]) if len(node.args) > 1 else None
        inner = any(each.startswith("__") for each in attributes or ())
        if inner or first is None or any(is_module(each) for each in names.origins(first)):
            yield "changes a module or a class for everybody"
    if origins & {"globals", "locals"} and not _only_looks(node, parent, names):
        yield "reaches the variables behind their names"
    if "vars" in origins and node.args and any(is_module(each) for each in names.origins(first)):
        yield "reaches a module's inside"
    if "vars" in origins and not node.args and not _only_looks(node, parent, names):
        yield "reaches the variables behind their names"
    if "help" in origins and not node.args:
        yield "waits for input"


def _only_looks(node: ast.Call, parent: ast.AST | None, names: Names) -> bool:
    """Whether ``globals()`` is only asked whether or which names exist, or for one by name."""
    match parent:
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right]):
            return right is node
        case ast.Call(func=ast.Name(id="list" | "sorted" | "len" | "set"), args=[only]):
            return only is node
        case ast.Attribute(attr="keys"):
            return True
        case ast.Subscript(ctx=ast.Load(), slice=key):
            return names.texts(key) is not None
    return False


def _mode(node: ast.Call, names: Names, position: int, default: str) -> Iterator[str]:
    given = _argument(node, position, "mode")
    if any(each.arg == "opener" for each in node.keywords):
        yield "opens a file in a way that cannot be seen here"
    if _is_spread(node):
        yield "opens a file in a mode that cannot be seen here"
        return
    modes = frozenset({default}) if given is None else names.texts(given)
    if modes is None:
        yield "opens a file in a mode that cannot be seen here"
    elif any(_writes(mode) for mode in modes):
        yield "opens a file for writing"


def _writes(mode: str) -> bool:
    return bool(set(re.split(r"[:|]", mode)[0]) & set("wax+"))


def _unknown_open(node: ast.Call, names: Names) -> Iterator[str]:
    """Judge ``something.open(…)``: a path's (mode first) or a module's (path first)."""
    modes: list[ast.expr | None] = [*node.args[:2], *(each.value for each in node.keywords if each.arg == "mode")]
    for given in modes:
        texts = names.texts(given)
        if texts is None or _is_spread(node):
            yield "opens a file in a mode that cannot be seen here"
        elif any(_writes(text) for text in texts if len(text) <= 5 and set(text) <= set("rwaxbt+U:|gz2")):
            yield "opens a file for writing"
    if _is_spread(node):
        yield "opens a file in a mode that cannot be seen here"


def _is_data(origins: frozenset[str]) -> bool:
    """Whether everything the receiver can be is a table, an array or a text, not a path."""
    return bool(origins) and all(_is_data_origin(origin) for origin in origins)


def _is_data_origin(origin: str) -> bool:
    if origin in {"str()", "dict()", "list()"} or origin.endswith("['']"):
        return not origin.startswith(("dict()", "pathlib."))
    last = re.sub(r"[\[(].*$", "", origin.rpartition(".")[2])
    from_library = origin.startswith(("pandas.", "polars.", "numpy.", "xarray.", "datetime.")) and "(" in origin
    return from_library or last in DATA_METHODS


def _moving(node: ast.Call, names: Names, lasts: set[str]) -> Iterator[str]:
    """Tell ``path.rename("new")`` from ``df.rename(columns=…)`` and ``text.replace("a", "b")``."""
    if not isinstance(node.func, ast.Attribute):
        if any("." in each for each in names.origins(node.func)):
            yield "may move or rename a file"
        return
    receiver = node.func.value
    if _is_data(names.origins(receiver)):
        return
    unbound = isinstance(receiver, ast.Call) and names.origins(receiver.func) & {"type"}
    classes = {"pathlib.Path", "pathlib.PosixPath", "pathlib.PurePath", "Path"}
    if unbound or names.origins(receiver) & classes:
        yield "may move or rename a file"
        return
    keywords = {each.arg for each in node.keywords}
    if _is_spread(node) or "target" in keywords:
        yield "may move or rename a file"
        return
    arguments = node.args
    if lasts & {"copy"}:
        moved = bool(arguments) and not isinstance(arguments[0], ast.Constant)
        moved = moved or (
            bool(arguments) and isinstance(arguments[0], ast.Constant) and isinstance(arguments[0].value, str)
        )
        if moved and not any(each.split(".")[0] == "copy" for each in names.origins(node.func)):
            yield "may copy a file"
    elif lasts & {"move"}:
        yield "may move or rename a file"
    elif len(arguments) == 1 and not keywords and not isinstance(arguments[0], (ast.Dict, ast.DictComp, ast.Lambda)):
        yield "may move or rename a file"


def _writing(node: ast.Call, names: Names, last: str) -> Iterator[str]:
    """Judge ``to_csv`` and its like: they write when they are told where."""
    if last in WRITERS_WITH_PATH:
        targets = [*node.args[:1], *(each.value for each in node.keywords if each.arg in _PATH_KEYWORDS)]
        if _is_spread(node) or any(not _is_none(target) for target in targets):
            yield "writes a file"
    elif last.startswith("to_") and node.args and last not in METHODS:
        texts = names.texts(node.args[0])
        if any(_SAVES_TO.search(text) for text in texts or ()) and not last.startswith(("to_date", "to_time")):
            yield "writes a file"
    if last == "basicConfig" and any(each.arg in {"filename", "handlers"} for each in node.keywords):
        yield "writes a log file"
    if last == "export_graphviz" and (node.args[1:] or any(each.arg == "out_file" for each in node.keywords)):
        yield "writes a file"
    if last == "print" and any(each.arg == "file" for each in node.keywords):
        target = _argument(node, 99, "file")
        if target is not None and not names.origins(target) <= {"sys.stdout", "sys.stderr", "io.StringIO()"}:
            yield "writes to a file"


def _querying(node: ast.Call, names: Names, last: str, *, is_method: bool) -> Iterator[str | Code]:
    """Judge code and SQL in texts: ``df.query``, ``pd.eval``, ``connection.execute``, ``read_sql``."""
    if last in {"eval", "query"} and is_method and (node.args or node.keywords):
        given = _argument(node, 0, "expr")
        texts = names.texts(given) if not _is_spread(node) else None
        if texts is None:
            yield "evaluates a text that cannot be seen here"
        for text in texts or ():
            if _SQL_READS.match(text):
                yield from _sql(frozenset({text}))
            else:
                plain = re.sub(r"`[^`]*`", "column", text).replace("@", "").strip()
                yield Code("\n".join(line.strip() for line in plain.splitlines()))
    if last in {"execute", "sql", "read_sql", "read_sql_query", "read_database"} and (node.args or node.keywords):
        given = _argument(node, 0, "sql")
        if isinstance(given, ast.Call) and len(given.args) == 1:  # sqlalchemy's text("…")
            given = given.args[0]
        yield from _sql(names.texts(given) if not _is_spread(node) else None)
    if last == "connect" and is_method:
        first = _argument(node, 0, "database")
        texts = names.texts(first) if first is not None else frozenset({":memory:"} if not node.keywords else ())
        if texts is None or not all(text == ":memory:" or "mode=ro" in text for text in texts) or not texts:
            yield "opens a connection or a database"


def _sql(texts: frozenset[str] | None) -> Iterator[str]:
    if texts is None:
        yield "runs SQL that cannot be seen here"
        return
    for text in texts:
        bare = re.sub(r"'(?:[^'])*'", lambda match: match[0] if "://" in match[0] else "''", text)
        table = re.fullmatch(r"\s*\w+\s*", text)
        if not table and (not _SQL_READS.match(bare) or _SQL_WRITES.search(bare) or ";" in bare.rstrip().rstrip(";")):
            yield "runs SQL that may change data"


def _loading(node: ast.Call, names: Names, lasts: set[str]) -> Iterator[str]:
    """Judge loaders that run code."""
    allow = _argument(node, 99, "allow_pickle")
    if allow is not None and not (isinstance(allow, ast.Constant) and allow.value is False):
        yield "loads a pickle, which runs the code in it"
    if "load_ext" in lasts or "load_extension" in lasts:
        yield "loads an extension"


def _network(node: ast.Call, names: Names, plain: str) -> Iterator[str]:
    """Judge addresses among the arguments, and arguments named like addresses."""
    if plain in _HARMLESS_WITH_URL:
        return
    arguments = [*node.args, *(each.value for each in node.keywords)]
    if any(URL.match(text) for argument in arguments for text in names.beginnings(argument)):
        yield "uses the network"
        return
    if READERS.match(plain):
        for argument in arguments[:2]:
            written = ast.unparse(argument).lower()
            if names.texts(argument) is None and re.search(r"\b\w*(?:url|uri|href|endpoint)s?\b", written):
                yield "may use the network"


def _showing(node: ast.Call, names: Names, lasts: set[str]) -> Iterator[str]:
    """Judge what is put into the page."""
    if lasts & _SHOWN:
        for argument in [*node.args, *(each.value for each in node.keywords)]:
            fragments = [each.value for each in ast.walk(argument) if isinstance(each, ast.Constant)]
            known = [*(text for text in fragments if isinstance(text, str)), *(names.texts(argument) or ())]
            if any(_SCRIPTED.search(text) for text in known):
                yield "puts a script into the page"
            elif any("://" in text for text in known):
                yield "makes the browser fetch an address"
    if lasts & {"Javascript", "display_javascript"}:
        yield "runs JavaScript in the browser"


def _named_methods(node: ast.Call) -> Iterator[str]:
    """Judge methods called by their name, as in ``df.agg("to_csv")``."""
    for argument in [*node.args, *(each.value for each in node.keywords)]:
        for each in ast.walk(argument):
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                name = each.value
                prefixed = name.startswith(tuple(METHOD_PREFIXES))
                if name in METHODS or name in WRITERS_WITH_PATH or prefixed:
                    yield f"calls `{name}` by its name"
