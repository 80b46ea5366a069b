"""What a file seems to be, from its first bytes, and how its content can be had instead of read as text."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import struct
import sys
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

__all__ = ["HEAD_BYTES", "FileType", "how_to_load", "identify", "image_size"]

HEAD_BYTES: Final = 8_192
"""First bytes that are enough for :func:`identify`."""


@dataclass(frozen=True, slots=True)
class FileType:
    """A kind of binary file: a short ``key``, a ``name`` for people, and the mime type of an image."""

    key: str
    name: str
    media_type: str | None = None


_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MAGIC: Final[tuple[tuple[int, bytes, FileType], ...]] = (
    (0, b"\x89PNG\r\n\x1a\n", FileType("image", "a PNG image", "image/png")),
    (0, b"\xff\xd8\xff", FileType("image", "a JPEG image", "image/jpeg")),
    (0, b"GIF87a", FileType("image", "a GIF image", "image/gif")),
    (0, b"GIF89a", FileType("image", "a GIF image", "image/gif")),
    (8, b"WEBP", FileType("image", "a WebP image", "image/webp")),
    (0, b"II*\x00", FileType("picture", "a TIFF image")),
    (0, b"MM\x00*", FileType("picture", "a TIFF image")),
    (0, b"BM", FileType("picture", "a BMP image")),
    (0, b"%PDF-", FileType("pdf", "a PDF document")),
    (0, b"PAR1", FileType("parquet", "a Parquet table")),
    (0, b"ARROW1", FileType("feather", "an Arrow/Feather table")),
    (0, b"ORC", FileType("orc", "an ORC table")),
    (0, b"Obj\x01", FileType("avro", "an Avro file")),
    (0, _OLD_OFFICE, FileType("ole", "an old Office file")),
    (0, b"SQLite format 3\x00", FileType("sqlite", "an SQLite database")),
    (0, b"\x89HDF\r\n\x1a\n", FileType("hdf5", "an HDF5 file")),
    (0, b"CDF\x01", FileType("netcdf", "a NetCDF file")),
    (0, b"CDF\x02", FileType("netcdf", "a NetCDF file")),
    (0, b"\x93NUMPY", FileType("npy", "a NumPy array")),
    (0, b"\x1f\x8b", FileType("gzip", "gzip-compressed data")),
    (0, b"BZh", FileType("bz2", "bzip2-compressed data")),
    (0, b"\xfd7zXZ\x00", FileType("xz", "xz-compressed data")),
    (0, b"\x28\xb5\x2f\xfd", FileType("zstd", "Zstandard-compressed data")),
    (257, b"ustar", FileType("tar", "a tar archive")),
    (0, b"7z\xbc\xaf\x27\x1c", FileType("7z", "a 7-Zip archive")),
    (0, b"Rar!\x1a\x07", FileType("rar", "a RAR archive")),
    (0, b"PK\x05\x06", FileType("zip", "an empty ZIP archive")),
    (0, b"\x7fELF", FileType("program", "an ELF program or library")),
    (0, b"MZ", FileType("program", "a Windows program or library")),
    (0, b"\xcf\xfa\xed\xfe", FileType("program", "a Mach-O program or library")),
    (0, b"\x00asm", FileType("program", "a WebAssembly module")),
    (8, b"WAVE", FileType("audio", "a WAV recording")),
    (0, b"ID3", FileType("audio", "an MP3 recording")),
    (0, b"OggS", FileType("audio", "an Ogg recording")),
    (0, b"fLaC", FileType("audio", "a FLAC recording")),
    (4, b"ftyp", FileType("video", "an MP4 or QuickTime video")),
    (0, b"\x1aE\xdf\xa3", FileType("video", "a Matroska or WebM video")),
)

_OLD_OFFICES: Final = (
    ("WordDocument", (".doc", ".dot"), FileType("doc", "an old Word document")),
    ("Workbook", (".xls", ".xlt"), FileType("xls", "an old Excel workbook")),
    ("PowerPoint Document", (".ppt", ".pps"), FileType("ppt", "an old PowerPoint presentation")),
)
"""The name of the stream that holds the content, the endings of the file's name, what it is."""
_BY_MIMETYPE: Final = (
    (b"mimetypeapplication/epub+zip", FileType("epub", "a book (EPUB)")),
    (b"mimetypeapplication/vnd.oasis.opendocument.text", FileType("odf", "an OpenDocument text")),
    (b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", FileType("odf", "an OpenDocument spreadsheet")),
    (b"mimetypeapplication/vnd.oasis.opendocument.presentation", FileType("odf", "an OpenDocument presentation")),
)
"""The first entry of such an archive, which is stored as it is."""
_ZIPPED: Final = (
    (b"xl/", FileType("xlsx", "an Excel workbook")),
    (b"word/", FileType("docx", "a Word document")),
    (b"ppt/", FileType("pptx", "a PowerPoint presentation")),
    (b".npy", FileType("npz", "a NumPy archive")),
)
_ZIPPED_SUFFIXES: Final = {".xlsx": 0, ".xlsm": 0, ".docx": 1, ".pptx": 2, ".npz": 3}

_CONVERTED: Final = {"doc": "docx", "xls": "xlsx", "ppt": "pptx"}
"""Old formats, and what LibreOffice makes of them that can be read."""

_TEXT_CONTROL: Final = frozenset(b"\t\n\v\f\r\b\x1b\x1c\x1d\x1e\x1f")
"""Control characters found in text files."""

_LOADERS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "parquet": (
        ("pandas", "pd.read_parquet({path})"),
        ("polars", "pl.read_parquet({path})"),
        ("pyarrow", "pyarrow.parquet.read_table({path})"),
    ),
    "feather": (
        ("pandas", "pd.read_feather({path})"),
        ("polars", "pl.read_ipc({path})"),
        ("pyarrow", "pyarrow.feather.read_table({path})"),
    ),
    "orc": (("pandas", "pd.read_orc({path})"), ("pyarrow", "pyarrow.orc.read_table({path})")),
    "avro": (("polars", "pl.read_avro({path})"), ("fastavro", "list(fastavro.reader(open({path}, 'rb')))")),
    "xlsx": (
        ("pandas", "pd.read_excel({path}, sheet_name=None)"),
        ("polars", "pl.read_excel({path}, sheet_id=0)"),
        ("openpyxl", "openpyxl.load_workbook({path}, read_only=True)"),
    ),
    "xls": (("xlrd", "pd.read_excel({path}, sheet_name=None)"),),
    "7z": (("py7zr", "py7zr.SevenZipFile({path}).getnames()"),),
    "rar": (("rarfile", "rarfile.RarFile({path}).namelist()"),),
    "zstd": (
        ("compression.zstd", "compression.zstd.open({path}, 'rt').read(2000)"),
        ("zstandard", "zstandard.open({path}, 'rt').read(2000)"),
    ),
    "csv": (("pandas", "pd.read_csv({path})"), ("polars", "pl.read_csv({path})")),
    "hdf5": (("h5py", "h5py.File({path}, 'r')"), ("xarray", "xr.open_dataset({path})")),
    "netcdf": (("xarray", "xr.open_dataset({path})"), ("scipy", "scipy.io.netcdf_file({path})")),
    "npy": (("numpy", "np.load({path}, mmap_mode='r')"),),
    "npz": (("numpy", "np.load({path})"),),
    "sqlite": (("sqlite3", "sqlite3.connect('file:' + {path} + '?mode=ro', uri=True)"),),
    "gzip": (("gzip", "gzip.open({path}, 'rt').read(2000)"),),
    "bz2": (("bz2", "bz2.open({path}, 'rt').read(2000)"),),
    "xz": (("lzma", "lzma.open({path}, 'rt').read(2000)"),),
    "zip": (("zipfile", "zipfile.ZipFile({path}).namelist()"),),
    "tar": (("tarfile", "tarfile.open({path}).getnames()"),),
    "picture": (("PIL", "PIL.Image.open({path})"), ("matplotlib", "plt.imread({path})")),
    "image": (("PIL", "PIL.Image.open({path})"), ("matplotlib", "plt.imread({path})")),
    "pdf": (("pypdf", "pypdf.PdfReader({path})"), ("pymupdf", "pymupdf.open({path})")),
    "docx": (("docx", "docx.Document({path})"),),
    "audio": (("soundfile", "soundfile.read({path})"), ("librosa", "librosa.load({path})")),
}


