"""Every error that this package raises on purpose, and its warnings. A message says what failed, where, and what would work.

::

    LineageError
    ├── PlanError                     the pipeline cannot be understood
    │   ├── UnsupportedOperator       an operator or expression without defined lineage
    │   ├── PlanCheckError            an invariant of the operator tree does not hold (a bug, or a hand-made plan)
    │   ├── PlanVersionError          a stored plan is of a version that this code cannot read
    │   ├── WriteNotRecorded          a write inside a recording cannot be recorded, and was not made
    │   ├── SparkConnectUnsupported   the session is a Spark Connect client: it has no JVM plan
    │   └── InvalidOption             an option of a run or of a question is not one that it can be
    │       ├── InvalidCapture        lineage cannot be captured as it was asked
    │       └── InvalidIndex          a result cannot be indexed as it was asked
    ├── EnvironmentProblem            the installation cannot work
    │   ├── InvalidSetting            a setting in the environment is not what it can be
    │   ├── PySparkConflict           two different PySparks share one folder, or one process
    │   └── WorkersPythonProblem      Spark's workers run a Python that cannot do the work
    ├── ReasonError                   a reasoned UDF broke its contract
    │   ├── UdfDeclarationError       it was declared wrongly
    │   ├── UdfFailed                 it raised on a row
    │   ├── ReasonValueMismatch       reasoning mode gave another value than normal mode
    │   ├── UdfVersionMismatch        the UDF at hand is not the one that made the decision
    │   ├── UdfUnavailable            the UDF that made the decision cannot be found
    │   ├── UdfNotKept                a UDF that nobody will find again cannot be kept with the run
    │   └── PayloadError              a reason is not of a known shape
    │       └── ReasonTooLarge        a reason traced to cells takes more bytes than are kept
    ├── TargetError                   the target of a derivation cannot be used
    │   ├── InvalidTarget             it does not parse, or names an unknown column
    │   ├── EmptyTarget               it matches no row
    │   │   └── NothingChanged        no row is new or has changed since the run that is compared with
    │   ├── TargetTooLarge            it matches more rows than the limit
    │   └── AnswerTooLarge            more source rows stand behind it than the limit
    ├── TracingError                  a derivation cannot be answered
    │   ├── SparkRequired             the answer needs Spark, and no session was given
    │   ├── ReadThroughSketch         what became of rows of a run that has not read others, as it read through a sketch
    │   ├── NotCaptured               captured lineage alone was to answer (lazy=False), and does not say it
    │   └── SourceUnavailable         a source has vanished or cannot be read
    ├── ArrayLineageError             lineage between the cells of arrays
    │   ├── InvalidArray              an array's name or shape is not what it can be, or another array has the name
    │   ├── UnknownArray              there is no such array, or nothing that leads from one to the next
    │   ├── InvalidRelation           pairs of cells, or a compressed relation, are not what they can be
    │   ├── CaptureFailed             a capture raised, or gave something else than cells
    │   ├── CaptureNeeded             an operation has no capture, and earlier calls do not say what it would give
    │   ├── NotTracked                a tracked array was given to what has no known lineage
    │   ├── InvalidCells              what is asked about are not cells of the array
    │   ├── TooManyCells              the answer has more than may be enumerated
    │   └── RelationDamaged           these bytes are no relation
    │       └── RelationTooNew        a newer release wrote them
    ├── SketchError                   fragments or a sketch are not what they can be
    │   ├── SketchUnsafe              a column that was asked for by name is not proved safe
    │   ├── SketchMismatch            a run through a sketch gave other rows than the plain run
    │   ├── SketchOutdated            a source changed while it was read through a sketch
    │   └── SketchDamaged             these bytes are no sketch
    │       └── SketchTooNew          a newer release wrote them
    ├── StoreError                    the results store
    │   ├── StoreUnavailable          it does not answer
    │   │   ├── StoreTooSlow          it answers, and not within the limit that was set
    │   │   ├── StoreInUse            the embedded server's folder is in use where it cannot be reached from here
    │   │   └── StoreDamaged          a file of the embedded server's folder is damaged
    │   ├── StoreNotPermitted         its user may not do that
    │   ├── QueryTooSlow              a query took longer than it may, and was ended
    │   ├── StoreSchemaTooOld         its schema is older than this code
    │   ├── StoreSchemaTooNew         its schema is newer than this code
    │   ├── RunNotFound               no such run
    │   │   └── AmbiguousRun          several runs' ids begin like that
    │   ├── DerivationNotFound        no such derivation
    │   ├── RunNotComplete            the run failed, was dropped, or is still going
    │   ├── RecordDamaged             what is kept of a run cannot be read
    │   ├── ResultNotStored           the run's strategy did not store its result
    │   ├── AppendInProgress          another run that appends the same is still going
    │   ├── IndexTooLarge             captured lineage would have more pairs of rows than it may
    │   ├── IndexReplaced             captured lineage was captured anew, or forgotten, while it was read
    │   ├── StoredRowsGone            files with stored rows are gone, or are not those that the run wrote
    │   └── LoadFailed                a materialization could not be loaded, or captured lineage not be written
    ├── ParameterError                a parameter of a run cannot be recorded as it was asked
    │   ├── SecretRequired            a secret parameter is needed again, and was not given
    │   └── SecretMismatch            it is not the one of the run
    ├── BatchError                    a batch of a stream cannot be recorded
    ├── InvalidOutput                 an output is not understood, or the result cannot be written there
    ├── CaptureRequired               a run stands, and its lineage, which has to be captured, was not
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


class WriteNotRecorded(PlanError):
    """A write inside `Lineage.recording` cannot be recorded: it was not made."""


class SparkConnectUnsupported(PlanError):
    """The session is a Spark Connect client, which has no JVM plan to read."""


class InvalidOption(PlanError, ValueError):
    """An option of a run or of a question is not one that it can be."""


class InvalidCapture(InvalidOption):
    """Lineage cannot be captured as it was asked: said before the run."""


class InvalidIndex(InvalidOption):
    """A result cannot be indexed as it was asked: said before the run."""


class EnvironmentProblem(LineageError):
    """The installation cannot work."""


class InvalidSetting(EnvironmentProblem):
    """A setting in the environment is not what it can be."""


class PySparkConflict(EnvironmentProblem):
    """Two different PySparks share one folder, or one process."""


class WorkersPythonProblem(EnvironmentProblem):
    """Spark's workers run a Python that cannot do the work."""


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


