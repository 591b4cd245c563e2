"""Round integers to a bounded precision, so that their size in the file does not depend on their value.

A number below 2^(bits+1) is itself; above, its leading bits + 1 binary digits are kept. `pack` gives the code
that is stored, a small integer; `unpack` the number it stands for. Rounding twice changes nothing:
`pack(unpack(code)) == code`.
"""

from __future__ import annotations

__all__ = ["COARSE", "FINE", "pack", "rounded", "unpack"]

COARSE = 8
"""Bits of what is stored in two bytes: within 0.2 %."""
FINE = 23
"""Bits of what is stored in four bytes: within 6e-8."""
MAX_MAGNITUDE = 1 << 64
"""Samples have at most 64 bits; rounding may make the next power of two of them."""


def pack(value: float, bits: int) -> int:
    """Return the code of a number, after rounding it to an integer."""
    number = round(abs(value))
    if number > MAX_MAGNITUDE:
        raise ValueError(f"{value} is too large for a histogram")
    exponent = max(0, number.bit_length() - bits - 1)
    mantissa = number if exponent == 0 else (number + (1 << exponent >> 1)) >> exponent
    if mantissa >> (bits + 1):
        mantissa >>= 1
        exponent += 1
    code = mantissa if exponent == 0 else (exponent << bits) + mantissa
    return -code if value < 0 else code


def unpack(code: int, bits: int) -> int:
    """Return the number of a code. Raises ValueError for an invalid code."""
    size = abs(code)
    exponent = max(0, (size >> bits) - 1)
    number = (size - (exponent << bits)) << exponent
    if number > MAX_MAGNITUDE:
        raise ValueError(f"a histogram holds a number of {number.bit_length()} bits")
    return -number if code < 0 else number


def rounded(value: float, bits: int) -> int:
    """Return the number as the file stores it."""
    return unpack(pack(value, bits), bits)
