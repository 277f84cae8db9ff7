"""The classes of errors."""

import pickle

import pytest

from persia_tf import errors


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (3, ValueError),
        (4, TimeoutError),
        (5, LookupError),
        (6, errors.AlreadyExistsError),
        (7, PermissionError),
        (9, errors.FailedPreconditionError),
        (10, errors.SlotsMovedError),
        (14, ConnectionError),
        (15, errors.DataLossError),
        (16, errors.UnauthenticatedError),
    ],
)
def test_a_status_code_has_a_class_that_is_also_the_built_in_one(code, kind):
    error = errors.from_code(code, "why")
    assert isinstance(error, kind)
    assert isinstance(error, errors.PersiaError)
    assert (str(error), error.code, type(error).code) == ("why", code, code)


@pytest.mark.parametrize("code", [1, 8, 12, 13, 99])
def test_any_other_code_is_kept_by_the_base_class(code):
    error = errors.from_code(code, "why")
    assert type(error) is errors.PersiaError
    assert error.code == code


def test_errors_survive_pickling():
    for error in (errors.from_code(4, "late"), errors.from_code(8, "full")):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert (str(copy), copy.code) == (str(error), error.code)
