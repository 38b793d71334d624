"""How loops are compiled: once a machine, when their module is imported."""

import logging
from collections.abc import Callable
from functools import cache
from typing import Any, ParamSpec, TypeVar, cast

import numba

logger = logging.getLogger(__name__)

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def compiled(signature: Any) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Compile a function for one signature at import, or load its machine code from numba's cache.

    The cache is ``__pycache__`` beside the module; where that cannot be written, the user's cache folder; with
    ``NUMBA_CACHE_DIR`` set, that folder first. Where none can be used each process compiles for itself, and a line in
    the log says so.

    The function runs without the interpreter's lock, and a division by zero gives what numpy gives. Arithmetic is as
    written, so that every worker gives the same bits: a sum that is to be fast is taken in lanes.

    Args:
        signature: types of the result and the arguments, in numba's notation: ``void(float64[:,::1], float64[::1])``,
            or as numba's objects.
    """

    def compile_function(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        def compile_with(cache: bool) -> Any:
            return numba.njit(signature, cache=cache, nogil=True, error_model="numpy")(function)

        try:
            machine_code = compile_with(cache=True)
        except Exception as error:  # a cache that can't be written, is full, or was cut off in a crash must stop nobody
            machine_code = compile_with(cache=False)
            _say_that_nothing_is_kept(type(error).__name__)
        return cast(Callable[_Parameters, _Result], machine_code)

    return compile_function


def part() -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Make a function that compiled ones of the same module call; it is compiled, and cached, as part of them."""

    def compile_function(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        return cast(Callable[_Parameters, _Result], numba.njit(error_model="numpy")(function))

    return compile_function


@cache
def _say_that_nothing_is_kept(reason: str) -> None:
    logger.warning(
        "machine code cannot be kept on disk or read from there (%s), so that every start compiles it for some "
        "seconds: set NUMBA_CACHE_DIR to an empty folder that can be written",
        reason,
    )
