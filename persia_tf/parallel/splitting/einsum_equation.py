"""What the letters of an `EinsumDense` layer's equation are."""

from __future__ import annotations

import re
from typing import NamedTuple

_PATTERN = re.compile(
    r"(\.\.\.)?([a-zA-Z]+)(\.\.\.)?,([a-zA-Z]+)->(\.\.\.)?([a-zA-Z]+)(\.\.\.)?"
)


class Equation(NamedTuple):
    """An equation such as "abc,cd->abd".

    Attributes:
        inputs: The letters of the input.
        kernel: The letters of the kernel.
        outputs: The letters of the output.
        is_left_elided: Whether "..." stands before the letters of the input and output,
            so that axes are counted from the right.
    """

    inputs: str
    kernel: str
    outputs: str
    is_left_elided: bool

    def letters(self, role: str) -> str:
        """Returns the letters of the kernel that have a role.

        Args:
            role: "columns": they are in the output, not in the input. "rows": they are
                in the input and are summed. "experts": they are in both.
        """
        of_input, of_output = {
            "columns": (False, True),
            "rows": (True, False),
            "experts": (True, True),
        }[role]
        return "".join(
            letter
            for letter in self.kernel
            if (letter in self.inputs) == of_input
            and (letter in self.outputs) == of_output
        )

    def input_axis(self, letter: str) -> int:
        """Returns the axis of the input that a letter stands for."""
        return self._axis(self.inputs, letter)

    def output_axis(self, letter: str) -> int:
        """Returns the axis of the output that a letter stands for."""
        return self._axis(self.outputs, letter)

    def bias_axis(self, letter: str, bias_axes: str | None) -> int | None:
        """Returns the axis of the bias for a letter, or None if it has none.

        Args:
            letter: A letter of the output.
            bias_axes: The layer's `bias_axes`. Keras's bias has an axis for each letter
                of the output from the first of them on; those of others have size 1.
        """
        if not bias_axes or letter not in bias_axes:
            return None
        first = min(self.outputs.index(each) for each in bias_axes)
        return self.outputs.index(letter) - first

    def _axis(self, letters: str, letter: str) -> int:
        axis = letters.index(letter)
        return axis - len(letters) if self.is_left_elided else axis


def parse(equation: str) -> Equation | None:
    """Parses an equation, or returns None if it has no axis that examples are along.

    This is the first axis, that of the batch: the input and the output must both have
    it there, and the kernel must not have it.
    """
    match = _PATTERN.fullmatch(equation)
    if match is None:
        return None
    left, inputs, right, kernel, left_out, outputs, right_out = match.groups()
    if left != left_out or right != right_out or (left and right):
        return None
    if any(len(set(each)) < len(each) for each in (inputs, kernel, outputs)):
        return None
    # With "..." on the left, the axis of the batch is one of those that it stands for.
    if not left and (inputs[0] != outputs[0] or inputs[0] in kernel):
        return None
    return Equation(inputs, kernel, outputs, bool(left))
