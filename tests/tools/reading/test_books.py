"""Books, OpenDocument files, pictures in documents, and old formats that need something installed."""

from __future__ import annotations

import io
import shutil
import zipfile

import pytest

from tests.tools.test_read_file import png
from zidane_lab.errors import ToolError
from zidane_lab.tools import filetypes
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.read_file import read_file
from zidane_lab.turns import ImageBlock


def read(folder, name, **options) -> str:
    (part,) = read_file(ToolContext(cwd=folder), name, **options).parts
    return part.text


def package(path, kind, **parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("mimetype"), kind)
        for name, data in parts.items():
            archive.writestr(name, data)


def book(path, **more):
    chapter = "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>t</title></head><body>{}</body></html>"
    parts = {
        "META-INF/container.xml": "<container><rootfiles><rootfile full-path='OPS/book.opf'/></rootfiles></container>",
        "OPS/book.opf": """<package><metadata xmlns:dc='x'><dc:title>The Sea</dc:title><dc:creator>A. Writer</dc:creator>
            </metadata><manifest><item id='b' href='two.xhtml' media-type='application/xhtml+xml'/>
            <item id='a' href='one%20x.xhtml' media-type='application/xhtml+xml'/>
            <item id='c' href='gone.xhtml' media-type='application/xhtml+xml'/>
            <item id='p' href='img/p.png' media-type='image/png'/></manifest>
            <spine><itemref idref='a'/><itemref idref='b'/><itemref idref='c'/></spine></package>""",
        "OPS/one x.xhtml": chapter.format("<h1>One</h1><p>First <b>bold</b> &amp; word.</p>"),
        "OPS/two.xhtml": chapter.format("<h1>Two</h1><ul><li>a</li><li>b</li></ul>"),
        "OPS/img/p.png": png(3, 2),
    }
    package(path, "application/epub+zip", **(parts | more))


def test_a_book_is_its_chapters_in_order_as_markdown(tmp_path):
    book(tmp_path / "sea.epub")
    page = read(tmp_path, "sea.epub")
    assert page.startswith(
        "# The Sea\nby A. Writer\n\n--- part 1 of 3: OPS/one x.xhtml ---\n# One\n\nFirst **bold** & word.\n"
    )
    assert "--- part 2 of 3: OPS/two.xhtml ---\n# Two\n\n- a\n- b\n" in page
    assert "--- part 3 of 3: OPS/gone.xhtml ---\n[it is not in the file]\n" in page
    assert page.endswith("[a book (EPUB), as text]")
    assert read(tmp_path, "sea.epub:6-6:raw").startswith("\nFirst") or "First" in read(tmp_path, "sea.epub:5-8:raw")
    (tmp_path / "renamed").write_bytes((tmp_path / "sea.epub").read_bytes())
    assert "# The Sea" in read(tmp_path, "renamed")


def test_a_broken_book_is_an_error_in_words(tmp_path):
    package(tmp_path / "a.epub", "application/epub+zip", x="y")
    with pytest.raises(ToolError, match="no complete document"):
        read(tmp_path, "a.epub")
    book(tmp_path / "b.epub", **{"META-INF/container.xml": "<container/>"})
    with pytest.raises(ToolError, match="no complete book"):
        read(tmp_path, "b.epub")
    book(tmp_path / "c.epub", **{"OPS/book.opf": "<not xml"})
    with pytest.raises(ToolError, match="broken"):
        read(tmp_path, "c.epub")


OFFICE = "xmlns:o='office' xmlns:text='text' xmlns:table='table' xmlns:draw='draw'"


def test_opendocument_files_are_text(tmp_path):
    body = """<text:h text:outline-level='2'>Head</text:h><text:p>a<text:tab/>b<text:s text:c='2'/>c</text:p>
        <text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>
        <table:table table:name='T'><table:table-row><table:table-cell><text:p>1</text:p></table:table-cell>
        <table:table-cell table:number-columns-repeated='16000'/></table:table-row></table:table>"""
    content = f"<o:document {OFFICE}><o:body><o:text>{body}</o:text></o:body></o:document>"
    package(tmp_path / "a.odt", "application/vnd.oasis.opendocument.text", **{"content.xml": content})
    assert read(tmp_path, "a.odt") == "## Head\na\tb  c\n- item\n## T\n| 1 |\n\n[an OpenDocument text, as text]"
    slides = "<draw:page draw:name='First'><draw:frame><text:p>said</text:p></draw:frame></draw:page>"
    content = f"<o:document {OFFICE}><o:body>{slides}</o:body></o:document>"
    package(tmp_path / "a.odp", "application/vnd.oasis.opendocument.presentation", **{"content.xml": content})
    assert read(tmp_path, "a.odp").startswith("## First\nsaid\n")


