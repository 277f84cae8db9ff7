"""The compatibility table, made from reports of tests."""

import compatibility_table
import pytest

CASE = """
<testcase classname="tests" name="test_cell[{method}]" time="1">
  <properties>
    <property name="keras" value="{keras}" />
    <property name="strategy" value="none" />
    <property name="method" value="{method}" />
    <property name="version of tensorflow" value="{tensorflow}" />
    <property name="version of Python" value="3.11.7" />
    <property name="sha256 of libpersia.so" value="{digest}" />
  </properties>{ended}
</testcase>
"""


def cells(*cases):
    each = {"keras": "Keras 3", "tensorflow": "2.16.2", "digest": "abc", "ended": ""}
    report = "".join(CASE.format(**{**each, **case}) for case in cases)
    return compatibility_table.read_cells(
        f"<testsuites><testsuite>{report}</testsuite></testsuites>"
    )


def test_the_table_has_a_row_for_each_version_keras_and_strategy():
    said = cells(
        {"method": "fit"},
        {"method": "predict"},
        {"method": "fit", "keras": "tf_keras"},
        {"method": "predict", "keras": "tf_keras"},
        {"method": "fit", "tensorflow": "2.21.0"},
        {"method": "predict", "tensorflow": "2.21.0"},
    )
    compatibility_table.check(said)
    assert compatibility_table.markdown(said) == (
        "| TensorFlow | Keras | strategy | fit | predict |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| 2.16 | Keras 3 | none | yes | yes |\n"
        "| 2.16 | tf_keras | none | yes | yes |\n"
        "| 2.21 | Keras 3 | none | yes | yes |\n"
        "\nWith:\n\n"
        "| tensorflow | Python |\n"
        "| --- | --- |\n"
        "| 2.16.2 | 3.11.7 |\n"
        "| 2.21.0 | 3.11.7 |\n"
        "\nThe binaries of all cells:\n\n"
        "| file | SHA-256 |\n"
        "| --- | --- |\n"
        "| `libpersia.so` | `abc` |\n"
    )


def test_what_cannot_be_says_why():
    ended = '<skipped type="pytest.xfail" message="Keras cannot" />'
    said = cells({"method": "fit", "ended": ended}, {"method": "predict"})
    compatibility_table.check(said)
    text = compatibility_table.markdown(said)
    assert "| no (1) | yes |" in text
    assert "\n(1) Keras cannot\n" in text


@pytest.mark.parametrize(
    "ended",
    [
        '<failure message="1 != 2">trace</failure>',
        '<error message="1 != 2">trace</error>',
        '<skipped type="pytest.skip" message="1 != 2" />',
    ],
)
def test_a_cell_that_did_not_pass_is_refused(ended):
    with pytest.raises(ValueError, match="1 != 2"):
        compatibility_table.check(cells({"method": "fit", "ended": ended}))


def test_another_build_is_refused():
    said = cells({"method": "fit"}, {"method": "predict", "digest": "def"})
    with pytest.raises(ValueError, match="one build.*abc.*def"):
        compatibility_table.check(said)


def test_no_cells_at_all_are_refused():
    with pytest.raises(ValueError, match="no test"):
        compatibility_table.check(cells())
