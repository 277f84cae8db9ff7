"""Signatures that cannot be served."""

import pytest
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import meta_graph_pb2

from persia_tf import errors
from persia_tf.model_server.served_signature import Signature


@pytest.mark.parametrize("field", ["inputs", "outputs"])
@pytest.mark.parametrize("dtype", [types_pb2.DT_RESOURCE, types_pb2.DT_VARIANT])
def test_a_signature_of_handles_is_refused(field, dtype):
    definition = meta_graph_pb2.SignatureDef()
    info = getattr(definition, field)["x"]
    info.name, info.dtype = "x:0", dtype
    with pytest.raises(errors.InvalidArgumentError, match="'x' must have values"):
        Signature("serving_default", None, definition)
