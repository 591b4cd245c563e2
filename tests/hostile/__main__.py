"""Write all crafted files into a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from hostile.crafted import CRAFTED

for name, make in CRAFTED.items():
    path = Path(sys.argv[1], name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(make())
