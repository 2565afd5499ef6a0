"""A port's classes with one operator of their source changed, in memory: the wrong variants that a cut must refute."""

import types
from collections.abc import Sequence
from typing import Any

from kvwitness.model.kinds import Kind
from kvwitness.proofs.cuts.look_ups import by_name
from kvwitness.proofs.engines.cut_source import Change, Cutting, compiled
from kvwitness.proofs.engines.managers_on_paths import Sources


class ChangedSources:
    """Sources whose look-ups, and whose release of skipped blocks, have a change in them."""

    def __init__(self, sources: Sources, change: Change) -> None:
        """Change those of ``sources``."""
        self.profile, self._sources = sources.profile, sources
        self._cutting = Cutting({}, {}, change=change)

    def spec(self, kind: Kind, block: Any) -> Any:
        """The port's own description of a group."""
        return self._sources.spec(kind, block)

    def manager_class(self, kind: Kind, block: Any) -> Any:
        """The class as it is; cuts change its source themselves."""
        return self._sources.manager_class(kind, block)

    def look_up(self, kind: Kind, block: Any, *, keys: Sequence[Any], pool: Any, **arguments: Any) -> Sequence[Any]:
        """The hit of one group, by the changed look-up."""
        manager = self.manager_class(kind, block)
        find = compiled(manager.find_longest_cache_hit, self._cutting)
        offered = {"cls": manager, "block_hashes": keys, "block_pool": pool, "kv_cache_spec": self.spec(kind, block)}
        offered |= {"kv_cache_group_ids": [0], "dcp_world_size": 1, "pcp_world_size": 1, **arguments}
        offered["drop_eagle_block"] = arguments["use_eagle"]
        hits: Sequence[Sequence[Any]] = find(**by_name(find, offered))
        return hits[0][0] if isinstance(hits[0], tuple) else hits[0]

    def manager(self, kind: Kind, block: Any, num_blocks: int, *, caching: bool) -> Any:
        """A manager that releases skipped blocks by the changed walk."""
        made = self._sources.manager(kind, block, num_blocks, caching=caching)
        made.remove_skipped_blocks = types.MethodType(compiled(type(made).remove_skipped_blocks, self._cutting), made)
        return made


__all__ = ["ChangedSources"]
