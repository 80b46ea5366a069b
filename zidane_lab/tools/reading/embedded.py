"""Pictures in documents: which there are, and one of them."""

from __future__ import annotations

import base64
import importlib.util
import re
import zipfile
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.paths import describe_size, show_name
from zidane_lab.tools.reading.child import ChildError, answers_of
from zidane_lab.tools.reading.source import Source

__all__ = ["PACKAGES", "is_picture", "picture_in", "picture_lines", "picture_parts"]

PACKAGES: Final = frozenset({"docx", "pptx", "xlsx", "epub", "odf"})
"""Keys of :func:`~zidane_lab.tools.filetypes.identify` whose files are ZIP archives with pictures in them."""
_SUFFIXES: Final = frozenset(
    {".bmp", ".emf", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".tif", ".tiff", ".webp", ".wmf"}
)
_MOST: Final = 2_000
_DIGITS: Final = re.compile(r"(\d+)")
_CODE: Final = """
import base64, json, logging, sys, warnings
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
import pypdf
path, wanted, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
try:
    reader, number = pypdf.PdfReader(path), 0
    if reader.is_encrypted and not reader.decrypt(""):
        sys.exit("it needs a password")
    for page, content in enumerate(reader.pages, 1):
        for key in content.images.keys():
            number += 1
            if number > most:
                sys.exit(0)
            if not wanted:
                print(json.dumps([number, page]), flush=True)
            elif number == wanted:
                image = content.images[key]
                print(json.dumps([image.name, base64.b64encode(image.data).decode()]), flush=True)
                sys.exit(0)
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


def is_picture(name: str) -> bool:
    """Whether a part of a document is a picture, by its name."""
    return PurePosixPath(name).suffix.lower() in _SUFFIXES


def picture_lines(source: Source, key: str) -> Iterator[str]:
    """Yield a line for each picture of a document, with what to read it by.

    Raises
    ------
    ToolError
        The document is broken, or a library for it is missing.
    """
    name, count = show_name(source.name), 0
    if key == "pdf":
        for number, page in _answers(source, 0):
            count += 1
            yield f"img{number}  on page {page}"
    else:
        for count, (part, size) in enumerate(picture_parts(source), 1):
            yield f"img{count}  {show_name(part)}  {describe_size(size)}"
    how = f"; read one as `{name}:img1`" if count else ""
    yield f"[{count:,} picture{'' if count == 1 else 's'} in {name}{how}]"


def picture_in(source: Source, key: str, number: int) -> Source:
    """Return one picture of a document, by its number from 1.

    Raises
    ------
    ToolError
        There is no such picture, or it cannot be had.
    """
    if key == "pdf":
        for name, data in _answers(source, number):
            return Source.of_bytes(f"{source.name}:{name}", base64.b64decode(data))
    else:
        parts = picture_parts(source)
        if number <= len(parts):
            from zidane_lab.tools.reading.archives import member

            if (found := member(source, "zip", parts[number - 1][0])) is not None:
                return found
    raise ToolError(f"There is no picture {number} in {source.shown}.", hint="List them with `:img`.")


def picture_parts(source: Source) -> list[tuple[str, int]]:
    """Return name and size of the pictures in a document that is a ZIP archive, in the order of their numbers."""
    from zidane_lab.tools.reading.archives import opened_zip

    with opened_zip(source) as archive:
        found = [info for info in archive.infolist() if is_picture(info.filename) and not info.is_dir()]
    return [(info.filename, info.file_size) for info in sorted(found, key=_order)[:_MOST]]


def _order(info: zipfile.ZipInfo) -> list[tuple[int, str]]:
    """Sort ``image10`` behind ``image9``."""
    return [(int(each), "") if each.isdecimal() else (-1, each) for each in _DIGITS.split(info.filename)]


def _answers(source: Source, number: int) -> Iterator[tuple[str, str]]:
    for library in ("pypdf", "PIL"):
        if importlib.util.find_spec(library) is None:
            raise ToolError(
                f"{source.shown} is a PDF document; its pictures take pypdf and Pillow.",
                hint="Ask the user to install them (`%pip install pypdf pillow`).",
            )
    with source.as_file() as path:
        answers = answers_of(_CODE, [path, str(number), str(_MOST)])
        try:
            yield from answers
        except ChildError as error:
            raise ToolError(
                f"{source.shown} is a PDF document whose pictures pypdf cannot read: {error}.",
                hint="Ask for another copy.",
            ) from error
        finally:
            answers.close()
