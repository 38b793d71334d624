"""Comparison of many numbers at once, the result as the bits of one integer.

Processors have had instructions for that for long, of one width or another; compilers make them of a comparison of
vectors, but not of a loop. For compiled code only.
"""

from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import extending as _typed_extending
from numba.core import types

from pulsetrain.schemas.arrays import FloatArray

BYTES: Final = 64
"""So many bytes are compared at once."""
DOUBLES: Final = 16
"""So many doubles are compared at once."""

# What numba has for new functions has no types itself.
_extending = cast(Any, _typed_extending)

_Code = Callable[..., Any]
"""Writes a function's instructions, given numba's context, the builder, the signature and the arguments' values."""
_INDEX = ir.IntType(32)


def _comparison(compare: str, element: Any, kind: Any, width: int) -> Callable[..., tuple[Any, _Code]]:
    """Compare the numbers of an array, from an index on, with one number, by an instruction of LLVM's."""
    vector = ir.VectorType(element, width)
    nothing = ir.Constant(vector, ir.Undefined)

    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        instruction, operator = compare.split()
        array = context.make_array(signature.args[0])(context, builder, values[0])
        first = builder.bitcast(builder.gep(array.data, [values[1]]), vector.as_pointer())
        numbers = builder.load(first, align=element.get_abi_size(context.target_data))
        one = builder.insert_element(nothing, values[2], _INDEX(0))
        everywhere = builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(_INDEX, width), None))
        holds = getattr(builder, instruction)(operator, numbers, everywhere)
        return builder.zext(builder.bitcast(holds, ir.IntType(width)), ir.IntType(64))

    return lambda _context, numbers, _index, _number: (types.uint64(numbers, types.intp, kind), write)


def _count_bits(_context: Any, _mask: Any) -> tuple[Any, _Code]:
    return types.int64(types.uint64), lambda _context, builder, _signature, values: builder.ctpop(values[0])


def _lowest_bit(_context: Any, _mask: Any) -> tuple[Any, _Code]:
    def write(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.cttz(values[0], ir.IntType(1)(0))

    return types.int64(types.uint64), write


where_equal = cast(
    Callable[[npt.NDArray[np.uint8], int, int], np.uint64],
    _extending.intrinsic(_comparison("icmp_unsigned ==", ir.IntType(8), types.uint8, BYTES)),
)
"""Which of the 64 bytes from an index on are a number. The array must hold them: nothing looks."""

where_below = cast(
    Callable[[FloatArray, int, float], np.uint64],
    _extending.intrinsic(_comparison("fcmp_ordered <", ir.DoubleType(), types.float64, DOUBLES)),
)
"""Which of the 16 doubles from an index on are below a number. The array must hold them: nothing looks."""

where_up_to = cast(
    Callable[[FloatArray, int, float], np.uint64],
    _extending.intrinsic(_comparison("fcmp_ordered <=", ir.DoubleType(), types.float64, DOUBLES)),
)
"""Which of the 16 doubles from an index on are a number or below. The array must hold them: nothing looks."""

count_bits = cast(Callable[[np.uint64], int], _extending.intrinsic(_count_bits))
"""How many bits of a mask are set."""

lowest_bit = cast(Callable[[np.uint64], int], _extending.intrinsic(_lowest_bit))
"""The place of the lowest bit that is set, 64 if none is."""
