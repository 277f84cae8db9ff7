"""Which libraries of a process belong to this package."""

import own_libraries

MAPS = """\
7f01-7f02 r-xp 00000000 08:01 11 /home/me/persia_tf/persia_tf/libpersia.so
7f02-7f03 r--p 00001000 08:01 11 /home/me/persia_tf/persia_tf/libpersia.so
7f03-7f04 r-xp 00000000 08:01 12 /home/me/persia_tf/persia_tf/ops/_persia_ops.so
7f04-7f05 r-xp 00000000 08:01 13 /home/me/persia_tf/.venv/tf/libtensorflow_cc.so.2
7f05-7f06 r-xp 00000000 08:01 14 /home/me/persia_tf/.venv/numpy/linalg/_umath.so
7f06-7f07 rw-p 00000000 00:00 0
7f07-7f08 rw-p 00000000 00:00 0 [heap]
"""


def test_what_lies_below_a_folder_named_like_the_package_is_not_its_own():
    root = "/home/me/persia_tf/persia_tf"
    assert own_libraries.paths(MAPS) == {
        "libpersia.so": f"{root}/libpersia.so",
        "_persia_ops.so": f"{root}/ops/_persia_ops.so",
    }


def test_a_folder_may_have_spaces():
    spaced = MAPS.replace("/home/me", "/home/me and you")
    found = own_libraries.paths(spaced)["libpersia.so"]
    assert found == "/home/me and you/persia_tf/persia_tf/libpersia.so"
