"""Files of checkpoints: on this machine, and at URLs such as s3://bucket/folder.

URLs are fsspec's (the extra `remote`); this package imports it when it is needed.
"""

from persia_tf.files.paths import (
    is_url,
    list_folder,
    read_file,
    remove_file,
    size_of,
    write_file,
)
from persia_tf.files.registration import end_within, reach_urls

__all__ = [
    "end_within",
    "is_url",
    "list_folder",
    "reach_urls",
    "read_file",
    "remove_file",
    "size_of",
    "write_file",
]
