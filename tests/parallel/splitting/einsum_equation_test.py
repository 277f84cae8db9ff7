"""Which axes of an EinsumDense layer's kernel can be divided."""

import pytest

from persia_tf.parallel.splitting.einsum_equation import parse


@pytest.mark.parametrize(
    ("equation", "columns", "rows", "experts"),
    [
        ("ab,bc->ac", "c", "b", ""),
        ("abc,cde->abde", "de", "c", ""),
        ("abcd,cde->abe", "e", "cd", ""),
        ("bei,eio->beo", "o", "i", "e"),
        ("bi,eio->beo", "eo", "i", ""),
        ("...x,xy->...y", "y", "x", ""),
        ("ab...,bc->ac...", "c", "b", ""),
    ],
)
def test_letters_have_roles(equation, columns, rows, experts):
    parsed = parse(equation)
    assert parsed.letters("columns") == columns
    assert parsed.letters("rows") == rows
    assert parsed.letters("experts") == experts


@pytest.mark.parametrize(
    "equation",
    [
        "ab,ac->bc",  # The first axis is summed.
        "ab,bc->ca",  # The first axis is another one in the output.
        "ab,abc->ac",  # The kernel has weights for each example.
        "aab,bc->ac",
        "...ab,bc->ac...",
        "ab,bc",
    ],
)
def test_the_first_axis_must_be_that_of_examples(equation):
    assert parse(equation) is None


def test_axes_are_counted_from_the_ellipsis():
    left, right = parse("...xy,yz->...xz"), parse("abc...,bd->adc...")
    assert (left.input_axis("y"), left.output_axis("z")) == (-1, -1)
    assert left.output_axis("x") == -2
    assert (right.input_axis("b"), right.output_axis("d")) == (1, 1)


def test_the_bias_has_axes_from_its_first_letter_on():
    equation = parse("abc,cde->abde")
    assert equation.bias_axis("d", "de") == 0
    assert equation.bias_axis("e", "de") == 1
    assert equation.bias_axis("e", "e") == 0
    assert equation.bias_axis("d", "b") is None
    assert equation.bias_axis("d", "bd") == 1
    assert equation.bias_axis("d", None) is None
