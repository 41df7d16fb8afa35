"""Values that come batch by batch, kept as one dictionary and a code for each: as much memory as bars take, not as the values would."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import AnswerTooLarge, InvalidOption

if TYPE_CHECKING:
    import pyarrow as pa

# Dictionaries of batches are made one when they have more than these.
_APART, _BYTES_APART = 200_000, 16 * 2**20


@dataclass
class EncodedValues:
    """At most ``most_values`` different ones, in at most ``most_bytes`` with their codes."""

    most_values: int
    most_bytes: int
    _chunks: list[pa.DictionaryArray] = field(default_factory=list)
    _different: int = 0
    _bytes: int = 0

    def add(self, values: pa.ChunkedArray) -> None:
        """The next values.

        :raises InvalidOption: they are of a type that is no bar's. :raises AnswerTooLarge: there are too many different ones, or they are
            too long.
        """
        import pyarrow as pa

        for chunk in values.chunks:
            try:
                self._chunks.append(_encoded(chunk))
            except (pa.ArrowException, TypeError) as problem:
                raise InvalidOption(f"values of type {values.type} are no bars: cast them to a text, say") from problem
            self._different += len(self._chunks[-1].dictionary)
            self._bytes += self._chunks[-1].dictionary.nbytes
        if self._different > _APART or self._bytes > _BYTES_APART:
            self._join()

    def _join(self) -> None:
        """All that there are with one dictionary. The counts begin anew: what a dictionary has already is not looked at again and again."""
        import pyarrow as pa

        if not self._chunks:
            return
        self._chunks = pa.chunked_array(self._chunks).unify_dictionaries().chunks
        self._different = self._bytes = 0
        dictionary = self._chunks[0].dictionary
        if len(dictionary) > self.most_values:
            raise AnswerTooLarge(f"it has more than the {self.most_values:,} bars that are drawn: bin it")
        taken = dictionary.nbytes + sum(one.indices.nbytes for one in self._chunks)
        if taken > self.most_bytes:
            raise AnswerTooLarge(f"it takes more than the {self.most_bytes:,} bytes of a server: choose fewer or shorter values")

    def all(self, kind: pa.DataType) -> pa.ChunkedArray:
        """All of them (of a type, where there is none), with NULL as a value of the dictionary.

        :raises AnswerTooLarge: as `add`.
        """
        import pyarrow as pa

        self._join()
        if not self._chunks:
            return pa.chunked_array([pa.array([], kind).dictionary_encode()])
        dictionary = self._chunks[0].dictionary
        if any(one.null_count for one in self._chunks):
            null, dictionary = len(dictionary), pa.concat_arrays([dictionary, pa.nulls(1, dictionary.type)])
            indices = [one.indices.fill_null(pa.scalar(null, pa.int32())) for one in self._chunks]
        else:
            indices = [one.indices for one in self._chunks]
        # (In one piece: dictionaries with NaN would not be found the same.)
        return pa.chunked_array([pa.DictionaryArray.from_arrays(pa.concat_arrays(indices), dictionary)])


def _encoded(values: pa.Array) -> pa.DictionaryArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(values.type):
        values = pc.add(values, pa.scalar(0.0, values.type))  # -0.0 is 0.0
    elif pa.types.is_null(values.type):
        values = values.cast(pa.int32())
    elif pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    return values.dictionary_encode(null_encoding="mask")
