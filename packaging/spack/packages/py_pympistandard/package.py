"""Spack recipe of the MPI Forum's list of procedures, which Spack's own repository does not have."""

from spack.package import depends_on, license, version
from spack_repo.builtin.build_systems.python import PythonPackage


class PyPympistandard(PythonPackage):
    """Database of the procedures, parameters and kinds of the MPI standard."""

    homepage = "https://github.com/mpi-forum/pympistandard"
    pypi = "pympistandard/pympistandard-0.2.0.tar.gz"

    license("MIT")

    version("0.2.0", sha256="cc7d5aa339289ff8e981dce1af69dbdadde2efb070eab66900d130ddca20fad7")

    depends_on("python@3.8:", type=("build", "run"))
    depends_on("py-pdm-backend", type="build")
