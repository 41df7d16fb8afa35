"""Methods of Java's as Scala functions: with them one call asks every item of a collection, where each would be a call of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from airflow_lineage_provider.spark.jvm_classes import member, module, named, static_method

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

_MARK = uuid4().hex
"""No name and no value has this in it."""
_INVOKE = "java.lang.invoke."


def texts(collection: JavaObject) -> list[str]:
    """The items of a Scala collection as texts, in its order; none and one that is empty are told apart by who knows of which it is."""
    return str(collection.mkString(_MARK)).split(_MARK)


def text_array(spark: SparkSession, values: Sequence[str]) -> JavaObject:
    """A Java array of texts (at least one), in one call."""
    return _pattern(spark._jvm).split(_MARK.join(values), -1)


def texts_of_array(spark: SparkSession, array: JavaObject) -> list[str]:
    """A Java array of texts (none of them empty), in two calls."""
    found = texts(static_method(spark, "scala.collection.immutable.ArraySeq", "unsafeWrapArray")(array))
    return found if found != [""] else []


def identity(spark: SparkSession) -> JavaObject:
    """The function that gives what it is given."""
    return _identity(spark._jvm)


def method(spark: SparkSession, *names: str) -> JavaObject:
    """The function that calls a method without arguments (``"scala.Tuple2._1"``), on what that gives the next one, and so on.

    It gives null where one of them raises.
    """
    return _function(spark._jvm, names)


@lru_cache(maxsize=2)
def _pattern(jvm: Any) -> JavaObject:
    return member(jvm, "java.util.regex.Pattern", "compile")(_MARK)


@lru_cache(maxsize=2)
def _identity(jvm: Any) -> JavaObject:
    # The witness that every type is a subtype of itself: a function of the standard library.
    return module(jvm, "scala.$less$colon$less").refl()


@lru_cache(maxsize=16)
def _function(jvm: Any, names: tuple[str, ...]) -> JavaObject:
    handles = named(jvm, f"{_INVOKE}MethodHandles")
    handle, *others = (_handle(jvm, name) for name in names)
    for other in others:
        taken = other.type().changeParameterType(0, handle.type().returnType())
        handle = handles.filterReturnValue(handle, other.asType(taken))
    return member(jvm, f"{_INVOKE}MethodHandleProxies", "asInterfaceInstance")(_class(jvm, "scala.Function1"), _safe(jvm, handle))


def _handle(jvm: Any, name: str) -> JavaObject:
    owner, _, method = name.rpartition(".")
    found = _class(jvm, owner).getMethod(method, _classes(jvm))
    return member(jvm, f"{_INVOKE}MethodHandles", "publicLookup")().unreflect(found)


def _safe(jvm: Any, handle: JavaObject) -> JavaObject:
    handles, problem = named(jvm, f"{_INVOKE}MethodHandles"), _class(jvm, "java.lang.Throwable")
    nothing = handles.dropArguments(handles.constant(handle.type().returnType(), None), 0, _classes(jvm, problem))
    return handles.catchException(handle, problem, nothing)


def _class(jvm: Any, name: str) -> JavaObject:
    return member(jvm, "java.lang.Class", "forName")(name)


def _classes(jvm: Any, *classes: JavaObject) -> JavaObject:
    array = member(jvm, "java.lang.reflect.Array", "newInstance")(_class(jvm, "java.lang.Class"), len(classes))
    for number, one in enumerate(classes):
        array[number] = one
    return array