class UdfNotKept(ReasonError):
    """A UDF that nobody will find again cannot be kept with the run."""


class PayloadError(ReasonError):
    """A reason is not of a known shape."""


class ReasonTooLarge(PayloadError):
    """A reason that is traced to cells of arrays takes more bytes than are kept (AIRFLOW_LINEAGE_REASON_BYTES)."""


class TargetError(LineageError):
    """The target of a derivation cannot be used."""


class InvalidTarget(TargetError):
    """The target does not parse, or names an unknown column."""


class EmptyTarget(TargetError):
    """The target matches no row."""


class NothingChanged(EmptyTarget):
    """No row is new or has changed since the run that is compared with."""


class TargetTooLarge(TargetError):
    """The target matches more rows than the limit."""


class AnswerTooLarge(TargetError):
    """More source rows stand behind the target than one answer may have."""


class TracingError(LineageError):
    """A derivation cannot be answered."""


class SparkRequired(TracingError):
    """The answer needs Spark, and no session was given."""


class ReadThroughSketch(TracingError):
    """The run read a source through a sketch: what became of rows that it read hangs on those that it did not read, and cannot be told. Or
    the sketch has one row in place of each group (``witness``), and the run's lineage would lack the others."""


class NotCaptured(TracingError):
    """A question was to be answered by captured lineage alone (``lazy=False``), and what it needs was not captured."""


class SourceUnavailable(TracingError):
    """A source has vanished or cannot be read."""


class ArrayLineageError(LineageError):
    """The lineage between the cells of arrays cannot be recorded, or not be asked for as it was."""


class InvalidArray(ArrayLineageError):
    """An array's name or shape is not what it can be, or the name is that of another array."""


class UnknownArray(ArrayLineageError):
    """There is no array of this name, or no lineage between two that follow each other in a path."""


class InvalidRelation(ArrayLineageError):
    """Pairs of cells, or a compressed relation, are not what they can be for these two arrays."""


class CaptureFailed(ArrayLineageError):
    """A capture raised, or gave something else than cells of the array behind the cell."""


class CaptureNeeded(ArrayLineageError):
    """An operation between arrays has no capture, and earlier calls of it do not say what it would give."""


class NotTracked(ArrayLineageError, TypeError):
    """A tracked array was given to something whose lineage is not known, or that would lose it."""


class InvalidCells(ArrayLineageError):
    """What is asked about are not cells of the array."""


class TooManyCells(ArrayLineageError):
    """An answer has more cells than may be enumerated (AIRFLOW_LINEAGE_CELL_LIMIT), or more boxes or paths than one answer can have."""


class RelationDamaged(ArrayLineageError):
    """Bytes that should be a compressed relation are none."""


class RelationTooNew(RelationDamaged):
    """A newer release of this package wrote the relation."""


class SketchError(LineageError):
    """Fragments of a column, or a provenance sketch, are not what they can be."""


