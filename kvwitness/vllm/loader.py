"""A release's core modules, unmodified, in a namespace of their own.

Every module of a release is run with an import function of that release: what it imports, now or later inside a function, are the
release's own modules, the standard library, or stand-ins.
So releases live side by side, and an installed torch or vLLM is neither used nor touched.
Classes need their module in ``sys.modules``: there it stands under a name that no import can ask for.
"""

import builtins
import itertools
import re
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kvwitness.vllm.stand_ins import StandInModule, stand_in_module
from kvwitness.vllm.telling import RECORDS, fill_with_records

MANAGERS = "vllm.v1.core.single_type_kv_cache_manager"
POOL = "vllm.v1.core.block_pool"
SPECS = "vllm.v1.kv_cache_interface"
COORDINATOR = "vllm.v1.core.kv_cache_coordinator"
ENGINE = "vllm.v1.core.kv_cache_manager"

NEEDED: dict[str, tuple[str, ...]] = {
    MANAGERS: (
        "ChunkedLocalAttentionManager",
        "CrossAttentionManager",
        "FullAttentionManager",
        "MambaManager",
        "SinkFullAttentionManager",
        "SlidingWindowManager",
    ),
    POOL: ("BlockPool",),
    SPECS: (
        "ChunkedLocalAttentionSpec",
        "CrossAttentionSpec",
        "FullAttentionSpec",
        "MambaSpec",
        "SinkFullAttentionSpec",
        "SlidingWindowSpec",
    ),
}
"""The modules that the adapter drives, and the names it needs of them."""

REAL = re.compile(
    r"vllm\.(v1\.core\.(?!sched\b)\w+|v1\.kv_cache_\w+|v1\.hisparse\.block_pool|utils\.(math_utils|hashing))",
)
"""The modules that are loaded as they are; for all others there are stand-ins."""

_serial = itertools.count()


class ReleaseError(Exception):
    """A release that cannot be loaded or driven: one line that names it and what is missing."""


class Release:
    """The core modules of one release.

    Attributes:
        label: What reports call it, such as ``vllm 0.16.0``.
        version: Its version, or "" where it does not say.
        modules: The loaded modules by their own names, stand-ins included.
    """

    def __init__(
        self,
        label: str,
        version: str,
        root: Path,
        needed: Mapping[str, Sequence[str]] | None = None,
        *,
        real: re.Pattern[str] = REAL,
        stand_in: Callable[[str], types.ModuleType] = stand_in_module,
    ) -> None:
        """Load it from ``root``, the folder that holds the package ``vllm``.

        Args:
            label: What reports call it.
            version: Its version, or "".
            root: The folder that holds the package.
            needed: The modules that are driven, and the names that are needed of them; the managers' if left out.
            real: The modules that are loaded as they are.
            stand_in: What stands in for any other.

        Raises:
            ReleaseError: A name that is needed is missing or moved, or a module does not load.
        """
        self.label, self.version = label, version
        self.modules: dict[str, types.ModuleType] = {}
        self._root, self._reals, self._stand_in = root, real, stand_in
        self._private = f"<kvwitness release {next(_serial)}>"
        self._builtins = {**vars(builtins), "__import__": self._import}
        try:
            for name, attributes in (NEEDED if needed is None else needed).items():
                self._demand(name, attributes)
        except BaseException:
            self.forget()
            raise

    def __getitem__(self, name: str) -> Any:
        """The module of that name."""
        return self.modules[name]

    def load(self, name: str, attribute: str) -> Any:
        """A name from one of the release's modules that few need: it is loaded when first asked for.

        Raises:
            ReleaseError: The module or the name is missing or moved, or the module does not load.
        """
        self._demand(name, (attribute,))
        return getattr(self.modules[name], attribute)

    def forget(self) -> None:
        """Take the modules' private names away; the release cannot be used any more."""
        for name in [name for name in sys.modules if name.startswith(self._private)]:
            del sys.modules[name]

    def _demand(self, name: str, attributes: Sequence[str]) -> None:
        if not self._path(name).is_file():
            raise ReleaseError(f"{self.label} has no module {name}: it is missing or moved; give a release up to the newest known one")
        try:
            module = self._module(name)
        except ReleaseError:
            raise
        except Exception as error:
            told = f"{type(error).__name__}: {' '.join(str(error).replace(f'{self._private}.', '').split())}"
            raise ReleaseError(f"{self.label} cannot load {name} ({told}): a name is missing or moved") from error
        for attribute in attributes:
            if not hasattr(module, attribute):
                raise ReleaseError(f"{self.label} has no {attribute} in {name}: it is missing or moved")

    def _path(self, name: str) -> Path:
        return self._root.joinpath(*name.split(".")).with_suffix(".py")

    def _module(self, name: str) -> types.ModuleType:
        """The module of that full name, loaded if it was not; its parents are namespaces that hold what was loaded."""
        found = self.modules.get(name)
        if found is not None:
            return found
        parent, _, last = name.rpartition(".")
        holder = self._module(parent) if parent else None
        module = self._real(name) if self._is_real(name) else self._put(name, self._standing_in(name))
        if holder is not None:
            setattr(holder, last, module)
        return module

    def _standing_in(self, name: str) -> types.ModuleType:
        """What stands in for a module; events are kept, whatever stands in for the rest."""
        module = self._stand_in(name)
        return fill_with_records(module) if name == RECORDS else module

    def _is_real(self, name: str) -> bool:
        """Whether a module is loaded as it is.

        Raises:
            ReleaseError: It must be, and the release does not have it.
        """
        if self._reals.fullmatch(name) is None:
            return False
        path = self._path(name)
        if not path.is_file() and not path.with_suffix("").is_dir():
            raise ReleaseError(f"{self.label} imports {name} and does not have it: it is missing or moved")
        return path.is_file()

    def _put(self, name: str, module: types.ModuleType) -> types.ModuleType:
        self.modules[name] = module
        return module

    def _real(self, name: str) -> types.ModuleType:
        """Run one of the release's own files; nothing is written beside it."""
        path, private = self._path(name), f"{self._private}.{name}"
        module = types.ModuleType(private)
        vars(module).update(__file__=str(path), __builtins__=self._builtins, __release_name__=name)
        self.modules[name] = sys.modules[private] = module
        try:
            exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), vars(module))  # noqa: S102 - running it is the purpose
        except BaseException:
            del self.modules[name]
            raise
        return module

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002 - the names that __import__ has
        locals: Mapping[str, Any] | None = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        """What an ``import`` inside the release brings."""
        if level:
            package = str((globals or {})["__release_name__"]).split(".")[:-level]
            name = ".".join([*package, *([name] if name else [])])
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names:
            return builtins.__import__(name, None, None, fromlist or (), 0)
        module = self._module(name)
        if not fromlist:
            return self.modules[top]
        for wanted in fromlist:
            if self._is_submodule(module, f"{name}.{wanted}"):
                self._module(f"{name}.{wanted}")
        return module

    def _is_submodule(self, module: types.ModuleType, name: str) -> bool:
        """Whether a name that is imported from a namespace is a module of the release."""
        is_namespace = isinstance(module, StandInModule) and name.startswith("vllm.")
        return is_namespace and (self._path(name).is_file() or self._path(name).with_suffix("").is_dir() or name == "vllm.envs")


__all__ = ["COORDINATOR", "ENGINE", "MANAGERS", "NEEDED", "POOL", "SPECS", "Release", "ReleaseError"]
