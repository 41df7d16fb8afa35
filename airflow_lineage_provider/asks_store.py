"""What the parts of `Lineage` ask the results store by."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from airflow_lineage_provider.store import Store

T = TypeVar("T")


class AsksStore(ABC):
    """Has a store; see `Lineage` for both."""

    @property
    @abstractmethod
    def store(self) -> Store: ...

    @abstractmethod
    def lasting(self, question: Callable[[], T]) -> T: ...