class SketchUnsafe(SketchError):
    """A sketch of a column that was asked for by name is not proved safe; the message says which operator may go wrong, and how."""


class SketchMismatch(SketchError):
    """A run through a sketch gave other rows than the plain run (``verify_sketches``). The sketch is dropped, and the run made plainly."""


class SketchOutdated(SketchError):
    """A source changed while a run read it through a sketch of the version before. The run is made again without."""


class SketchDamaged(SketchError):
    """Bytes that should be a sketch are none."""


class SketchTooNew(SketchDamaged):
    """A newer release of this package wrote the sketch."""


class StoreError(LineageError):
    """The results store failed."""


class StoreUnavailable(StoreError):
    """The results store does not answer."""


class StoreTooSlow(StoreUnavailable):
    """The results store answers, and takes longer than it may (AIRFLOW_LINEAGE_STORE_LIMIT), or somebody holds a lock in it for longer."""


class StoreInUse(StoreUnavailable):
    """Another host or container runs the embedded server of this folder, and it cannot be reached from here."""


class StoreDamaged(StoreUnavailable):
    """A file of the embedded server's folder is damaged, and cannot be mended as things are; the message says what can be done."""


class StoreNotPermitted(StoreError):
    """The user that the store was opened by may not do that."""


class QueryTooSlow(StoreError):
    """A query of the results store took longer than it may (AIRFLOW_LINEAGE_STATEMENT_TIMEOUT), and was ended."""


class StoreSchemaTooOld(StoreError):
    """The store's schema is older than this code."""


class StoreSchemaTooNew(StoreError):
    """The store's schema is newer than this code."""


class CaptureRequired(LineageError):
    """A run is complete, its result and its output stand, and its lineage, which has to be captured (AIRFLOW_LINEAGE_CAPTURE_REQUIRED), was
    not: the message says how it is captured later. Running the pipeline again would write again what is there.

    :ivar run_id: of the run.
    """

    run_id: str = ""

    @staticmethod
    def of(run_id: str, pipeline: str, problem: str) -> CaptureRequired:
        """Of a run whose lineage was not captured for this reason."""
        made = CaptureRequired(
            f"run {run_id} of {pipeline} is complete, with its result and its output, and its lineage was not captured: {problem}. It is "
            f"captured later by Run.capture(), `airflow-lineage capture {run_id}`, or a CaptureLineageOperator; running the pipeline again "
            "would write again what it has written"
        )
        made.run_id = run_id
        return made


class RunNotFound(StoreError):
    """There is no such run."""


class AmbiguousRun(RunNotFound):
    """Several runs' ids begin with what was given for an id."""


class DerivationNotFound(StoreError):
    """There is no such derivation."""


class RunNotComplete(StoreError):
    """The run failed, was dropped, or is still going."""


class RecordDamaged(StoreError):
    """What is kept of a run cannot be read: a field is missing, is not known, or has a value that it cannot have."""


class ResultNotStored(StoreError):
    """The run's strategy did not store its result, and this process has not computed it."""


class IndexTooLarge(StoreError):
    """Captured lineage would have more pairs of rows than it may. Said before any of it is written."""


class IndexReplaced(StoreError):
    """The captured lineage that a question was reading was captured anew, or forgotten, meanwhile. A question is asked once more by itself;
    a stream says so where a part of the answer was given already."""


class StoredRowsGone(StoreError):
    """Files that hold stored rows are gone, or are not those that the run wrote."""


class LoadFailed(StoreError):
    """A materialization could not be loaded, or captured lineage could not be written to its place."""


class AppendInProgress(StoreError):
    """Another run that appends the same (``append_key``) is still going."""


class ParameterError(LineageError):
    """A parameter of a run cannot be recorded as it was asked."""


class SecretRequired(ParameterError):
    """A secret parameter of a run is needed again, and was not given."""


class SecretMismatch(ParameterError):
    """A secret parameter that was given again is not the one of the run, or cannot be compared with it."""


class InvalidOutput(LineageError, ValueError):
    """An output is not understood, or the result cannot be written there. Said before the pipeline is computed."""


class BatchError(LineageError):
    """A batch of a stream cannot be recorded: no streaming query gave it, the pipeline does not read it, or another driver has it."""


class RunFailed(LineageError):
    """The pipeline itself failed; the cause is chained."""


class LineageWarning(UserWarning):
    """Base of all warnings of this package."""


class ReasonsWillBeLost(LineageWarning):
    """A UDF dies with this process, and with it the reasons of the run's decisions."""


class WriteNotSeen(LineageWarning):
    """Code inside a recording may write, and nobody will know what: a function given to ``foreach``, a procedure of a catalog's."""
