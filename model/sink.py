"""Full attention with attention sinks: blocks for the sink are set apart for the manager's whole life, the rest is full attention."""

from kvwitness.model import full
from kvwitness.model.numbers import floor_div
from kvwitness.model.pool import Pool, reserve
from kvwitness.model.table import Group


def reserve_sink(group: Group, pool: Pool) -> Pool:
    """Set the sink's blocks apart when the manager is built."""
    return reserve(pool, floor_div(group.kind.sink_tokens, group.block), group.profile)


look_up = full.look_up
estimate = full.estimate
adopt_hits = full.adopt_hits
take_external = full.take_external
grow = full.grow
publish_full = full.publish_full
release_skipped = full.release_skipped
release_all = full.release_all
num_common_prefix_blocks = full.num_common_prefix_blocks
