"""Numeric arrays inside Avro `bytes` fields: little-endian, decoded without a copy."""

import math

import numpy as np
import numpy.typing as npt

from pulsetrain.schemas.errors import DecodeError, DecodeFailure

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_FLOAT64 = np.dtype("<f8")
_INT64 = np.dtype("<i8")


def float_bytes(values: FloatArray) -> bytes:
    """Row-major little-endian float64 bytes."""
    return np.ascontiguousarray(values, dtype=_FLOAT64).tobytes()


def int_bytes(values: IntArray) -> bytes:
    """Row-major little-endian int64 bytes."""
    return np.ascontiguousarray(values, dtype=_INT64).tobytes()


def floats_from(data: bytes, shape: tuple[int, ...], field: str) -> FloatArray:
    """A read-only view of `data` as float64 of the given shape.

    Raises:
        DecodeError: the number of bytes does not fit the shape.
    """
    return _view(data, _FLOAT64, shape, field)


def ints_from(data: bytes, shape: tuple[int, ...], field: str) -> IntArray:
    """A read-only view of `data` as int64 of the given shape.

    Raises:
        DecodeError: the number of bytes does not fit the shape.
    """
    return _view(data, _INT64, shape, field)


def _view(data: bytes, dtype: np.dtype, shape: tuple[int, ...], field: str) -> npt.NDArray:  # type: ignore[type-arg]
    expected = math.prod(shape) * dtype.itemsize
    if len(data) != expected:
        raise DecodeError(DecodeFailure.INVALID, f"field {field} has {len(data)} bytes where {shape} needs {expected}")
    return np.frombuffer(data, dtype=dtype).reshape(shape)
