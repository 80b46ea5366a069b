"""Which libraries are known to only compute: what is not listed here asks, whatever its functions are called.

Nobody can list all that reaches out; what people compute with can be listed. There are three kinds: packages that only
compute, packages of which certain submodules do (their functions at the top are told apart in
:mod:`zidane_lab.approvals.rules`), and packages of which only the parts named in
:mod:`zidane_lab.approvals.library_parts` go unasked. A module of the user's own that is loaded already is taken at its
word, as are functions they wrote in the notebook; importing one anew runs it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from zidane_lab.approvals.library_parts import PARTS, SUBMODULES
from zidane_lab.approvals.rules import ALLOWED_PARTS, MODULES
from zidane_lab.approvals.shell_rules import names_in

__all__ = ["COMPUTING", "HOLDING", "foreign_root", "import_effect", "is_inner", "part_effect", "root_of"]

_STDLIB: Final = names_in(
    """abc argparse array ast asyncio audioop base64 binascii bisect bz2 calendar cmath codecs collections colorsys
    configparser contextlib contextvars copy csv dataclasses datetime decimal difflib dis email encodings enum errno
    filecmp fnmatch fractions functools genericpath getopt gettext glob graphlib grp gzip hashlib heapq hmac html
    imghdr inspect io ipaddress itertools json keyword linecache locale logging lzma math mimetypes mmap ntpath numbers
    opcode operator optparse pathlib pickletools platform plistlib posixpath pprint pstats pwd queue quopri random re
    reprlib secrets shlex sndhdr sqlite3 sre_compile sre_constants sre_parse stat statistics string stringprep struct
    sunau symtable sysconfig tabnanny tarfile textwrap time token tokenize tomllib traceback tracemalloc typing
    unicodedata uuid warnings wave weakref xml zipfile zlib zoneinfo __future__"""
)
"""Modules of the standard library that compute, or whose calls are judged one by one."""

_PACKAGES: Final = names_in(
    """seaborn plotly missingno wordcloud squarify joypy plotnine folium narwhals numexpr bottleneck sparse patsy
    formulaic lifelines linearmodels torchmetrics torchinfo optax chex einops mpl_toolkits umap hdbscan imblearn
    category_encoders feature_engine mlxtend tsfresh pmdarima arch ruptures hmmlearn prophet stumpy regex mpmath
    pywt cvxpy cvxopt ortools pint uncertainties h5py netCDF4 h5netcdf tables openpyxl xlrd fastparquet bs4
    soupsieve PIL shapely geopandas rasterio tabulate prettytable termcolor humanize pytz dateutil dateparser arrow
    pendulum tzdata tzlocal holidays babel pycountry unidecode ftfy rapidfuzz Levenshtein jellyfish thefuzz
    fuzzywuzzy emoji langdetect phonenumbers pandera pydantic pydantic_core attr attrs cattrs marshmallow jsonschema
    toolz cytoolz more_itertools funcy sortedcontainers boltons multipledispatch yaml toml tomli tomlkit orjson
    ujson simplejson xmltodict markdown markupsafe jinja2 packaging typing_extensions pyparsing lark parse
    ipywidgets IPython matplotlib_inline threadpoolctl cloudpickle dill colorcet cmocean palettable adjustText
    brokenaxes cycler contourpy kiwisolver great_tables pingouin scikit_posthocs xxhash mmh3 bitarray haversine h3
    _duckdb rich lime eli5 econml dowhy nbformat docx pypdf pyreadstat lxml skopt hyperopt anndata arviz pymc
    cftime rioxarray"""
)
"""Packages that compute; what else they do is told by the names of what is called."""

COMPUTING: Final = _STDLIB | _PACKAGES | SUBMODULES.keys() | PARTS.keys() | ALLOWED_PARTS.keys()
"""All that may be imported unasked."""

HOLDING: Final = names_in("sqlalchemy duckdb _duckdb ibis sqlite3 tables h5py zarr netCDF4 h5netcdf")
"""Those whose objects stand for what is kept elsewhere, so that a verb may change it."""

_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_MODULE: Final = re.compile(r"[a-z][a-z0-9_]*")
_OF_FUNCTIONS: Final = names_in("at reduce accumulate outer reduceat cache_clear cache_info register dispatch")
"""What functions have, too, so that their name is none of a submodule."""


def root_of(origin: str) -> str:
    """Return the package an origin begins with."""
    return re.split(r"[.(\[]", origin, maxsplit=1)[0]


def import_effect(module: str) -> str | None:
    """Say why importing a module asks: nobody knows that it only computes."""
    root = root_of(module)
    if root in COMPUTING or _is_judged(module) or _is_own(root):
        return None
    return f"uses {root}, which is not known to only compute"


def foreign_root(origin: str, known: str) -> str | None:
    """Return the package behind a name of the namespace that stands for ``known``, if it is not known to compute."""
    root = root_of(origin)
    if root != root_of(known) or root in COMPUTING or _is_own(root):
        return None
    if "." not in known and root not in sys.modules:  # a function or class of the user's
        return None
    return None if _is_judged(known) else root


def part_effect(parts: Sequence[str]) -> str | None:
    """Say why a part of a package asks: of this package not everything is known to only compute."""
    root, inner = parts[0], list(parts[1:])
    if not inner:
        return None
    if inner[0] == "keras" and len(inner) > 1:  # also as `tensorflow.keras`
        root, inner = "keras", inner[1:]
    if root in SUBMODULES:
        beyond = len(inner) > 1 and _MODULE.fullmatch(inner[0]) and inner[1] not in _OF_FUNCTIONS
        if not beyond or _within(inner, SUBMODULES[root]):
            return None
        return f"uses {root}.{inner[0]}, which is not known to only compute"
    if root not in PARTS or _is_part(inner, PARTS[root]):
        return None
    return f"uses {'.'.join(parts[:3])}, which is not known to only compute"


def _within(inner: Sequence[str], allowed: frozenset[str]) -> bool:
    """Whether a path lies in an allowed part, or leads to one."""
    whole = ".".join(inner)
    found = any(".".join(inner[:size]) in allowed for size in range(1, len(inner) + 1))
    return found or any(each.startswith(f"{whole}.") for each in allowed)


def _is_part(inner: Sequence[str], allowed: frozenset[str]) -> bool:
    """Whether a path lies in an allowed part, or leads to one; a class counts wherever it is defined."""
    named = any(each in allowed for each in inner if each[:1].isupper())
    return _within(inner, allowed) or named or inner[0].startswith("__") or inner[0].isupper()  # a constant


def _is_judged(module: str) -> bool:
    """Whether it has a reason of its own, in the tables of modules."""
    parts = module.split(".")
    return any(".".join(parts[:size]) in MODULES for size in range(1, len(parts) + 1))


def _is_own(root: str) -> bool:
    """Whether it is a module of the user's that is loaded: neither installed nor Python's own."""
    module = sys.modules.get(root)
    where = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", None) or ()), None)
    if root in sys.stdlib_module_names or not isinstance(where, str):
        return False
    return not _INSTALLED & {*PurePath(where).parts}


def is_inner(name: str) -> bool:
    """Whether a part of a module is private to it, and leads wherever the module goes."""
    return name.startswith("_") and not name.startswith("__") and name not in {"_", "_tree"}
