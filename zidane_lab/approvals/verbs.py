"""What a method's name says it does, where nobody knows what it is called on; and arguments that say where to write.

Methods of libraries that are known to compute are judged by the tables. Of anything else (a client, a session, a
server, an object of the user's) only the verb is seen: ``app.run()``, ``client.delete(key)``, ``bucket.put(…)``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from zidane_lab.approvals.called import Called
from zidane_lab.approvals.libraries import COMPUTING, HOLDING, root_of
from zidane_lab.approvals.rules import CONVENTIONAL
from zidane_lab.approvals.shell_rules import names_in
from zidane_lab.approvals.texts import saves_to

__all__ = ["judge_destinations", "judge_stored", "judge_verbs"]

_VERBS: Final = re.compile(
    r"create(?:_(?:all|tables?|database|schema|view|index|collection|bucket|topic|queue|user|repo|issue|pull|job|run|"
    r"task|record|item|file|folder|dir|directory|link|namespace|deployment))?|drop_(?:all|tables?|database|schema|view|index|collection)|"
    r"delete(?:_\w+)?|destroy\w*|purge\w*|wipe\w*|erase\w*|remove_(?:all|file|folder|object|dir|user)s?|"
    r"run(?:_\w+)?|launch\w*|serve(?:_\w+)?|listen|deploy\w*|publish\w*|send(?:_\w+)?|post(?:_\w+)?|put(?:_\w+)?|"
    r"patch(?:_\w+)?|push(?:_\w+)?|submit\w*|notify\w*|login|logout|authenticate|install\w*|shutdown\w*|restart\w*|"
    r"reboot|execute\w*|invoke\w*|trigger\w*|rollback|bulk_\w+|flush(?:all|db)|upsert\w*|"
    r"(?:insert|update|replace)_(?:one|many)|insert_rows?\w*|copy_(?:from|expert|to)|cancel_\w+|schedule\w*|enqueue\w*"
)
"""Names that say that something is done elsewhere."""
_STARTS: Final = names_in("start stop start_server start_run stop_run")
"""Those that a match has, too: judged where the variable was there before."""
_HELD: Final = re.compile(
    r"add(?:_all)?|merge|begin(?:_nested)?|insert(?:_into)?|update|append|to_table|to_view|create_\w+|require_\w+|"
    r"checkpoint|attach|detach|drop|resize|rename|install_\w+|register_filesystem|move|put|pop|clear|"
    r"create|createVariable|createDimension|setncattr\w*|flush|sync"
)
"""Names that change what an object of a database or a file stands for."""
_CALLERS: Final = names_in(
    "map apply filter pipe submit starmap reduce partial for_each foreach imap call_soon call_later"
)
_CONVENTIONAL: Final = frozenset(map(root_of, CONVENTIONAL.values()))
_EXEMPT: Final[Mapping[str, str | frozenset[str]]] = {
    **dict.fromkeys(("numpy", "pandas", "xarray", "polars", "collections", "random", "re", "heapq", "queue"), "all"),
    **dict.fromkeys(("sklearn", "scipy", "matplotlib", "seaborn", "torch", "networkx", "statsmodels"), "all"),
    "asyncio": names_in("run run_until_complete"),
    "os": "all",
    "sys": "all",
    "shutil": "all",
    "pickle": "all",
}
"""Libraries that compute, of which verbs say nothing; the names that do are in the tables."""
_READ_ONLY: Final = names_in("execute fetch run_query")
_DESTINATIONS: Final = names_in(
    """storage train_dir log_dir logdir save_dir savedir output_dir out_dir outdir default_root_dir dirpath save_path
    savepath output_path out_path output_file out_file outfile output_filename save_to dest destination checkpoint_dir
    ckpt_dir results_dir result_dir export_dir dump_path target_dir target_path workdir work_dir
    working_dir report_file logfile log_file log_path filehandle write_to errfile rptfile savefig save_as to_file
    log_filename local_dir"""
)
"""Arguments that name a place to write to."""
_TARGETS: Final = names_in("target output out html_file filename file_name fname to_path")
_READING: Final = re.compile(
    r"read|load|open|parse|scan|^Image$|imread|fromfile|^SVG$|^Audio$|^Video$|genfromtxt", re.IGNORECASE
)
"""Functions that take the name of what they read."""
_FLAGS: Final = names_in("save export write overwrite autosave persist_to_disk write_cache save_figure save_fig")
"""Arguments that, given anything but no, write."""
_VIEWERS: Final = re.compile(
    r"(?:PIL|altair)\..*\.show|graphviz\..*\.(?:view|pipe)|.*\.to_agraph\(\)\.(?:draw|layout|write)"
)
"""What hands its object to another program."""
_STORED: Final = re.compile(
    r"^(?:h5py|zarr|netCDF4|h5netcdf|shelve|tables|dbm)\.|HDFStore\(\)|memmap\(\)|^sqlitedict\."
)


def judge_verbs(call: Called, is_module: Callable[[str], bool]) -> Iterator[str]:
    """Yield what the name of a method says, unless it belongs to what is known to compute or to this code."""
    node = call.node
    yield from _verb(node.func, call.origins, call)
    if call.lasts & _CALLERS:
        for argument in call.arguments:
            if isinstance(argument, ast.Attribute):
                yield from _verb(argument, call.names.origins(argument), call)
    for last in call.lasts:
        if last.startswith("register") and any(
            is_module(each) for each in call.origins if each.rpartition(".")[2] == last and "." in each
        ):
            yield "changes a library for everybody"


def _verb(function: ast.expr, origins: frozenset[str], call: Called) -> Iterator[str]:
    for origin in origins:
        receiver, _, name = origin.rpartition(".")
        if not receiver or name in call.names.defined:
            continue
        root = root_of(origin)
        if _VIEWERS.fullmatch(origin):
            yield "starts a program that shows or draws it"
        stored = _STORED.search(receiver) is not None
        if stored or (root in HOLDING and "(" in receiver):
            changes = _HELD.fullmatch(name) or (_VERBS.fullmatch(name) and not name.startswith(("execute", "run")))
            if changes or (stored and name == "remove"):
                yield f"may change what is stored (`{name}`)"
            continue
        exempt = _EXEMPT.get(root, ()) if _is_library(root, call) else ()
        if exempt == "all" or name in exempt or receiver in {"str()", "list()", "dict()"} or name in _READ_ONLY:
            continue
        if _is_own(function, call):
            continue
        if _VERBS.fullmatch(name) or (name in _STARTS and _is_there(function, call)):
            yield f"may do more than compute (`{name}`)"


def _is_library(root: str, call: Called) -> bool:
    """Whether an origin begins with a library that is known to compute, not with a variable of such a name."""
    if root not in COMPUTING:
        return False
    return call.names.imports_root(root) or root in call.names.roots or root in _CONVENTIONAL


def _is_own(function: ast.expr, call: Called) -> bool:
    """Whether it is a method of an object whose class the user wrote in the notebook."""
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    value = call.names.known.get(function.value.id, "")
    return value.endswith("()") and "." not in value


def _is_there(function: ast.expr, call: Called) -> bool:
    """Whether the method's object is a variable that was there before this code."""
    while isinstance(function, (ast.Attribute, ast.Call, ast.Subscript)):
        function = function.func if isinstance(function, ast.Call) else function.value
    return isinstance(function, ast.Name) and not call.names.is_bound(function.id)


def judge_destinations(call: Called) -> Iterator[str]:
    """Yield arguments that say where to write, unless the function is the user's or stands in this code."""
    function = call.node.func
    if isinstance(function, ast.Name) and (
        function.id in call.names.defined or "." not in call.names.known.get(function.id, ".")
    ):
        return
    for each in call.node.keywords:
        nothing = isinstance(each.value, ast.Constant) and not each.value.value
        if each.arg in _DESTINATIONS | _FLAGS and not nothing:
            yield f"may write a file ({each.arg}=…)"
        elif each.arg in _TARGETS and not _READING.search(" ".join(call.lasts)):
            if any(map(saves_to, call.names.texts(each.value) or ())):
                yield f"may write a file ({each.arg}=…)"
        elif each.arg == "memory" and call.names.texts(each.value):
            yield f"may write a file ({each.arg}=…)"
        elif each.arg == "storage_options" and not nothing:
            yield "may use the network"


def judge_stored(origins: frozenset[str]) -> Iterator[str]:
    """Yield that a part is set of an object that stands for a file."""
    if any(map(_STORED.search, origins)):
        yield "writes into the file behind it"
