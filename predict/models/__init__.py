"""Performance models as formulas, at four levels of accuracy (Hoefler, Gropp, Thakur, Träff 2010).

In: a platform and an operation, or the formulas of an extrapolated trace. Out: formulas in sympy, and times.
"""

from scalatrace.predict.models.levels import (
    MESSAGE,
    OPERATIONS,
    Levels,
    LevelTimes,
    algorithms_of,
    levels,
    times,
)

__all__ = ["MESSAGE", "OPERATIONS", "LevelTimes", "Levels", "algorithms_of", "levels", "times"]
