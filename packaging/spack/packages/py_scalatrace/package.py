"""Spack recipe of scalatrace; `spack repo add packaging/spack`, then `spack install py-scalatrace`."""

from spack.package import depends_on, license, variant, version
from spack_repo.builtin.build_systems.python import PythonPackage


class PyScalatrace(PythonPackage):
    """Records MPI programs into one small, exact trace; replays, extrapolates and generates benchmarks."""

    homepage = "https://github.com/scalatrace/scalatrace"
    git = "https://github.com/scalatrace/scalatrace.git"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("1.0.0rc1", tag="v1.0.0rc1")

    variant("plot", default=False, description="Plots of sweeps, models and regressions")
    variant("pandas", default=False, description="Tables of traces as pandas DataFrames")

    # The tracer is compiled for the MPI in use when a program is recorded: compiler and MPI at run time.
    depends_on("c", type=("build", "run"))
    depends_on("cxx", type="build")
    depends_on("mpi", type=("build", "run"))

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("cmake@3.21:", type="build")
    depends_on("ninja", type="build")

    depends_on("py-mpi4py@4:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-scipy@1.11:", type=("build", "run"))
    depends_on("py-sympy@1.12:", type=("build", "run"))
    depends_on("py-msgpack@1:", type=("build", "run"))
    depends_on("py-lark@1.1:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-pympistandard@0.2:", type=("build", "run"))
    depends_on("py-pyelftools@0.30:", type=("build", "run"))
    depends_on("py-tomlkit@0.13:", type=("build", "run"))
    depends_on("py-shtab@1.6:", type=("build", "run"))

    depends_on("py-matplotlib@3.8:", type=("build", "run"), when="+plot")
    depends_on("py-pandas@2:", type=("build", "run"), when="+pandas")
