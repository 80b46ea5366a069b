from __future__ import annotations

import datetime as dt
import importlib.util
import sys
import zipfile
from pathlib import Path

import pytest

from zidane_lab.errors import ToolError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.read_file import read_file
from zidane_lab.tools.reading.child import ChildError, answers_of
from zidane_lab.tools.reading.rtf import rtf_text


def read(folder, name, **options) -> str:
    (part,) = read_file(ToolContext(cwd=folder), name, **options).parts
    return part.text


WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def word(path: Path, body: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", f"<w:document {WORD}><w:body>{body}</w:body></w:document>")


def test_a_word_document_is_headings_lists_and_tables(tmp_path):
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_heading("Report", 0)
    document.add_heading("Part", 2)
    document.add_paragraph("Some text, and ").add_run("bold").bold = True
    document.add_paragraph("an item", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for row, values in zip(table.rows, [("a", "b|c"), ("1", "2\n3")], strict=True):
        for cell, value in zip(row.cells, values, strict=True):
            cell.text = value
    document.save(tmp_path / "a.docx")
    page = read(tmp_path, "a.docx")
    assert "# Report\n## Part\nSome text, and bold\n" in page
    assert "| a | b\\|c |\n| --- | --- |\n| 1 | 2 3 |\n" in page
    assert page.endswith("[a Word document, as text]")


def test_what_was_deleted_is_gone_and_what_was_inserted_is_there(tmp_path):
    word(
        tmp_path / "a.docx",
        "<w:p><w:r><w:t>one </w:t></w:r><w:del><w:r><w:delText>two</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>three</w:t></w:r></w:ins></w:p><w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>item</w:t></w:r></w:p>",
    )
    assert read(tmp_path, "a.docx").startswith("one three\n- item\n")


def test_a_document_with_entities_or_without_end_is_left(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("word/document.xml", '<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>')
    with pytest.raises(ToolError, match="defines entities"):
        read(tmp_path, "a.docx")
    word(tmp_path / "b.docx", "<w:ins>" * 20_000 + "</w:ins>" * 20_000)
    with pytest.raises(ToolError, match=r"b\.docx"):
        read(tmp_path, "b.docx")
    with zipfile.ZipFile(tmp_path / "c.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * 50_000_000)
    with pytest.raises(ToolError, match="far too much"):
        read(tmp_path, "c.docx")


def test_a_presentation_is_slides_with_notes(tmp_path):
    pptx = pytest.importorskip("pptx")
    presentation = pptx.Presentation()
    for number in range(1, 4):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = f"Title {number}"
        slide.placeholders[1].text = "first\nsecond"
    slide.notes_slide.notes_text_frame.text = "say this"
    table = slide.shapes.add_table(1, 2, 0, 0, 100, 100).table
    table.cell(0, 0).text, table.cell(0, 1).text = "x", "y"
    presentation.save(tmp_path / "a.pptx")
    page = read(tmp_path, "a.pptx")
    assert page.startswith("## Slide 1 of 3\nTitle 1\nfirst\nsecond\n")
    assert "| x | y |\nNotes: say this\n" in page
    assert read(tmp_path, "a.pptx:p2").startswith("## Slide 2 of 3\n")
    assert "Title 3" not in read(tmp_path, "a.pptx:p1-2")


def test_a_workbook_is_its_sheets_with_dates_and_results(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Data"
    sheet.append(["name", "when", "at", "ok", "n"])
    sheet.append(["é|x", dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 13, 30), True, 1.5])
    sheet["G3"] = "far"
    other = book.create_sheet("Long list")
    for number in range(120):
        other.append([number])
    book.save(tmp_path / "a.xlsx")
    page = read(tmp_path, "a.xlsx")
    assert "## Data\n| name | when | at | ok | n |\n| é\\|x | 2024-02-29 | 2024-02-29 13:30:00 | TRUE | 1.5 |\n" in page
    assert "|  |  |  |  |  |  | far |" in page
    assert "[70 more rows; read `" in page
    whole = read(tmp_path, "a.xlsx:long list")
    assert "| 119 |" in whole
    assert "name" not in whole
    assert read(tmp_path, "a.xlsx:Long list:100+1:raw").startswith("| 98 |\n")
    with pytest.raises(ToolError, match=r"There is no sheet 'Nope'\. Sheets: Data, Long list"):
        read(tmp_path, "a.xlsx:Nope")


def pdf(*pages: str) -> bytes:
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for text in pages:
        content = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET"
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
        font = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R /Resources {font} >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    out, places = b"%PDF-1.4\n%\x80\x81\x82\x83\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{each}\nendobj\n".encode()
    start = len(out)
    out += f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n".encode()
    out += "".join(f"{place:010} 00000 n \n" for place in places).encode()
    return out + f"trailer << /Size {len(places) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()


def test_a_pdf_is_its_pages_and_is_read_outside_the_kernel(tmp_path):
    if importlib.util.find_spec("pypdf") is None:
        pytest.skip("pypdf is not installed")
    before = "pypdf" in sys.modules
    (tmp_path / "a.pdf").write_bytes(pdf("first page", "second page", "third page"))
    page = read(tmp_path, "a.pdf")
    assert page.startswith("--- page 1 of 3 ---\nfirst page\n--- page 2 of 3 ---\nsecond page\n")
    assert read(tmp_path, "a.pdf:p2").splitlines()[:2] == ["--- page 2 of 3 ---", "second page"]
    assert "third" not in read(tmp_path, "a.pdf:p1-2")
    assert read(tmp_path, "a.pdf", limit=2).endswith("[lines 1–2; go on with offset=3]\n[a PDF document, as text]")
    with pytest.raises(ToolError, match="has 3 pages"):
        read(tmp_path, "a.pdf:p9")
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.7\n\x00\x01")
    with pytest.raises(ToolError, match="pypdf cannot read"):
        read(tmp_path, "b.pdf")
    assert ("pypdf" in sys.modules) == before


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.orc"])
def test_a_columnar_file_shows_schema_and_head(tmp_path, name):
    import pandas as pd

    frame = pd.DataFrame({"id": range(1000), "name": ["x" * 100] * 1000})
    getattr(frame, {"t.parquet": "to_parquet", "t.feather": "to_feather", "t.orc": "to_orc"}[name])(tmp_path / name)
    page = read(tmp_path, name)
    assert page.startswith("1,000 rows, 2 columns\n\nid: int64\nname: ")
    assert f"| 0 | {'x' * 59}… |" in page
    assert "the first 10 of 1,000 rows. Load it with run_python: `pd.read_" in page
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:100] + bytes(50))
    with pytest.raises(ToolError, match="yarrow cannot read it"):
        read(tmp_path, name)


def test_a_reading_process_that_hangs_or_dies_is_an_error():
    with pytest.raises(ChildError, match="longer than"):
        list(answers_of("import time; print(1, flush=True); time.sleep(60)", [], seconds=0.5))
    with pytest.raises(ChildError, match="boom"):
        list(answers_of("import sys; sys.exit('boom')", []))
    with pytest.raises(ChildError):
        list(answers_of("import os; os.abort()", []))
    answers = answers_of("import time; print(1, flush=True); time.sleep(60)", [])
    assert next(answers) == 1
    answers.close()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"{\rtf1\ansi{\fonttbl{\f0 Arial;}}\f0 Hello \b world\b0\par Next}", "Hello world\nNext"),
        (r"{\rtf1\ansi\ansicpg1252 caf\'e9 \u233?t\u233?}", "café été"),
        (r"{\rtf1 a\{b\}c\\d\~e{\*\generator X;}{\pict 0102}}", "a{b}c\\d\u00a0e"),
        (r"{\rtf1\uc2 \u8364\'80\'80x \u-10179??\u-8704??}", "€x 😀"),
        (r"{\rtf1 x}}}} y", "x y"),
    ],
)
def test_rich_text_is_its_text(source, text):
    assert rtf_text(source) == text


def test_a_rich_text_file_is_shown_as_text_and_raw_on_request(tmp_path):
    (tmp_path / "a.rtf").write_text(r"{\rtf1 one\par two}")
    assert read(tmp_path, "a.rtf") == "one\ntwo\n[a rich text document, as text]"
    assert read(tmp_path, "a.rtf:raw") == r"{\rtf1 one\par two}"
