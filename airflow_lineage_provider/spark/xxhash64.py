"""The hash that Spark's SQL function ``xxhash64`` gives a text, without asking Spark: XXH64 with the seed 42.

As its author specifies it: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
"""

from __future__ import annotations

import struct

_SEED = 42
_64 = 0xFFFFFFFFFFFFFFFF
_P1, _P2, _P3, _P4, _P5 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def xxhash64(data: bytes) -> int:
    """The hash as Spark has it, a signed integer.

    >>> xxhash64(b"Spark")
    -4294468057691064905
    """
    striped = len(data) // 32 * 32
    value = (_of_stripes(data[:striped]) if striped else _SEED + _P5) + len(data) & _64
    value = _with_rest(value, data[striped:])
    value = (value ^ value >> 33) * _P2 & _64
    value = (value ^ value >> 29) * _P3 & _64
    value ^= value >> 32
    return value - (1 << 64) if value >> 63 else value


def _of_stripes(data: bytes) -> int:
    lanes = [_SEED + _P1 + _P2 & _64, _SEED + _P2 & _64, _SEED, _SEED - _P1 & _64]
    for stripe in struct.iter_unpack("<4Q", data):
        lanes = [_round(lane, word) for lane, word in zip(lanes, stripe, strict=True)]
    value = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _64
    for lane in lanes:
        value = (value ^ _round(0, lane)) * _P1 + _P4 & _64
    return value


def _with_rest(value: int, data: bytes) -> int:
    """The value and the last bytes, fewer than a stripe has: eight at a time, then four, then each."""
    eights = len(data) // 8 * 8
    fours = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<Q", data[:eights]):
        value = _rotated(value ^ _round(0, word), 27) * _P1 + _P4 & _64
    for (word,) in struct.iter_unpack("<I", data[eights:fours]):
        value = _rotated(value ^ word * _P1 & _64, 23) * _P2 + _P3 & _64
    for byte in data[fours:]:
        value = _rotated(value ^ byte * _P5 & _64, 11) * _P1 & _64
    return value


def _round(lane: int, word: int) -> int:
    return _rotated(lane + word * _P2 & _64, 31) * _P1 & _64


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> 64 - by) & _64
