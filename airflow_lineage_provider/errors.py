"""Every error that this package raises on purpose. A message says what failed, where, and what would work.

::

    LineageError
    ├── PlanError                     the pipeline cannot be understood
    │   ├── UnsupportedOperator       an operator or expression without defined lineage
    │   ├── PlanCheckError            an invariant of the operator tree does not hold (a bug, or a hand-made plan)
    │   ├── PlanVersionError          a stored plan is of a version that this code cannot read
    │   └── SparkConnectUnsupported   the session is a Spark Connect client: it has no JVM plan
    ├── EnvironmentProblem            the installation cannot work
    │   └── PySparkConflict           two different PySpark distributions share one folder
    ├── ReasonError                   a reasoned UDF broke its contract
    │   ├── UdfDeclarationError       it was declared wrongly
    │   ├── UdfFailed                 it raised on a row
    │   ├── ReasonValueMismatch       reasoning mode gave another value than normal mode
    │   ├── UdfVersionMismatch        the UDF at hand is not the one that made the decision
    │   ├── UdfUnavailable            the UDF that made the decision cannot be found
    │   └── PayloadError              a reason is not of a known shape
    ├── TargetError                   the target of a derivation cannot be used
    │   ├── InvalidTarget             it does not parse, or names an unknown column
    │   ├── EmptyTarget               it matches no row
    │   └── TargetTooLarge            it matches more rows than the limit
    ├── TracingError                  a derivation cannot be answered
    │   ├── SparkRequired             the answer needs Spark, and no session was given
    │   └── SourceUnavailable         a source has vanished or cannot be read
    ├── StoreError                    the results store
    │   ├── StoreUnavailable          it does not answer
    │   ├── StoreSchemaTooOld         its schema is older than this code
    │   ├── StoreSchemaTooNew         its schema is newer than this code
    │   ├── RunNotFound               no such run
    │   ├── RunNotComplete            the run failed, was dropped, or is still going
    │   ├── ResultNotStored           the run's strategy did not store its result
    │   └── LoadFailed                a materialization could not be loaded
    ├── InvalidOutput                 the text or the mode of an output is not understood
    └── RunFailed                     the pipeline itself failed; the cause is chained
"""

from __future__ import annotations


class LineageError(Exception):
    """Base of all errors of this package."""


class PlanError(LineageError):
    """The pipeline cannot be understood."""


class UnsupportedOperator(PlanError):
    """An operator or expression without defined lineage stands in the plan."""


class PlanCheckError(PlanError):
    """An invariant of the operator tree does not hold."""


class PlanVersionError(PlanError):
    """A stored plan is of a version that this code cannot read."""


class SparkConnectUnsupported(PlanError):
    """The session is a Spark Connect client, which has no JVM plan to read."""


class EnvironmentProblem(LineageError):
    """The installation cannot work."""


class PySparkConflict(EnvironmentProblem):
    """Two different PySpark distributions share one folder."""


class ReasonError(LineageError):
    """A reasoned UDF broke its contract."""


class UdfDeclarationError(ReasonError):
    """A reasoned UDF was declared wrongly."""


class UdfFailed(ReasonError):
    """A UDF raised on a row. ``row`` is the row's position in the batch that was judged, where it is known."""

    row: int | None = None


class ReasonValueMismatch(ReasonError):
    """Reasoning mode gave another value than normal mode."""


class UdfVersionMismatch(ReasonError):
    """The UDF at hand is not the one that made the decision."""


class UdfUnavailable(ReasonError):
    """The UDF that made the decision cannot be found."""


class PayloadError(ReasonError):
    """A reason is not of a known shape."""


class TargetError(LineageError):
    """The target of a derivation cannot be used."""


class InvalidTarget(TargetError):
    """The target does not parse, or names an unknown column."""


class EmptyTarget(TargetError):
    """The target matches no row."""


class TargetTooLarge(TargetError):
    """The target matches more rows than the limit."""


class TracingError(LineageError):
    """A derivation cannot be answered."""


class SparkRequired(TracingError):
    """The answer needs Spark, and no session was given."""


class SourceUnavailable(TracingError):
    """A source has vanished or cannot be read."""


class StoreError(LineageError):
    """The results store failed."""


class StoreUnavailable(StoreError):
    """The results store does not answer."""


class StoreSchemaTooOld(StoreError):
    """The store's schema is older than this code."""


class StoreSchemaTooNew(StoreError):
    """The store's schema is newer than this code."""


class RunNotFound(StoreError):
    """There is no such run."""


class RunNotComplete(StoreError):
    """The run failed, was dropped, or is still going."""


class ResultNotStored(StoreError):
    """The run's strategy did not store its result, and this process has not computed it."""


class LoadFailed(StoreError):
    """A materialization could not be loaded."""


class InvalidOutput(LineageError, ValueError):
    """The text or the mode of an output is not understood."""


class RunFailed(LineageError):
    """The pipeline itself failed; the cause is chained."""
