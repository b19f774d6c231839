"""Files: atomic writing, reading with errors that name the file, recognition of other formats."""

from ._atomic_file import remove_leftovers, remove_leftovers_in, write_atomically, write_private
from ._file_formats import (
    HEAD,
    PARAMS,
    PICKLE,
    RECORDS,
    SYMBOL,
    FileKind,
    describe_misfit,
    recognise,
)
from ._file_reading import naming, open_to_read, read_bytes, read_kind
from ._idx_file import read_idx
from ._open_files import AnyPath, path_text
