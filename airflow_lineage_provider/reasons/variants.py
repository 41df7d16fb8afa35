"""Variants: PySpark's ``VariantVal`` in Python, a struct of two binaries in Arrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def has_variant(kind: pa.DataType) -> bool:
    """Whether a type is a variant, or has one inside."""
    return _is_variant(kind) or any(has_variant(kind.field(at).type) for at in range(kind.num_fields))


def to_variants(value: Any, kind: pa.DataType) -> Any:
    """A value as Arrow gives it, with ``VariantVal`` for each variant."""
    from pyspark.sql.types import VariantVal

    return _mapped(value, kind, lambda each: VariantVal(each["value"], each["metadata"]))


def from_variants(value: Any, kind: pa.DataType) -> Any:
    """A value as Arrow takes it, from one with ``VariantVal`` for each variant."""
    return _mapped(value, kind, lambda each: {"value": each.value, "metadata": each.metadata})


def _is_variant(kind: pa.DataType) -> bool:
    return pa.types.is_struct(kind) and any(b"variant" in (field.metadata or {}) for field in kind)


def _mapped(value: Any, kind: pa.DataType, change: Any) -> Any:
    if value is None or not has_variant(kind):
        return value
    if _is_variant(kind):
        return change(value)
    if pa.types.is_list(kind):
        return [_mapped(each, kind.value_type, change) for each in value]
    if pa.types.is_map(kind):
        pairs = value.items() if isinstance(value, dict) else value
        return {key: _mapped(each, kind.item_type, change) for key, each in pairs}
    by_name = value if isinstance(value, dict) else dict(zip((field.name for field in kind), value, strict=True))
    return {field.name: _mapped(by_name.get(field.name), field.type, change) for field in kind}
