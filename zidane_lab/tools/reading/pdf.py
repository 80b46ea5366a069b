"""PDF documents as text, page by page, through pypdf in a process of its own."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Final

from zidane_lab.errors import ToolError
from zidane_lab.tools.reading.child import ChildError, answers_of
from zidane_lab.tools.reading.source import Source

__all__ = ["pdf_lines"]

_CODE: Final = """
import json, logging, sys, warnings
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
import pypdf
path, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
try:
    reader = pypdf.PdfReader(path)
    if reader.is_encrypted and not reader.decrypt(""):
        sys.exit("it needs a password")
    total = len(reader.pages)
    print(json.dumps(total), flush=True)
    for number in range(first, min(last or total, total) + 1):
        try:
            text = reader.pages[number - 1].extract_text()
        except Exception as error:
            text = f"[this page cannot be read: {type(error).__name__}]"
        print(json.dumps([number, text.encode("utf-8", "replace").decode()]), flush=True)
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


def pdf_lines(source: Source, pages: tuple[int, int] | None = None) -> Iterator[str]:
    """Yield a document, each page under a line with its number.

    Raises
    ------
    ToolError
        pypdf is not installed, or cannot read the file; there is no such page.
    """
    if importlib.util.find_spec("pypdf") is None:
        raise ToolError(
            f"{source.shown} is a PDF document; reading it takes pypdf, not installed here.",
            hint="Ask the user to install pypdf (`%pip install pypdf`).",
        )
    first, last = pages or (1, 0)
    with source.as_file() as path:
        answers = answers_of(_CODE, [path, str(first), str(last)])
        try:
            total = next(answers)
            if first > total:
                raise ToolError(f"{source.shown} has {total:,} pages.", hint=f"Read `:p1-{total}`.")
            for number, text in answers:
                yield f"--- page {number} of {total} ---"
                yield from (text.splitlines() if text.strip() else ["[no text on this page: a picture, or a scan]"])
        except (ChildError, StopIteration) as error:
            raise ToolError(
                f"{source.shown} is a PDF document that pypdf cannot read: {error}.", hint="Ask for another copy."
            ) from error
        finally:
            answers.close()
