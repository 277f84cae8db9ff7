"""The API reference has every public name, with a description."""

import importlib
import inspect

import pytest
import reference_pages

import persia_tf as ptf

PUBLIC = reference_pages.public_names()
MODULES = [module for module in PUBLIC if module != "persia_tf"]
NAMES = [name for names in PUBLIC.values() for name in names]


def found(name):
    module, _, own_name = name.rpartition(".")
    return getattr(importlib.import_module(module), own_name)


def undocumented_members(cls):
    """Members that the class itself defines; Keras's own methods need no docstring."""
    inherited = {
        name
        for base in cls.__mro__
        if base.__module__.partition(".")[0] != "persia_tf"
        for name in vars(base)
    } | {"get_config", "from_config"}
    return [
        name
        for name, member in vars(cls).items()
        if (inspect.isroutine(member) or isinstance(member, property))
        and not (name.startswith("_") or name in inherited)
        and not inspect.getdoc(getattr(cls, name))
    ]


def test_the_reference_has_what_the_package_has():
    listed = {f"persia_tf.{name}" for name in dir(ptf)} - {"persia_tf.__version__"}
    on_pages = {*PUBLIC["persia_tf"], *MODULES} - set(reference_pages.RETURNED)
    assert on_pages == listed


@pytest.mark.parametrize("module", MODULES)
def test_a_page_has_what_its_module_makes_public(module):
    names = {f"{module}.{name}" for name in importlib.import_module(module).__all__}
    assert set(PUBLIC[module]) == names


@pytest.mark.parametrize("module", MODULES)
def test_all_classes_that_a_module_defines_are_public(module):
    imported = importlib.import_module(module)
    classes = {
        name
        for name, value in vars(imported).items()
        if inspect.isclass(value) and value.__module__ == module and name[0] != "_"
    }
    assert classes <= set(imported.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_a_docstring(name):
    value = found(name)
    assert value.__doc__
    if inspect.isclass(value):
        assert undocumented_members(value) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_a_name_leads_to_its_source(name):
    definition = reference_pages.definition(name)
    module = next(m for m, names in PUBLIC.items() if name in names)
    assert f"::: {definition}\n" in reference_pages.pages()[f"{module}.md"]
