"""A C program on TensorFlow's C API that runs a signature of a SavedModel.

It stands for a server that is not in Python: it links the libraries of TensorFlow's
wheel and knows nothing of this library, except for the ops that it is told to load.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

_SOURCE = Path(__file__).with_name("c_program.c")
_LIBRARY = "libtensorflow_cc.so.2"
_SECONDS = 120


def build(folder: Path) -> Path:
    """Compiles the program; returns its path."""
    source = _SOURCE.read_text()
    # Replaces TensorFlow's library, whose symbols take a linker a minute to read.
    stub = folder / _LIBRARY
    functions = sorted(set(re.findall(r"\bTF_\w+(?=\()", source)))
    _compile(
        *("-shared", f"-Wl,-soname,{_LIBRARY}", "-x", "c", "-", "-o", str(stub)),
        text="".join(f"void {name}(void) {{}}\n" for name in functions),
    )
    program = folder / "c_program"
    root = tf.sysconfig.get_lib()
    _compile(
        *(str(_SOURCE), "-o", str(program), "-I", tf.sysconfig.get_include()),
        *(str(stub), f"-Wl,-rpath,{root}"),
    )
    stub.unlink()
    return program


def _compile(*arguments: str, text: str = "") -> None:
    subprocess.run(
        ["cc", *arguments], input=text, text=True, check=True, timeout=_SECONDS
    )


def run(
    program: Path,
    model: str,
    inputs: Mapping[str, np.ndarray],
    output: str,
    library: str = "",
) -> np.ndarray:
    """Runs `serving_default`.

    Args:
        program: The path that `build` returned.
        model: The SavedModel's folder.
        inputs: int64, of rank 1, by name.
        output: The name of the one that is asked for, which is float32.
        library: The library of ops that the graph needs; "": none.

    Returns:
        Its numbers, flat.
    """
    signature = _signature(model)
    arguments = [model, library, signature.outputs[output].name]
    for name, values in inputs.items():
        numbers = ",".join(map(str, values))
        arguments.append(f"{signature.inputs[name].name}={numbers}")
    ended = subprocess.run(
        [str(program), *arguments], stdout=subprocess.PIPE, timeout=_SECONDS, text=True
    )
    if ended.returncode:
        raise RuntimeError(f"{program} ended with {ended.returncode}: see its log")
    return np.array(ended.stdout.split(), np.float32)


def _signature(model: str) -> saved_model_pb2.SavedModel:
    graph = saved_model_pb2.SavedModel.FromString(
        Path(model, "saved_model.pb").read_bytes()
    )
    return graph.meta_graphs[0].signature_def["serving_default"]
