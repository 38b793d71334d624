"""Modules that a library imports and an agent never uses: loaded when they are first used, not when they are imported.

`importlib.util.LazyLoader` is meant for this, but until Python 3.13 a second import counts as a use.
"""

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any


def load_lazily(name: str) -> None:
    """Put a stand-in for a module in place, which gives way to the module as soon as something of it is asked for.

    A module that is loaded already is left as it is.
    """
    if name in sys.modules:
        return
    stand_in = ModuleType(name)
    stand_in.__spec__ = importlib.util.find_spec(name)

    def of_the_module(attribute: str) -> Any:
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
        return getattr(importlib.import_module(name), attribute)

    stand_in.__getattr__ = of_the_module  # type: ignore[method-assign]  # PEP 562
    sys.modules[name] = stand_in
