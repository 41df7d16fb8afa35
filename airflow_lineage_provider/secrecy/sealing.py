"""Secret parameters and session variables: out of the recorded plan, and back into it for a derivation.

A literal of the plan that holds a secret's value is stored with ``⟪secret:NAME:I⟫`` in the value's place (I numbers the values of a list).
What the record of a plan is otherwise made of, names of columns and paths, cannot be taken apart: a secret there is refused before the run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from airflow_lineage_provider.errors import ParameterError, SecretMismatch, SecretRequired
from airflow_lineage_provider.secrecy.digests import digest, same_key
from airflow_lineage_provider.secrecy.parameters import SECRET, Secret, is_secret, texts_of
from airflow_lineage_provider.secrecy.texts import SHORTEST, replaced, shown_text, stands_in

_MARK = re.compile(r"⟪secret:([^⟫]*):(\d+)⟫")
_NUMBERS = re.compile(r"tinyint|smallint|int|bigint|float|double|decimal.*")


@dataclass(frozen=True)
class Secrets:
    """Secret parameters with their values; ``withheld`` are texts that messages leave out besides; ``variables`` names those that must be
    session variables, whose values are known when the plan is.
    """

    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    withheld: tuple[str, ...] = field(default=(), repr=False)
    variables: tuple[str, ...] = ()

    @staticmethod
    def of(params: Mapping[str, Any], names: Any = ()) -> tuple[dict[str, Any], Secrets]:
        """The parameters as the pipeline gets them, and which of them are secret: those given as `Secret`, and those of these names.

        :raises ParameterError: a secret is too short to be told from the rest of a plan, or of a type that cannot be sealed.
        """
        plain = {name: value.value if isinstance(value, Secret) else value for name, value in params.items()}
        secret = {name: plain[name] for name, value in params.items() if isinstance(value, Secret) or name in names}
        _check_sealable(secret)
        texts = tuple(text for value in plain.values() for text in texts_of(value))
        return plain, Secrets(secret, texts, tuple(sorted(set(names) - set(params))))

    @property
    def names(self) -> tuple[str, ...]:
        """What is secret: parameters, and what must be session variables."""
        return (*self.values, *self.variables)

    def with_variables(self, found: Mapping[str, Any]) -> Secrets:
        """With the session variables of these names (any of `names`) that the plan reads.

        :raises ParameterError: a name is neither a parameter nor one of them, or both, with two values; or a value cannot be sealed.
        """
        missing = [name for name in self.variables if name not in found]
        if missing:
            raise ParameterError(
                f"secret_params names {', '.join(missing)}, which is neither a parameter nor a session variable that the pipeline reads; "
                "nothing was run"
            )
        both = [name for name, value in self.values.items() if name in found and _leaves(found[name]) != _leaves(value)]
        if both:
            raise ParameterError(
                f"{both[0]} is a secret parameter and a session variable with another value: name the variable session.{both[0]} besides"
            )
        variables = {name: found[name] for name in self.variables}
        _check_sealable(variables)
        return replace(self, values={**self.values, **variables}, variables=())

    def sealed(self, plan: str) -> str:
        """A plan's JSON text with the secrets out of its literals and of the options of its sources.

        :raises ParameterError: a secret stands where it cannot be taken out, in the name of a column, say.
        """
        if not self.values:
            return plan
        if "⟪secret:" in plan:
            raise ParameterError("the pipeline's plan has the text ⟪secret: in it, by which secret parameters are marked")
        sealed = json.dumps(_walk(json.loads(plan), self.sealed_literal), separators=(",", ":"), ensure_ascii=False)
        self.check_absent(json.loads(sealed), "plan")
        return sealed

    def check_absent(self, document: Any, what: str) -> None:
        """:raises ParameterError: a part of the record that cannot be sealed has a secret."""
        texts = [*_strings(document), *_limits(document)] if self.values else []
        for name, value in self.values.items():
            if any(stands_in(each, _MARK.sub(" ", text)) for each in _leaves(value) for text in texts):
                raise ParameterError(
                    f"the value of secret parameter {name!r} stands in the {what} of the run outside of a literal: in the name of a column "
                    "(give it one of its own, AS …), of a table, function or file, or as a LIMIT. Nothing was run"
                )

    def sealed_literal(self, text: str, type_text: str) -> str:
        """A literal's value as it is stored."""
        marks = self._marks()
        if _NUMBERS.fullmatch(type_text) is not None:
            return next((mark for leaf, mark in marks if _same_number(text, leaf)), text)
        # In one pass: a value may be a part of what stands in another's place.
        by_leaf = dict(reversed(marks))
        return re.sub("|".join(re.escape(leaf) for leaf, _ in marks), lambda one: by_leaf[one[0]], text) if marks else text

    def _marks(self) -> list[tuple[str, str]]:
        """Values and what stands in their places, the longest first: one may be a part of another."""
        found = [(leaf, f"⟪secret:{name}:{at}⟫") for name, value in self.values.items() for at, leaf in enumerate(_leaves(value))]
        return sorted(found, key=lambda one: -len(one[0]))

    def bound(self, plan: str) -> str:
        """A sealed plan's text with the values back in their places."""
        if not self.values:
            return plan
        known = {mark: leaf for leaf, mark in self._marks()}
        return json.dumps(_walk(json.loads(plan), lambda text, _: _MARK.sub(lambda one: known.get(one[0], one[0]), text)))

    def hidden(self, text: str) -> str:
        """A text for people without the values."""
        for leaf, mark in self._marks():
            text = replaced(text, leaf, mark)
        return text

    def message(self, text: str) -> str:
        """An error's message without the values of any parameter that is withheld."""
        return shown_text(text, (*self.withheld, *(leaf for value in self.values.values() for leaf in _leaves(value))))