def word(path, **more):
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    document = f"""<w:document xmlns:w='w' xmlns:r='{relations}' xmlns:a='a'><w:body><w:p><w:r><w:t>See </w:t></w:r>
        <w:r><w:drawing><a:blip r:embed='rId1'/></w:drawing></w:r></w:p></w:body></w:document>"""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", document)
        archive.writestr("word/_rels/document.xml.rels", "<r><Relationship Id='rId1' Target='media/image10.png'/></r>")
        archive.writestr("word/media/image10.png", png(5, 4))
        archive.writestr("word/media/image9.png", png(3, 2))
        for name, data in more.items():
            archive.writestr(name, data)


def test_pictures_in_a_document_are_named_listed_and_shown(tmp_path):
    word(tmp_path / "a.docx")
    assert read(tmp_path, "a.docx").startswith("See ![](word/media/image10.png)\n")
    assert read(tmp_path, "a.docx:img").splitlines()[:2] == [
        f"img1  word/media/image9.png  {len(png(3, 2))} B",
        f"img2  word/media/image10.png  {len(png(5, 4))} B",
    ]
    for name in ("a.docx:img2", "a.docx:word/media/image10.png"):
        output = read_file(ToolContext(cwd=tmp_path), name)
        note, image = output.parts
        assert isinstance(image, ImageBlock)
        assert "5 × 4 pixels" in note.text
        assert output.metadata["read"]["partial"] is True
    with pytest.raises(ToolError, match="no picture 3"):
        read(tmp_path, "a.docx:img3")
    with pytest.raises(ToolError, match="count from 1"):
        read(tmp_path, "a.docx:img0")
    book(tmp_path / "a.epub")
    assert "img1  OPS/img/p.png" in read(tmp_path, "a.epub:img")
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(ToolError, match="no pictures in it"):
        read(tmp_path, "a.txt:img")


def test_pictures_in_a_pdf_are_listed_and_shown(tmp_path):
    pytest.importorskip("pypdf")
    from PIL import Image

    pages = [Image.new("RGB", (40 + n, 30), "red") for n in range(2)]
    pages[0].save(tmp_path / "a.pdf", save_all=True, append_images=pages[1:])
    assert read(tmp_path, "a.pdf:img").startswith("img1  on page 1\nimg2  on page 2\n[2 pictures in ")
    _, image = read_file(ToolContext(cwd=tmp_path), "a.pdf:img2").parts
    assert Image.open(io.BytesIO(image.data)).size == (41, 30)
    with pytest.raises(ToolError, match="no picture 3"):
        read(tmp_path, "a.pdf:img3")


OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2_000)


@pytest.mark.parametrize(
    ("name", "stream", "what", "missing"),
    [
        ("a.doc", "", "an old Word document", "LibreOffice (`soffice --headless --convert-to docx`)"),
        ("a.bin", "WordDocument", "an old Word document", "saved as .docx"),
        ("a.xls", "", "an old Excel workbook", "xlrd, or LibreOffice"),
        ("a.ppt", "PowerPoint Document", "an old PowerPoint presentation", "saved as .pptx"),
    ],
)
def test_old_formats_say_what_has_to_be_installed(tmp_path, monkeypatch, name, stream, what, missing):
    (tmp_path / name).write_bytes(OLD + stream.encode("utf-16-le"))
    monkeypatch.setattr(shutil, "which", lambda program: None)
    monkeypatch.setattr(filetypes, "_installed", lambda module: False)
    with pytest.raises(ToolError) as caught:
        read(tmp_path, name)
    assert f"is {what} (" in caught.value.message
    assert missing in caught.value.hint


def test_an_old_format_is_converted_where_the_program_for_it_is(tmp_path, monkeypatch):
    (tmp_path / "a b.doc").write_bytes(OLD)
    monkeypatch.setattr(shutil, "which", lambda program: "/usr/bin/soffice")
    with pytest.raises(ToolError) as caught:
        read(tmp_path, "a b.doc")
    assert f"soffice --headless --convert-to docx --outdir FOLDER '{tmp_path}/a b.doc'" in caught.value.hint


@pytest.mark.parametrize(
    ("head", "what", "library"),
    [(b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "py7zr"), (b"Rar!\x1a\x07\x01", "a RAR archive", "rarfile")],
)
def test_other_archives_name_a_library(tmp_path, monkeypatch, head, what, library):
    (tmp_path / "a").write_bytes(head + bytes(100))
    monkeypatch.setattr(filetypes, "_installed", lambda module: False)
    with pytest.raises(ToolError, match=f"is {what}") as caught:
        read(tmp_path, "a")
    assert library in caught.value.hint
