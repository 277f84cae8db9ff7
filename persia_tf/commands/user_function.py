"""Finds and calls a function of a user's program, which a command line names."""

from __future__ import annotations

import argparse
import difflib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

# What a program's module is called that is read from a file: no other module has this
# name, so none is hidden by it.
_MODULE_OF_FILE = "__persia_program__"
_FILE_ENDING = ".py"


class NoFunctionError(Exception):
    """The program has no such function that can be called without arguments."""


class FunctionName(NamedTuple):
    """Names a function of a program.

    Attributes:
        program: The path of a file, which ends in ".py", or a module's full name.
        function: The function's name in it.
    """

    program: str
    function: str

    def __str__(self) -> str:
        return f"{self.program}:{self.function}"


def function_name(text: str) -> FunctionName:
    """Parses an argument of the form "FILE.py:FUNCTION" or "MODULE:FUNCTION"."""
    program, _, function = text.rpartition(":")
    is_file = program.endswith(_FILE_ENDING)
    is_module = all(part.isidentifier() for part in program.split("."))
    if not (is_file or is_module) or not function.isidentifier():
        raise argparse.ArgumentTypeError(
            "must be FILE.py:FUNCTION or MODULE:FUNCTION, such as train.py:make, got "
            f"{text!r}"
        )
    return FunctionName(program, function)


def call(name: FunctionName) -> Any:
    """Imports a program and calls one of its functions, without arguments.

    As with `python FILE.py`, the program's folder is the first on `sys.path`, and for a
    module the current one, as with `python -m MODULE`. Unlike there, the program's
    `__name__` is not `"__main__"`. It finds none of this command's arguments in
    `sys.argv`.

    Args:
        name: The function's name.

    Returns:
        What the function returns.

    Raises:
        NoFunctionError: if there is no such program or function, or it needs arguments.
        Exception: whatever the program raises.
    """
    sys.argv = [name.program]
    return _function_of(_imported(name.program), name)()


def _imported(program: str) -> ModuleType:
    if program.endswith(_FILE_ENDING):
        return _imported_file(program)
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(program)
    except ModuleNotFoundError as error:
        # A module that this module imports may be missing, too.
        if not f"{program}.".startswith(f"{error.name}."):
            raise
        raise NoFunctionError(
            f"there is no module {program!r}: give the path of a file, such as "
            "train.py:make, or run the command where `python -m` finds the module"
        ) from error


def _imported_file(path: str) -> ModuleType:
    if not os.path.isfile(path):
        raise NoFunctionError(f"there is no file {path!r}")
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    spec = importlib.util.spec_from_file_location(_MODULE_OF_FILE, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE_OF_FILE] = module
    spec.loader.exec_module(module)
    return module


def _function_of(module: ModuleType, name: FunctionName) -> Callable[[], Any]:
    function = getattr(module, name.function, None)
    if not callable(function):
        near = difflib.get_close_matches(name.function, _functions(module), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise NoFunctionError(
            f"{name.program!r} has no function {name.function!r}{hint}"
        )
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise NoFunctionError(
            f"{name} must be a function that can be called without arguments, and it "
            f"takes {inspect.signature(function)}: give its parameters defaults, or "
            "name a function that calls it"
        ) from error
    return function


def _functions(module: ModuleType) -> list[str]:
    return [key for key, value in vars(module).items() if callable(value)]
