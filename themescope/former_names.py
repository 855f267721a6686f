"""Imports of ``core``, ``db``, ``jobs`` and ``webapp``, as the packages were called until version 0.2.

Plug-ins for version 0.2 import ``core.registry`` and name ``core.config:Config`` in their cards. For one release, such
names lead to the modules of ``themescope`` with a :class:`DeprecationWarning`. A package of the same name that belongs
to somebody else is never replaced.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType

_NAMES = ("core", "db", "jobs", "webapp")


def accept() -> None:
    """Let imports of the former names find the modules of ``themescope``, in this process from now on."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # First, so that the folders of our own checkout are not imported a second time where it is on sys.path.
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds ``core.…`` as ``themescope.core.…``, unless another package has that name."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top, dot, _ = name.partition(".")
        if top not in _NAMES:
            return None
        current = f"themescope.{name}"
        if dot:
            if sys.modules.get(top) is not sys.modules.get(f"themescope.{top}"):
                return None
        elif not self._is_ours(top):
            return None
        try:
            module = importlib.import_module(current)
        except ModuleNotFoundError as error:
            if error.name == current:
                return None
            raise
        warnings.warn(
            f"The module {name} is now called {current}; the former name will stop working in the next release.",
            DeprecationWarning,
            stacklevel=2,
        )
        return spec_from_loader(name, _Existing(module), is_package=hasattr(module, "__path__"))

    def _is_ours(self, top: str) -> bool:
        """Return whether nobody else has a package ``top``: there is none, or it is the folder of our checkout."""
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            if found := finder.find_spec(top, None):
                ours = importlib.import_module(f"themescope.{top}").__file__
                return (
                    found.origin is not None
                    and ours is not None
                    and Path(found.origin).resolve() == Path(ours).resolve()
                )
        return True


class _Existing(Loader):
    """Answers an import with a module that is imported already."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import replaced it
