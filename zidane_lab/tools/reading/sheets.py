"""Excel workbooks as text, from their XML alone: sheet by sheet, row by row, as they are read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final
from xml.etree.ElementTree import Element

from zidane_lab.errors import ToolError
from zidane_lab.tools.reading.source import Source
from zidane_lab.tools.reading.xml_parts import Package, local, opened_package, table_line

__all__ = ["MOST_COLUMNS", "ROWS_SHOWN", "sheet_names", "workbook_lines"]

ROWS_SHOWN: Final = 50
"""Rows of each sheet, where there are several and none is named."""
MOST_COLUMNS: Final = 100
_WORKBOOK: Final = "xl/workbook.xml"
_STRINGS: Final = "xl/sharedStrings.xml"
_STYLES: Final = "xl/styles.xml"
_REFERENCE: Final = re.compile(r"([A-Z]{1,3})\d+")
_DATE_FORMATS: Final = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
"""Numbers of the built-in formats that show dates or times (ECMA-376, part 1, 18.8.30)."""
_DATE_LETTERS: Final = re.compile(r"[dyhs]|mmm", re.IGNORECASE)
_NOT_LETTERS: Final = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
_ERRORS: Final = (ValueError, OverflowError)


def sheet_names(source: Source) -> Iterator[str]:
    """Yield the names of a workbook's sheets."""
    with opened_package(source) as package:
        yield from (each.get("name", "") for each, _ in package.listed(_WORKBOOK, "sheet"))


def workbook_lines(source: Source, sheet: str | None = None) -> Iterator[str]:
    """Yield a workbook: the first rows of each sheet, or all rows of the one named.

    Raises
    ------
    ToolError
        There is no such sheet, or it is no workbook.
    """
    with opened_package(source) as package:
        sheets = {each.get("name", ""): part for each, part in package.listed(_WORKBOOK, "sheet")}
        if sheet is not None:
            named = {name.lower(): name for name in sheets}.get(sheet.lower())
            if named is None:
                raise ToolError(f"There is no sheet {sheet!r}.", hint=f"Sheets: {', '.join(sheets)}.")
            sheets = {named: sheets[named]}
        cells = _Cells(package)
        limit = ROWS_SHOWN if len(sheets) > 1 else None
        for name, part in sheets.items():
            yield f"## {name}"
            more = 0
            for number, line in enumerate(_rows(package, part, cells), 1):
                if limit is None or number <= limit:
                    yield line
                else:
                    more += 1
            if more:
                yield f"[{more:,} more rows; read `{source.shown}:{name}`]"
            yield ""


def _rows(package: Package, part: str, cells: _Cells) -> Iterator[str]:
    for row in package.rows(part):
        values: list[str] = []
        left_out = 0
        for cell in row:
            column = _column(cell.get("r", ""), len(values))
            if column >= MOST_COLUMNS:
                left_out += 1
                continue
            values += [""] * (column - len(values))
            values.append(cells.text(cell))
        if any(values):
            yield table_line(values) + (f" … {left_out:,} more cells" if left_out else "")


def _column(reference: str, default: int) -> int:
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        return default
    number = 0
    for letter in found[1]:
        number = number * 26 + ord(letter) - 64
    return max(number - 1, default)


class _Cells:
    """Turns cells into text: shared strings, dates by their format, the results of formulas."""

    def __init__(self, package: Package) -> None:
        self._strings = _strings(package)
        self._dates = _date_styles(package)
        properties = (each for each in package.xml(_WORKBOOK).iter() if local(each) == "workbookPr")
        since_1904 = next((each.get("date1904") in {"1", "true"} for each in properties), False)
        # Day 60 is 29 February 1900, which never was: days after it count from a day earlier (ECMA-376, 18.17.4).
        self._epoch = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30)  # noqa: DTZ001 - no zone is kept

    def text(self, cell: Element) -> str:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            return "".join(each.text or "" for each in cell.iter() if local(each) == "t")
        value = next((each.text or "" for each in cell if local(each) == "v"), "")
        if kind == "s":
            index = int(value) if value.isdecimal() else -1
            return self._strings[index] if 0 <= index < len(self._strings) else "?"
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind == "n" and value and cell.get("s", "") in self._dates:
            return self._date(value)
        return value

    def _date(self, value: str) -> str:
        try:
            days = float(value)
            moment = self._epoch + timedelta(seconds=round(days * 86_400))
        except _ERRORS:
            return value
        if 0 <= days < 1:
            return moment.strftime("%H:%M:%S")
        return moment.strftime("%Y-%m-%d" if moment.time() == datetime.min.time() else "%Y-%m-%d %H:%M:%S")


def _strings(package: Package) -> list[str]:
    if _STRINGS not in package:
        return []
    return [
        "".join(each.text or "" for each in item.iter() if local(each) == "t")
        for item in package.xml(_STRINGS)
        if local(item) == "si"
    ]


def _date_styles(package: Package) -> frozenset[str]:
    """Return the numbers of the cell styles that show dates."""
    if _STYLES not in package:
        return frozenset()
    styles = package.xml(_STYLES)
    codes = {
        each.get("numFmtId", ""): _NOT_LETTERS.sub("", each.get("formatCode", ""))
        for each in styles.iter()
        if local(each) == "numFmt"
    }
    dates = {number for number, code in codes.items() if _DATE_LETTERS.search(code)} | {str(n) for n in _DATE_FORMATS}
    formats = next((each for each in styles if local(each) == "cellXfs"), None)
    return frozenset(str(index) for index, each in enumerate(formats or []) if each.get("numFmtId") in dates)
