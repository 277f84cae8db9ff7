"""The types of `cc/capi/persia_cluster.h`, for ctypes."""

from __future__ import annotations

import ctypes


class ClusterHandle(ctypes.c_void_p):
    """A `persia_cluster*` of the C API: connections to the shards of a cluster."""


class TopologyHandle(ctypes.c_void_p):
    """A `persia_topology*` of the C API."""


class TopologyView(ctypes.Structure):
    """A `persia_topology_view` of the C API."""

    _fields_ = [
        ("cluster", ctypes.c_uint64),
        ("epoch", ctypes.c_uint64),
        ("members", ctypes.c_int),
    ]


class Member(ctypes.Structure):
    """A `persia_member` of the C API."""

    _fields_ = [
        ("id", ctypes.c_uint64),
        ("number", ctypes.c_uint32),
        ("has_left", ctypes.c_int),
        ("address", ctypes.c_char_p),
        ("standby", ctypes.c_char_p),
        ("answers", ctypes.c_int),
    ]


class Move(ctypes.Structure):
    """A `persia_move` of the C API; `from_member` is its `from`."""

    _fields_ = [
        ("action", ctypes.c_int),
        ("taker", ctypes.c_uint64),
        ("source", ctypes.c_uint64),
        ("slots", ctypes.POINTER(ctypes.c_uint8)),
        ("most_bytes_per_second", ctypes.c_uint64),
        ("state", ctypes.c_int),
        ("error", ctypes.c_int),
        ("from_member", ctypes.c_uint64),
        ("slots_to_move", ctypes.c_uint64),
        ("slots_moved", ctypes.c_uint64),
        ("rows", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("most_held_us", ctypes.c_uint64),
    ]


# The C functions that return a status, with the types of their arguments.
STATUS_FUNCTIONS = {
    "persia_cluster_fetch": (
        *(ClusterHandle, ctypes.c_int),
        ctypes.POINTER(TopologyHandle),
    ),
    "persia_cluster_look": (
        *(ClusterHandle, ctypes.c_char_p),
        ctypes.POINTER(TopologyHandle),
    ),
    "persia_cluster_join": (
        *(ClusterHandle, ctypes.c_char_p),
        ctypes.POINTER(ctypes.c_uint64),
    ),
    "persia_cluster_leave": (ClusterHandle, ctypes.c_uint64),
    "persia_cluster_move": (ClusterHandle, ctypes.POINTER(Move)),
    "persia_cluster_slot_loads": (
        *(ClusterHandle, ctypes.c_uint64),
        *(ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64)),
    ),
    "persia_cluster_promote": (ClusterHandle, ctypes.c_char_p, ctypes.c_int),
    "persia_topology_member": (
        *(TopologyHandle, ctypes.c_int),
        ctypes.POINTER(Member),
    ),
    "persia_topology_owners": (TopologyHandle, ctypes.POINTER(ctypes.c_uint16)),
}

# The others, with the types of their results and arguments.
VALUE_FUNCTIONS = {
    "persia_cluster_free": (None, (ClusterHandle,)),
    "persia_topology_free": (None, (TopologyHandle,)),
    "persia_topology_get": (None, (TopologyHandle, ctypes.POINTER(TopologyView))),
}
