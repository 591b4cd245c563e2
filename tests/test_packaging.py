"""The wheel installs one top-level name, with all packages in it, beside another package called extrap."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_wheel(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path, ROOT]
    subprocess.run(build, check=True, timeout=600)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"scalatrace"}
    assert {"scalatrace/py.typed", "scalatrace/replay/run.py", "scalatrace/grammars/trace.lark"} <= set(names)
    assert {"scalatrace/report/page/assets/page.html", "scalatrace/report/page/assets/main.js"} <= set(names)
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    (installed / "extrap").mkdir()
    (installed / "extrap" / "__init__.py").write_text("OTHER = True\n")
    code = "import extrap, scalatrace.extrap, scalatrace.codegen.generate; assert extrap.OTHER"
    isolated = f"import sys; sys.path.insert(0, {str(installed)!r}); {code}; print(scalatrace.__file__)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import site; {_site_packages()}; {isolated}"],
        check=True, capture_output=True, text=True, timeout=60, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout.startswith(str(installed))


def _site_packages() -> str:
    """Code that finds the dependencies, but not this editable installation."""
    folders = [path for path in sys.path if path.endswith("site-packages")]
    return f"import sys; sys.path += {folders!r}"
