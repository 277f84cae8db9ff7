"""The passages that prose_sample.py finds in a file."""

import prose_sample
import pytest

CPP = """// Two lines of a comment
// that belong together.

int a;  // This comment behind code is not one of them.
  // Indented: a comment of its own.
int b;
// Too short.
"""

PYTHON = '''"""The first paragraph of a docstring.

The second paragraph of it.
"""

# A comment that has
# two lines of text.
TEXT = "# This is not a comment at all."
'''

MARKDOWN = """# A heading that has some words

A paragraph of the page
on two lines.

```sh
this is code and is no paragraph
```
"""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.cc", CPP, [1, 5]),
        ("a.py", PYTHON, [1, 3, 6]),
        ("a.md", MARKDOWN, [1, 3]),
    ],
)
def test_passages_are_found_by_the_line_where_they_begin(
    tmp_path, name, text, expected
):
    path = tmp_path / name
    path.write_text(text)
    assert [line for line, _ in prose_sample.passages(path)] == expected


def test_a_passage_has_all_of_its_lines(tmp_path):
    path = tmp_path / "a.cc"
    path.write_text(CPP)
    passages = [passage for _, passage in prose_sample.passages(path)]
    assert passages[0] == " Two lines of a comment\n that belong together."
