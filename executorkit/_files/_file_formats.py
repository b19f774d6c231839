"""Recognition of files by their first bytes, for errors about a file of another kind."""

import re
from dataclasses import dataclass

from ..errors import explain

#: Number of leading bytes that recognition needs.
HEAD = 4096


@dataclass(frozen=True, slots=True)
class FileKind:
    name: str
    advice: str | None = None


EMPTY = FileKind("empty", "saving it again, or another copy: its writing was cut short")
PARAMS = FileKind(
    "a .params file", "mx.nd.load(file), or mx.model.load_checkpoint(prefix, epoch) for both files"
)
SYMBOL = FileKind("a symbol in JSON", "mx.sym.load(file)")
PICKLE = FileKind(
    "a pickle",
    "if it holds optimizer states: load_optimizer_states; other pickles are never read, because "
    "they may run anything",
)
RECORDS = FileKind("a RecordIO file of records")
_CONVERT = "convert it where its own library is installed, and write it by mx.nd.save"

#: First bytes of a file, and its kind.
_MAGICS: tuple[tuple[bytes, FileKind], ...] = (
    (
        b"version https://git-lfs.github.com/",
        FileKind("a pointer of Git LFS, not the file itself", "git lfs pull"),
    ),
    ((0x112).to_bytes(8, "little"), PARAMS),
    ((0xCED7230A).to_bytes(4, "little"), RECORDS),
    (b"\x1f\x8b", FileKind("compressed by gzip", "gunzip it first")),
    (b"BZh", FileKind("compressed by bzip2", "bunzip2 it first")),
    (b"\xfd7zXZ\0", FileKind("compressed by xz", "unxz it first")),
    (b"\x28\xb5\x2f\xfd", FileKind("compressed by Zstandard", "unzstd it first")),
    (b"7z\xbc\xaf\x27\x1c", FileKind("a 7-Zip archive", "unpack it first")),
    (b"Rar!\x1a\x07", FileKind("a RAR archive", "unpack it first")),
    (b"\x93NUMPY", FileKind("an array of NumPy (.npy)", "mx.nd.array(np.load(file))")),
    (b"\x89HDF\r\n\x1a\n", FileKind("an HDF5 file (of Keras, perhaps)", _CONVERT)),
    (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", FileKind("a file of torch.save", _CONVERT)),
    (b"\x89PNG\r\n\x1a\n", FileKind("a PNG image")),
    (b"\xff\xd8\xff", FileKind("a JPEG image")),
    (b"%PDF-", FileKind("a PDF document")),
    (b"\0\0\x08\x01", FileKind("an idx file of labels, as MNIST's", "mx.io.MNISTIter")),
    (b"\0\0\x08\x03", FileKind("an idx file of images, as MNIST's", "mx.io.MNISTIter")),
)
_NPZ = FileKind("an archive of NumPy's arrays (.npz)", "np.load(file), and mx.nd.array of each")
_TORCH = FileKind("an archive of torch.save", _CONVERT)
_ZIP = FileKind("a zip archive", "unzip it first")
_TAR = FileKind("a tar archive", "unpack it first")
_HTML = FileKind(
    "an HTML page", "the download again: the server answered with a page, not with the file"
)
_XML = FileKind("an XML document, perhaps a server's answer", "the download again")
_SAFETENSORS = FileKind("a safetensors file", _CONVERT)
_ONNX = FileKind("an ONNX model", "mx.contrib.onnx.import_model(file)")
_JSON = FileKind("a JSON text, but not a symbol")


def recognise(head: bytes) -> FileKind | None:
    r"""Returns the kind of a file that begins with ``head`` (:data:`HEAD` bytes of it), or None.

    >>> recognise(b"PK\x03\x04" + bytes(22) + b"\x05\0\0\0w.npy").name
    "an archive of NumPy's arrays (.npz)"
    """
    if not head:
        return EMPTY
    for magic, kind in _MAGICS:
        if head.startswith(magic):
            return kind
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_kind(head)
    if head[257:262] == b"ustar":
        return _TAR
    if re.match(rb"\x80[\x02-\x05]", head) or re.match(rb"\(?[dl]p[01]\n", head):
        return PICKLE
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 32:
        return _SAFETENSORS
    if re.match(rb"\x08[\x01-\x0f](\x12|\x3a|\x42)", head):
        return _ONNX
    return _text_kind(head.removeprefix(b"\xef\xbb\xbf").lstrip())


def _zip_kind(head: bytes) -> FileKind:
    name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
    if name.endswith(b".npy"):
        return _NPZ
    return _TORCH if b"data.pkl" in name or name.endswith(b"/version") else _ZIP


def _text_kind(text: bytes) -> FileKind | None:
    start = text[:256].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<!--")):
        return _HTML
    if start.startswith(b"<?xml"):
        return _HTML if b"<html" in text.lower() else _XML
    if re.match(rb'\{\s*("|\}|$)|\[\s*(["\[{\d\]]|$)', text):
        return SYMBOL if b'"nodes"' in text else _JSON
    return None


def describe_misfit(where: str, head: bytes, expected: FileKind | str) -> str | None:
    """Returns the text of an error about a file at the path ``where`` of another kind than
    ``expected`` (a kind, or its name with an article); None if ``head`` fits or is unknown."""
    kind = recognise(head)
    if kind is None or kind is expected or (kind is _JSON and expected is SYMBOL):
        return None
    name = expected.name if isinstance(expected, FileKind) else expected
    return explain(where, f"it is {kind.name}, expected {name}", hint=kind.advice)
