"""docs/commands.md is generated from the commands' own declarations."""

import commands_page


def test_the_page_is_up_to_date():
    # If this fails: python tools/commands_page.py
    assert commands_page.PAGE.read_text() == commands_page.page()