def identify(head: bytes, path: PurePath) -> FileType | None:
    """Say what a file seems to be from its first :data:`HEAD_BYTES`; ``None`` for text.

    UTF-16 counts as text when it starts with its byte order mark.
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) and len(head) % 2 == 0:
        return None
    if head.startswith(b"PK\x03\x04"):
        for mark, kind in _BY_MIMETYPE:
            if head[30:].startswith(mark):
                return kind
        if (index := _ZIPPED_SUFFIXES.get(path.suffix.lower())) is not None:
            return _ZIPPED[index][1]
        inside = (kind for mark, kind in _ZIPPED if mark in head)
        return next(inside, FileType("zip", "a ZIP archive"))
    if head.startswith(_OLD_OFFICE):
        return _old_office(head, path.suffix.lower())
    binary = _looks_binary(head)
    for offset, magic, kind in _MAGIC:
        if head.startswith(magic, offset) and (binary or len(magic) > 3):
            return kind
    if head[:1] == b"\x80" and head[1:2] in {b"\x02", b"\x03", b"\x04", b"\x05"}:
        return FileType("pickle", "a Python pickle")
    return FileType("data", "binary data") if binary else None


def _old_office(head: bytes, suffix: str) -> FileType:
    """Tell what an old Office file is from the names of its streams, if they are in the beginning, or from its own."""
    for stream, _, kind in _OLD_OFFICES:
        if stream.encode("utf-16-le") in head:
            return kind
    named = (kind for _, suffixes, kind in _OLD_OFFICES if suffix in suffixes)
    return next(named, FileType("ole", "an old Office file"))


def _looks_binary(head: bytes) -> bool:
    """Whether these bytes cannot be text: a zero byte, or control characters in number."""
    if b"\0" in head:
        return True
    odd = sum(byte < 32 and byte not in _TEXT_CONTROL for byte in head)
    return odd > max(3, len(head) // 20)


def how_to_load(key: str, path: str) -> str:
    """Say how to get at the content with what is installed, what is loaded already first.

    Nothing is imported to find out.
    """
    if key == "pickle":
        return "Loading a pickle runs the code in it: do so only if the user trusts the file."
    choices = _LOADERS.get(key, ())
    ranked = sorted(choices, key=lambda choice: choice[0] not in sys.modules)
    for module, code in ranked:
        if _installed(module):
            return f"Load it with run_python: `{code.format(path=repr(path))}`."
    missing = " or ".join(dict.fromkeys(module for module, _ in choices))
    if (other := _CONVERTED.get(key)) is not None:
        return _how_to_convert(other, path, missing)
    return f"Reading it takes {missing}, not installed here." if missing else "It cannot be shown as text."


def _how_to_convert(ending: str, path: str, missing: str) -> str:
    """Say how LibreOffice makes something readable of an old format, or that it has to be installed first."""
    program = next((name for name in ("soffice", "libreoffice") if shutil.which(name)), None)
    if program is not None:
        line = f"{program} --headless --convert-to {ending} --outdir FOLDER {shlex.quote(path)}"
        return f"Convert it with a command: `{line}`, and read that."
    library = f" {missing}, or" if missing else ""
    return (
        f"Reading it takes{library} LibreOffice (`soffice --headless --convert-to {ending}`), not installed here. "
        f"Ask the user to install that, or for the file saved as .{ending}."
    )


def _installed(module: str) -> bool:
    try:
        return module in sys.modules or importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, GIF or JPEG image, where its first bytes tell."""
    if data.startswith(b"\x89PNG") and len(data) >= 24:
        return struct.unpack(">II", data[16:24])
    if data.startswith(b"GIF8") and len(data) >= 10:
        return struct.unpack("<HH", data[6:10])
    if not data.startswith(b"\xff\xd8"):
        return None
    index = 2
    while index + 9 <= len(data) and data[index] == 0xFF:
        marker, length = data[index + 1], int.from_bytes(data[index + 2 : index + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:  # a frame header, not a table
            height, width = struct.unpack(">HH", data[index + 5 : index + 9])
            return width, height
        index += 2 + length
    return None
