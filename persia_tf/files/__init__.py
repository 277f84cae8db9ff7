"""Access to checkpoint files, on this machine and at URLs like s3://bucket/folder.

URLs are accessed with fsspec, which the pip extra `remote` installs. fsspec is imported
on first use.
"""

from persia_tf.files.paths import (
    is_url,
    list_folder,
    make_folder,
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
    "make_folder",
    "reach_urls",
    "read_file",
    "remove_file",
    "size_of",
    "write_file",
]
