"""Sums in four lanes at once, with the same bits on every processor and from every compiler.

A compiler that may reorder a sum takes as many lanes as the processor has, and not always the same number for the same
source, so that two workers would give features that differ in the last digit. Here the order is part of the program:
lane k sums the samples k, k + 4, k + 8 and so on, and `total` adds the lanes pair by pair. The processor's vector
instructions do that without more time, however wide they are.

For compiled code only::

    sums = zeros()
    for i in range(0, whole(samples.size), WIDTH):
        lanes = load(samples, i)
        sums += lanes * lanes
    energy = total(sums)  # then the samples from whole(samples.size) on, one by one
"""

import operator
from collections.abc import Callable
from typing import Any, Final, Protocol, cast

from llvmlite import ir
from numba import extending as _typed_extending
from numba.core import types
from numba.core.typing.templates import AbstractTemplate, infer_global

from pulsetrain.schemas.arrays import FloatArray
from pulsetrain.streams.features.compiled.jit import part

WIDTH: Final = 4

_DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH)
_BITS = ir.VectorType(ir.IntType(64), WIDTH)
_MAGNITUDE = ir.Constant(_BITS, [0x7FFF_FFFF_FFFF_FFFF] * WIDTH)

# What numba has for new types has no types itself.
_extending = cast(Any, _typed_extending)

_Code = Callable[..., Any]
"""Writes a function's instructions, given numba's context, the builder, the signature and the arguments' values."""


class Lanes(Protocol):
    """Four numbers; each operation is done on all of them."""

    def __add__(self, other: "Lanes") -> "Lanes": ...

    def __sub__(self, other: "Lanes") -> "Lanes": ...

    def __mul__(self, other: "Lanes") -> "Lanes": ...


class _LanesType(types.Type):
    """The lanes in numba's terms; in LLVM's they are a vector."""


_LANES = cast(Any, _LanesType)("Lanes")
_extending.register_model(_LanesType)(
    lambda manager, kind: _extending.models.PrimitiveModel(manager, kind, _DOUBLES),
)


def _define(operation: Any, instruction: str) -> None:
    """Let an operator of Python do one instruction on two vectors, without any licence to change its result."""

    class OfLanes(AbstractTemplate):
        def generic(self, arguments: Any, _keywords: Any) -> Any:
            return _LANES(*arguments) if arguments == (_LANES, _LANES) else None

    def write(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return getattr(builder, instruction)(*values)

    cast(Any, infer_global)(operation)(OfLanes)
    _extending.lower_builtin(operation, _LanesType, _LanesType)(write)


for _operation, _instruction in (
    (operator.add, "fadd"),
    (operator.iadd, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
):
    _define(_operation, _instruction)


def _zeros(_context: Any) -> tuple[Any, _Code]:
    return _LANES(), lambda *_: ir.Constant(_DOUBLES, [0.0] * WIDTH)


def _load(_context: Any, samples: Any, _index: Any) -> tuple[Any, _Code]:
    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, values[0])
        first = builder.gep(array.data, [values[1]])
        return builder.load(builder.bitcast(first, _DOUBLES.as_pointer()), align=8)

    return _LANES(samples, types.intp), write


def _store(_context: Any, _lanes: Any, samples: Any, _index: Any) -> tuple[Any, _Code]:
    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array = context.make_array(signature.args[1])(context, builder, values[1])
        first = builder.gep(array.data, [values[2]])
        builder.store(values[0], builder.bitcast(first, _DOUBLES.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(_LANES, samples, types.intp), write


def _everywhere(_context: Any, _number: Any) -> tuple[Any, _Code]:
    def write(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        index = ir.IntType(32)
        nothing = ir.Constant(_DOUBLES, ir.Undefined)
        one = builder.insert_element(nothing, values[0], index(0))
        return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(index, WIDTH), None))

    return _LANES(types.float64), write


def _magnitudes(_context: Any, _lanes: Any) -> tuple[Any, _Code]:
    def write(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.bitcast(builder.and_(builder.bitcast(values[0], _BITS), _MAGNITUDE), _DOUBLES)

    return _LANES(_LANES), write


def _total(_context: Any, _lanes: Any) -> tuple[Any, _Code]:
    def write(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        sums = [builder.extract_element(values[0], ir.Constant(ir.IntType(32), lane)) for lane in range(WIDTH)]
        while len(sums) > 1:
            sums = [builder.fadd(*sums[lane : lane + 2]) for lane in range(0, len(sums), 2)]
        return sums[0]

    return types.float64(_LANES), write


zeros = cast(Callable[[], Lanes], _extending.intrinsic(_zeros))
"""A zero in each lane."""

load = cast(Callable[[FloatArray, int], Lanes], _extending.intrinsic(_load))
"""The four samples from an index on; the array (samples,) is contiguous, and must hold them: nothing looks."""

store = cast(Callable[[Lanes, FloatArray, int], None], _extending.intrinsic(_store))
"""Writes the lanes to the samples from an index on, under the same conditions."""

everywhere = cast(Callable[[float], Lanes], _extending.intrinsic(_everywhere))
"""The same number in each lane."""

magnitudes = cast(Callable[[Lanes], Lanes], _extending.intrinsic(_magnitudes))
"""Each lane without its sign."""

total = cast(Callable[[Lanes], float], _extending.intrinsic(_total))
"""The sum of the lanes: (0 + 1) + (2 + 3)."""


@part()
def whole(n_samples: int) -> int:
    """How many of some samples fill all lanes."""
    return n_samples - n_samples % WIDTH
