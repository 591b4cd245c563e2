"""Files of kernel models: TOML with one table per kernel and host.

format = 1

[[kernels]]
name = "dgemm"
parameters = ["m", "n", "k"]
model = "M-1"
noise = "N-2"
mean_ns = {"m*n*k" = 0.0321, "1" = 410.0}
deviation_ns = {"m*n*k" = 0.0009, "1" = 0.0}
"""

from __future__ import annotations

from pathlib import Path

import tomlkit

from scalatrace.errors import FormatError, UsageError
from scalatrace.files import write_file
from scalatrace.predict.kernels.model import CONSTANT, KernelModel, KernelModels, Polynomial
from scalatrace.predict.kernels.toml_tables import checked, number_map, read_document

__all__ = ["read_kernels", "write_kernels"]

FORMAT = 1
_TYPES = {
    "name": str, "parameters": list, "model": str, "noise": str, "mean_ns": dict, "deviation_ns?": dict,
    "host?": str,
}  # fmt: skip


def read_kernels(path: str | Path) -> KernelModels:
    """Read kernel models.

    Raises:
        FormatError: the file cannot be read, or a key or value is wrong; names it.
    """
    raw = read_document(path, "a file of kernel models", FORMAT)
    tables = checked(raw, {"kernels": list}, "file", path)["kernels"]
    try:
        return KernelModels(_model(table, f"kernels[{i}]", path) for i, table in enumerate(tables))
    except UsageError as error:
        raise FormatError(str(error), path) from None


def _model(raw: object, where: str, path: str | Path) -> KernelModel:
    table = checked(raw, _TYPES, where, path)
    parameters = tuple(table["parameters"])
    if not all(isinstance(name, str) for name in parameters):
        raise FormatError(f"{where}.parameters must be an array of texts", path)
    polynomials = {}
    for key in ("mean_ns", "deviation_ns"):
        polynomials[key] = Polynomial(number_map(table.get(key, {}), f"{where}.{key}", path))
        for term in polynomials[key].coefficients:
            if term != CONSTANT and not set(term.split("*")) <= set(parameters):
                raise FormatError(f"{where}.{key}: the term {term!r} has a factor that is no parameter", path)
    return KernelModel(
        table["name"], parameters, table["model"], table["noise"],
        polynomials["mean_ns"], polynomials["deviation_ns"], table.get("host", ""),
    )  # fmt: skip


def write_kernels(path: str | Path, kernels: KernelModels) -> None:
    """Write kernel models. Raises ScalatraceError."""
    document = tomlkit.document()
    document.add("format", tomlkit.item(FORMAT))
    array = tomlkit.aot()
    for model in kernels.models:
        table = tomlkit.table()
        values: dict[str, object] = {
            "name": model.name,
            "host": model.host,
            "parameters": list(model.parameters),
        }
        values |= {"model": model.model, "noise": model.noise}
        for key, value in values.items():
            if value != "":
                table.add(key, value)
        for key in ("mean_ns", "deviation_ns"):
            inline = tomlkit.inline_table()
            for term, coefficient in getattr(model, key).coefficients.items():
                inline.add(term, coefficient)
            table.add(key, inline)
        array.append(table)
    document.add("kernels", array)
    write_file(path, tomlkit.dumps(document).encode())
