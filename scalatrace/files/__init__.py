"""Read input files; replace regular output files in one step, write through FIFOs, devices, descriptors."""

from scalatrace.files.reading import parse_toml, read_file, read_text, read_toml, unreadable
from scalatrace.files.targets import check_output, is_stdout, is_stream, path_below, resolved
from scalatrace.files.temporary import remove_leftovers
from scalatrace.files.writing import output_file, output_folder, replace_file, write_file

__all__ = [
    "check_output", "is_stdout", "is_stream", "output_file", "output_folder", "parse_toml", "path_below",
    "read_file", "read_text", "read_toml", "remove_leftovers", "replace_file", "resolved", "unreadable",
    "write_file",
]  # fmt: skip
