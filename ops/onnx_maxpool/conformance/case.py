"""One case: a one-node model, its inputs, one question, and the answers that are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
import onnx
from onnx import helper

from onnx_maxpool.conformance.oracle.answers import ANSWERS, REFUSED, Choices, answers_of
from onnx_maxpool.conformance.oracle.maximum import Cells, evaluate
from onnx_maxpool.conformance.oracle.windows import RefusedError
from onnx_maxpool.difference import first_difference
from onnx_maxpool.graph.building import Declared, as_array, one_node
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.registry import OperatorVersion
from onnx_maxpool.types import Array, Attributes, element_type

Level = Literal["required", "implementation-defined"]
"""`required`: the published texts, or every known implementation alike, settle the answer.

`implementation-defined`: they leave it open, the rule is ours, and the case asks which named answer a backend gives."""

Outputs = tuple[Array, ...]

OLDEST_OPSET_IN_USE = 11
"""The opset of models with an operator of ai.onnx that is older: today's tools convert and check no opset 1."""


class CannotAskError(Exception):
    """A question that another operator has no words for; the message says why."""


@dataclass(frozen=True, eq=False)
class Case:
    """One question to a backend."""

    name: str
    """Unique; starts with the operator and its version: `max_roi_pool_22_half`."""
    question: str
    """What is asked, in one sentence."""
    version: OperatorVersion
    rules: tuple[str, ...]
    """The rules that settle the answer, the one that the case is about first."""
    level: Level
    attributes: Attributes
    inputs: Mapping[str, Array]
    outputs: tuple[str, ...]
    """The names of the node's outputs."""
    asks: tuple[str, ...] = ()
    """The questions of `answers.ANSWERS` on which the answer turns."""
    refuses: bool = False
    """Whether the rule's answer is an error."""
    control: Case | None = None
    """Where an error is among the known answers: a valid case, alike but for that, which a backend must be able to run.

    Otherwise a backend that rejects everything would give the answer.
    """
    restate: Callable[[Case], Case] | None = None
    """Gives the same question in another operator's words, for backends that do not have this operator.

    Raises CannotAskError where that operator has no words for it. None where there is no such operator.
    """
    sizes_open: bool = False
    """Whether the model declares only the rank of its outputs. A refusal and its control do: no size fits both."""

    @property
    def form(self) -> str:
        """The operator and version in whose words the question is put."""
        return self.version.title

    @property
    def restated(self) -> bool:
        """Whether it is put in another operator's words than its own."""
        return self.form != self.version.title

    @property
    def operator(self) -> str:
        """The operator's name."""
        return self.version.name

    @property
    def required(self) -> bool:
        """Whether another answer than the rule's is a failure."""
        return self.level == "required"

    @property
    def folder(self) -> str:
        """The name of its folder in the corpus. A runner can leave out what is implementation-defined by the ending."""
        return f"test_{self.name}" + ("" if self.required else "_ours")

    @property
    def cells(self) -> int:
        """How many cells the inputs have."""
        return sum(array.size for array in self.inputs.values())

    def model(self) -> onnx.ModelProto:
        """The model: one node, every dimension known, but for the outputs' of a refusal and its control.

        These declare the outputs of the control, and their ranks alone. Without a shape the model would be wrong for
        another reason: a backend that wants one would refuse every case without knowing why.
        """
        outputs = self.control.expected if self.refuses and self.control is not None else self.expected
        declared = (Declared(element_type(y), [None] * y.ndim if self.sizes_open else y.shape) for y in outputs)
        return self._model(dict(zip(self.outputs, declared, strict=True)))

    def _model(self, outputs: Mapping[str, Declared]) -> onnx.ModelProto:
        domain, since = self.version.domain, self.version.since_version
        attributes = dict(self.attributes)
        node = helper.make_node(self.operator, list(self.inputs), list(self.outputs), domain=domain, **attributes)
        values = {**{name: as_array(x) for name, x in self.inputs.items()}, **outputs}
        opsets = {domain: since if domain else max(since, OLDEST_OPSET_IN_USE)}
        return one_node(node, values, opsets, name=self.name)

    @cached_property
    def expected(self) -> Outputs:
        """The rule's outputs, from the reference. Raises OperatorError where the rule rejects."""
        indexed = len(self.outputs) > 1
        results = operator(self.operator).compute(
            self.version, *self.inputs.values(), with_index=indexed, **dict(self.attributes)
        )
        return tuple(np.asarray(result) for result in results)

    def brute_force(self, choices: Choices, only: Cells | None = None) -> Outputs | None:
        """The outputs that these answers lead to, without the reference; None where they reject.

        Where `only` some cells are wanted, the others are 0.
        """
        try:
            inputs = list(self.inputs.values())
            return evaluate(self.operator, inputs, self.attributes, choices, outputs=len(self.outputs), only=only)
        except RefusedError:
            return None

    @cached_property
    def rule_answers(self) -> tuple[str, ...]:
        """The names of the rule's own answers to what the case asks."""
        return tuple(answers_of(question, self.operator)[0] for question in self.asks)

    @cached_property
    def other_answers(self) -> Mapping[str, Outputs | None]:
        """The other named answers that show in this case, by name; None for an error."""
        rule = None if self.refuses else self.expected
        outputs = {
            answer: self.brute_force({question: answer})
            for question in self.asks
            for answer in answers_of(question, self.operator)[1:]
        }
        return {answer: given for answer, given in outputs.items() if not same(rule, given)}

    @cached_property
    def single_faults(self) -> Mapping[str, Outputs | None]:
        """What a backend answers that is right but for one answer, where that shows, by that answer's name.

        Empty where the rule rejects: brute force takes only what is valid.
        """
        if self.refuses:
            return {}
        others = ((question, answer) for question in ANSWERS for answer in answers_of(question, self.operator)[1:])
        outputs = {answer: self.brute_force({question: answer}) for question, answer in others if answer != REFUSED}
        return {answer: given for answer, given in outputs.items() if not same(self.expected, given)}


@lru_cache(maxsize=1024)  # so that refusals that share a control go on to do so
def as_control(case: Case) -> Case:
    """A valid case as the control of refusals: it declares of its outputs what their models do."""
    return replace(case, sizes_open=True)


def same(expected: Outputs | None, obtained: Outputs | None) -> bool:
    """Whether two answers are equal, in number, types, shapes and every cell (G3, G4, G6); None is an error."""
    if expected is None or obtained is None:
        return expected is obtained
    return len(expected) == len(obtained) and all(
        first_difference(a, b) is None for a, b in zip(expected, obtained, strict=True)
    )
