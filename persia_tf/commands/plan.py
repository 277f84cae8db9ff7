"""`persia plan`: predicts what a run needs, from a sample of its batches.

Rows, memory, requests, bytes and balance, without shards, and if asked times: as
ptf.plan predicts them. FUNCTION takes no arguments, and returns the model as it will be
trained, compiled, and a sample of the batches that fit will get: (model, sample). The
program is imported, not run: its __name__ is not "__main__". Instead of FILE.py, a
module may be named, as in package.module:FUNCTION.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from persia_tf import errors
from persia_tf.commands import arguments, plan_times, user_function
from persia_tf.processes import memory, tensorflow_settings

if TYPE_CHECKING:
    from persia_tf.planning.plan import Plan

# The examples in the help of `persia plan`.
EXAMPLES = """
persia plan train.py:make --run-steps 100000 --shards 2,4,8
persia plan train.py:make --steps 500 --run-steps 100000 --epochs 3
persia plan train.py:make --run-steps 100000 --memory-limit 64GiB
persia plan train.py:make --run-steps 100000 --time --target-rate 1e6
persia plan project.train:make --json - --html plan.html
"""

# The exit status for arguments that are refused, as argparse's.
_REFUSED = 2

_STDOUT = "-"
_PACKAGE = Path(__file__).parents[1]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia plan`."""
    parser.add_argument(
        "function",
        type=user_function.function_name,
        metavar="FILE.py:FUNCTION",
        help="the function that returns the model and the sample",
    )
    for option, text in (
        (
            "--steps",
            "how many batches of the sample to read at most (default: all)",
        ),
        (
            "--run-steps",
            "how many steps the run has in one epoch, over all of its trainers "
            "(default: as many as were read of the sample)",
        ),
    ):
        parser.add_argument(option, type=arguments.at_least(1), metavar="N", help=text)
    parser.add_argument(
        "--epochs",
        type=arguments.at_least(1),
        default=1,
        metavar="N",
        help="how often the run passes over the same data (%(default)s)",
    )
    parser.add_argument(
        "--shards",
        type=_numbers,
        default="1,2,4,8",
        metavar="N,...",
        help="for which numbers of shards to plan (%(default)s)",
    )
    parser.add_argument(
        "--memory-limit",
        type=memory.size,
        metavar="SIZE",
        help="the memory for tables on each shard, such as 64GiB: tells which numbers "
        "of shards fit, and warns if none does (default: no limit)",
    )
    plan_times.add_arguments(parser)
    parser.add_argument(
        "--json",
        type=_file_or_stdout,
        metavar="FILE",
        help="write the plan to a file as JSON; with -, print it as JSON instead of "
        "text",
    )
    parser.add_argument(
        "--html",
        type=arguments.file_to_create,
        metavar="FILE",
        help="write the plan to a file as a page with plots",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the plan; returns 1 for an error in the program, 2 for a wrong argument.

    It raises PersiaError if layers use shards of which one does not answer.
    """
    tensorflow_settings.reduce_log()
    # Whatever the program prints must not get into the JSON.
    prints_json = args.json == _STDOUT
    aside = contextlib.redirect_stdout(sys.stderr)
    try:
        with aside if prints_json else contextlib.nullcontext():
            planned = _planned(args)
    except _RefusedError as refused:
        print(f"persia plan: {' '.join(str(refused).split())}", file=sys.stderr)
        return _REFUSED
    except _ProgramError as failed:
        error = failed.__cause__
        traceback.print_exception(type(error), error, error.__traceback__)
        return 1
    _show(planned, args)
    return 0


class _RefusedError(Exception):
    """An argument that is refused, with what is wrong about it."""


class _ProgramError(Exception):
    """An error inside the user's program, which is the cause of this one."""


def _planned(args: argparse.Namespace) -> Plan:
    try:
        made = user_function.call(args.function)
    except user_function.NoFunctionError as error:
        raise _RefusedError(error) from error
    except Exception as error:
        raise _ProgramError from error
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise _RefusedError(
            f"{args.function} must return a model and a sample, (model, sample). "
            f"Received: {_shown(made)}"
        )
    # Imported here, since it imports TensorFlow; and after the program, which may
    # choose TensorFlow's settings in the environment.
    from persia_tf.planning.planner import plan

    model, sample = made
    try:
        return plan(
            model,
            sample,
            steps=args.steps,
            run_steps=args.run_steps,
            epochs=args.epochs,
            shards=args.shards,
            memory_limit=args.memory_limit,
            **plan_times.options_of(args),
        )
    except errors.PersiaError:
        raise
    except Exception as error:
        if isinstance(error, (TypeError, ValueError)) and _is_raised_here(error):
            raise _RefusedError(error) from error
        raise _ProgramError from error


def _is_raised_here(error: BaseException) -> bool:
    """Returns whether this package raised an error, and not a user's generator."""
    *_, innermost = traceback.extract_tb(error.__traceback__)
    return _PACKAGE in Path(innermost.filename).parents


def _shown(made: Any) -> str:
    """Describes what a function returned, in few words however long it is."""
    kind = type(made).__name__
    return f"{kind} of {len(made)}" if isinstance(made, (tuple, list)) else kind


def _show(planned: Plan, args: argparse.Namespace) -> None:
    if args.json == _STDOUT:
        print(planned.to_json())
    else:
        print(planned)
        if args.json:
            args.json.write_text(f"{planned.to_json(indent=2)}\n")
    if args.html:
        planned.to_html(args.html)


def _numbers(text: str) -> list[int]:
    try:
        return [arguments.at_least(1)(each) for each in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"must be integers with commas between them, such as 2,4,8, got {text!r}"
        ) from error


def _file_or_stdout(text: str) -> Path | str:
    return text if text == _STDOUT else arguments.file_to_create(text)
