"""Cell-level lineage of arrays (DSLog): compressed relations between arrays' cells, asked as they are compressed.

Pure: numpy, pcodec where a relation is written with it, and of this package the errors, settings and words. The paper counts cells from 1,
this package from 0.
"""

from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.cells import Cells
from airflow_lineage_provider.arrays.codec import decode, encode, opened
from airflow_lineage_provider.arrays.compose import compose
from airflow_lineage_provider.arrays.compress import compress
from airflow_lineage_provider.arrays.frames.frame import Framed
from airflow_lineage_provider.arrays.frames.joining import concat
from airflow_lineage_provider.arrays.frames.operations import frame
from airflow_lineage_provider.arrays.invert import invert
from airflow_lineage_provider.arrays.log import Log, Traced, TracedPath
from airflow_lineage_provider.arrays.moved import moved
from airflow_lineage_provider.arrays.path import Hop
from airflow_lineage_provider.arrays.relation import Relation, expand
from airflow_lineage_provider.arrays.reuse import Signature
from airflow_lineage_provider.arrays.tracking.array import Tracked
from airflow_lineage_provider.arrays.tracking.declared import apply
from airflow_lineage_provider.arrays.tracking.estimating import by_drise, by_lime
from airflow_lineage_provider.arrays.tracking.following import by_cells
from airflow_lineage_provider.arrays.tracking.marks import Marked, behind, of_reason
from airflow_lineage_provider.arrays.tracking.operations import source
from airflow_lineage_provider.arrays.tracking.probing import probe
from airflow_lineage_provider.arrays.tracking.traced import TracedReason, traced
from airflow_lineage_provider.arrays.tracking.tracing import trace
from airflow_lineage_provider.arrays.tracking.weighing import drise, lime

__all__ = [
    "Cells", "Framed", "Hop", "Log", "Marked", "Relation", "Signature", "Traced", "TracedPath", "TracedReason", "Tracked", "apply",
    "behind", "by_cells", "by_drise", "by_lime", "compose", "compress", "concat", "decode", "drise", "encode", "expand", "frame", "invert",
    "lime", "moved", "of_reason", "opened", "probe", "rules", "source", "trace", "traced",
]  # fmt: skip
