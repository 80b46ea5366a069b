"""``--data FILE``: the code cell that loads a file, by its extension, into a variable named after it."""

from __future__ import annotations

import builtins
import keyword
import os
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from zidane_lab.errors import ConfigurationError

__all__ = ["DataFile", "load_code", "name_files", "prompt_with"]

_READERS: Final[Mapping[str, tuple[str, str]]] = {
    ".csv": ("import pandas as pd", "pd.read_csv({path})"),
    ".tsv": ("import pandas as pd", 'pd.read_csv({path}, sep="\\t")'),
    ".tab": ("import pandas as pd", 'pd.read_csv({path}, sep="\\t")'),
    ".parquet": ("import pandas as pd", "pd.read_parquet({path})"),
    ".feather": ("import pandas as pd", "pd.read_feather({path})"),
    ".orc": ("import pandas as pd", "pd.read_orc({path})"),
    ".xlsx": ("import pandas as pd", "pd.read_excel({path})"),
    ".xls": ("import pandas as pd", "pd.read_excel({path})"),
    ".ods": ("import pandas as pd", "pd.read_excel({path})"),
    ".json": ("import json\nfrom pathlib import Path", 'json.loads(Path({path}).read_text(encoding="utf-8"))'),
    ".jsonl": ("import pandas as pd", "pd.read_json({path}, lines=True)"),
    ".ndjson": ("import pandas as pd", "pd.read_json({path}, lines=True)"),
    ".dta": ("import pandas as pd", "pd.read_stata({path})"),
    ".sas7bdat": ("import pandas as pd", "pd.read_sas({path})"),
    ".npy": ("import numpy as np", "np.load({path})"),
    ".npz": ("import numpy as np", "np.load({path})"),
    ".nc": ("import xarray as xr", "xr.open_dataset({path})"),
    ".txt": ("from pathlib import Path", 'Path({path}).read_text(encoding="utf-8")'),
    ".md": ("from pathlib import Path", 'Path({path}).read_text(encoding="utf-8")'),
}
"""An import and an expression for each extension. None of them runs code that a file holds: no pickles."""

_TEXT_TABLES: Final = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson")
_PACKED: Final = (".gz", ".bz2", ".xz", ".zip", ".zst")
"""pandas unpacks these by itself, for tables written as text."""

_TAKEN: Final = frozenset({"pd", "np", "xr", "json", "Path", *dir(builtins), *keyword.kwlist, *keyword.softkwlist})


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file to load: the variable it goes into and the code that does it."""

    path: Path
    name: str
    code: str


def name_files(paths: Iterable[Path], *, folder: Path | None, taken: Collection[str] = ()) -> tuple[DataFile, ...]:
    """Choose a variable and code for each file.

    Parameters
    ----------
    paths
        Absolute paths of existing files.
    folder
        Folder that the code's paths are relative to, where the system has a relative path; ``None`` keeps
        them absolute.
    taken
        Names already in use, which are left alone.

    Raises
    ------
    ConfigurationError
        A file is missing, or of a kind that cannot be loaded.
    """
    found: list[DataFile] = []
    used = {*taken, *_TAKEN}
    for path in paths:
        if not path.is_file():
            raise ConfigurationError(f"There is no file {path}.", hint="Check the path given with --data.")
        name = _variable(path, used)
        used.add(name)
        found.append(DataFile(path, name, load_code(path, name, folder)))
    return tuple(found)


def load_code(path: Path, name: str, folder: Path | None) -> str:
    """Return the code cell that loads a file.

    Raises
    ------
    ConfigurationError
        Files of this kind cannot be loaded.
    """
    suffix = _suffix(path)
    if suffix not in _READERS:
        raise ConfigurationError(
            f"{path.name!r} is of a kind that --data cannot load.",
            hint=f"It loads {', '.join(_READERS)}, text tables also packed ({', '.join(_PACKED)}); "
            "name other files in the prompt.",
        )
    statement, expression = _READERS[suffix]
    # A literal: whatever a file's name holds stays a name.
    load = expression.format(path=repr(_written(path, folder)))
    shows = f"\n{name}.head()" if load.startswith("pd.") else ""
    return f"{statement}\n\n{name} = {load}{shows}"


def prompt_with(prompt: str, files: Iterable[DataFile]) -> str:
    """Return the prompt with a note of what was loaded, for the model."""
    lines = [f"- `{file.name}`, from the file `{_plain(file.path.name)}`" for file in files]
    if not lines:
        return prompt
    return f"{prompt}\n\nAlready loaded into the kernel for this:\n" + "\n".join(lines)


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] in _PACKED:
        inner = suffixes[-2]
        return inner if inner in _TEXT_TABLES else suffixes[-1]
    return suffixes[-1] if suffixes else ""


def _written(path: Path, folder: Path | None) -> str:
    if folder is None:
        return str(path)
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return str(path)


def _variable(path: Path, used: Collection[str]) -> str:
    """Return a name for the file's content: its own, as far as Python takes it."""
    stem = path.name
    while (suffix := Path(stem).suffix.lower()) in _READERS or suffix in _PACKED:
        stem = stem[: -len(suffix)]
    # Python itself reads identifiers in this form, so the name is the same wherever it is looked up.
    name = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", stem)).strip("_")
    if not name.isidentifier():
        name = f"data_{name}".rstrip("_")
    if not name.isidentifier():
        name = "data"
    name = name[:60]
    if name in _TAKEN:
        name = f"{name}_data"
    if name not in used:
        return name
    return next(each for number in range(2, len(used) + 3) if (each := f"{name}_{number}") not in used)


def _plain(name: str) -> str:
    """Return a file's name without what could mean more than a name in a prompt (``@`` attaches things)."""
    return re.sub(r"[^\w .()+,=~-]", "_", name)[:120]
