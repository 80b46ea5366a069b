"""Parts of Office documents: XML in a ZIP archive, of a size that fits in memory."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from xml.etree import ElementTree as ET

from zidane_lab.errors import ToolError
from zidane_lab.tools.paths import describe_size
from zidane_lab.tools.reading.source import Source

__all__ = ["Package", "cell_text", "local", "opened_package", "table_line"]

_MOST_PART: Final = 64 * 1_048_576
_MOST_RATIO: Final = 400
_SMALL: Final = 16 * 1_048_576
"""Up to here a part may unpack to any multiple of its size."""

_DECLARATIONS: Final = tuple(
    mark.encode(encoding) for mark in ("<!DOCTYPE", "<!ENTITY") for encoding in ("utf-8", "utf-16-le", "utf-16-be")
)

_RELATION: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


class Package:
    """An open Office document."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive, self.name = archive, name

    def __contains__(self, part: str) -> bool:
        return part in self._archive.NameToInfo

    def parts(self, prefix: str) -> list[str]:
        """Return the names of the parts that start so."""
        return [each for each in self._archive.namelist() if each.startswith(prefix)]

    def read(self, part: str) -> bytes:
        """Return a part.

        Raises
        ------
        ToolError
            It is not there, or would unpack to too much.
        """
        info = self.info(part)
        if info.file_size > _MOST_PART:
            raise ToolError(
                f"{part} in {self.name} has {describe_size(info.file_size)}.", hint="Open it with run_python."
            )
        with self._archive.open(info) as handle:
            return handle.read(_MOST_PART)

    def info(self, part: str) -> zipfile.ZipInfo:
        """Look a part up; one that unpacks to a suspicious multiple of its size is refused."""
        info = self._archive.NameToInfo.get(part)
        if info is None:
            raise ToolError(f"{self.name} has no {part}: it is no complete document.", hint="Choose another file.")
        if info.file_size > max(_SMALL, info.compress_size * _MOST_RATIO):
            raise ToolError(f"{part} in {self.name} would unpack to far too much.", hint="Leave this file.")
        return info

    def xml(self, part: str) -> ET.Element:
        """Return a part as a tree; entities of its own are refused."""
        data = self.read(part)
        if any(mark in data for mark in _DECLARATIONS):
            raise ToolError(f"{part} in {self.name} defines entities.", hint="Leave this file.")
        return ET.fromstring(data)  # noqa: S314 - no entities, bounded

    def rows(self, part: str) -> Iterator[ET.Element]:
        """Yield the ``row`` elements of a part, one after another, without keeping them."""
        with self._archive.open(self.info(part)) as handle:
            parents: list[ET.Element] = []
            for event, element in ET.iterparse(handle, events=("start", "end")):  # noqa: S314 - bounded
                if event == "start":
                    parents.append(element)
                    continue
                parents.pop()
                if local(element) == "row":
                    yield element
                    parents[-1].clear()

    def related(self, part: str) -> dict[str, str]:
        """Return the parts that a part refers to, by the id it uses."""
        folder, name = posixpath.split(part)
        relations = f"{folder}/_rels/{name}.rels"
        if relations not in self:
            return {}
        return {
            str(each.get("Id")): posixpath.normpath(posixpath.join("/", folder, str(each.get("Target")))).lstrip("/")
            for each in self.xml(relations)
            if each.get("TargetMode") != "External"
        }

    def listed(self, part: str, tag: str) -> Iterator[tuple[ET.Element, str]]:
        """Yield the elements of a part that stand for other parts, with those parts, in order."""
        related = self.related(part)
        for element in self.xml(part).iter():
            if local(element) == tag and (target := related.get(element.get(_RELATION, ""))) is not None:
                yield element, target


@contextmanager
def opened_package(source: Source) -> Iterator[Package]:
    """Lend an Office document; what is broken about it becomes an error in words."""
    try:
        with source.open() as handle, zipfile.ZipFile(handle) as archive:
            yield Package(archive, source.name)
    except (zipfile.BadZipFile, ET.ParseError, EOFError, OSError, ValueError, KeyError) as error:
        said = " ".join(str(error).split())[:200]
        raise ToolError(f"{source.shown} is broken, or no document: {said}.", hint="Choose another file.") from error
    except (NotImplementedError, RuntimeError) as error:  # encrypted, or packed in a way unknown here
        raise ToolError(f"{source.shown} cannot be unpacked: {error}.", hint="Choose another file.") from error


def local(element: ET.Element) -> str:
    """Return the name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def cell_text(text: str) -> str:
    """Write the text of a cell on one line."""
    return " ".join(text.split()).replace("|", "\\|")


def table_line(cells: list[str]) -> str:
    """Write one row of a table."""
    return f"| {' | '.join(map(cell_text, cells))} |"