def needed_secrets(plan: str) -> tuple[str, ...]:
    """The secret parameters that a stored plan cannot be traced without."""
    found: dict[str, None] = {}

    def noted(text: str, _type: str) -> str:
        found.update(dict.fromkeys(name for name, _ in _MARK.findall(text)))
        return text

    if "⟪secret:" in plan:
        _walk(json.loads(plan), noted)
    return tuple(found)


def given_again(run_id: str, plan: str, recorded: Mapping[str, Any], given: Mapping[str, Any]) -> Secrets:
    """The secrets of a run, given for a derivation.

    :raises SecretRequired: one that the plan has is not given. :raises SecretMismatch: another value is given, or it cannot be compared.
    :raises ParameterError: a parameter is given that the run has not.
    """
    plain = {name: value.value if isinstance(value, Secret) else value for name, value in given.items()}
    missing = [name for name in needed_secrets(plan) if name not in plain]
    if missing:
        again = ", ".join(f"{one!r}: …" for one in missing)
        raise SecretRequired(f"run {run_id} has secret parameters, which are not stored; give them again: params={{{again}}}")
    secrets = {name: value for name, value in plain.items() if is_secret(recorded.get(name))}
    for name, value in secrets.items():
        _compare(run_id, name, recorded[name].removeprefix(SECRET), value)
    return Secrets(secrets, tuple(text for value in plain.values() for text in texts_of(value)))


def _compare(run_id: str, name: str, recorded: str, value: Any) -> None:
    if not same_key(recorded):
        raise SecretMismatch(
            f"whether secret parameter {name!r} is the one of run {run_id} cannot be told: the run's digests are of another key; "
            "set AIRFLOW_LINEAGE_DIGEST_KEY, or AIRFLOW_LINEAGE_HOME, as they were in the run"
        )
    if digest(value) != recorded:
        text = f"secret parameter {name!r} is not the one of run {run_id}: its digest differs (1234 and '1234' are two values)"
        raise SecretMismatch(text)


def _walk(node: Any, change: Callable[[str, str], str]) -> Any:
    """The document with every literal's text, and every text of a source's options, changed."""
    if isinstance(node, list):
        return [_walk(each, change) for each in node]
    if not isinstance(node, dict):
        return node
    if node.get("is") == "Literal" and isinstance(node.get("value"), str):
        return node | {"value": change(node["value"], node["type"])}
    made = {name: _walk(each, change) for name, each in node.items()}
    if node.get("is") == "Relation":
        made["options"] = [[name, change(value, "string")] for name, value in node["options"]]
    return made


def _strings(node: Any) -> Iterator[str]:
    """The texts of a document; its numbers are sizes and times."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, Mapping):
        for name, each in node.items():
            yield from (str(name), *_strings(each))
    elif isinstance(node, list | tuple):
        for each in node:
            yield from _strings(each)


def _limits(node: Any) -> Iterator[str]:
    """The numbers of rows in a plan that are no literals."""
    if isinstance(node, Mapping):
        if node.get("is") == "Limit":
            yield from (str(node[name]) for name in ("count", "offset"))
        node = list(node.values())
    if isinstance(node, list | tuple):
        for each in node:
            yield from _limits(each)


def _check_sealable(secrets: Mapping[str, Any]) -> None:
    for name, value in secrets.items():
        if re.search("[⟪⟫]", name):
            raise ParameterError(f"secret parameter {name!r} has ⟪ or ⟫ in its name, by which secrets are marked in a plan")
        if any(len(text) < SHORTEST for text in _leaves(value)):
            raise ParameterError(
                f"secret parameter {name!r} has less than {SHORTEST} characters: it could not be told apart from the rest of a plan"
            )


def _leaves(value: Any) -> tuple[str, ...]:
    """The texts that a secret's value, or those in a list of them, have in a plan."""
    if isinstance(value, list | tuple):
        return tuple(text for each in value for text in _leaves(each))
    if isinstance(value, bytes | bytearray):
        return (bytes(value).hex().upper(),)
    if value is None or isinstance(value, bool | datetime | Mapping | set | frozenset):  # a moment has other texts in a plan than here
        raise ParameterError(f"a secret parameter is a text, a number, a date, bytes or a list of them, not {type(value).__name__}")
    return (str(value),)


def _same_number(one: str, other: str) -> bool:
    try:
        return Decimal(one) == Decimal(other)
    except InvalidOperation:
        return one == other
