"""How releases drop a draft model's block from a sliding hit where the alignment is not the block: each with what it misses.

These are the wrong variants of a theorem in `hits`, as runs: a prefix is cached, and the same prompt comes again.
"""

from collections.abc import Callable
from typing import Any

from kvwitness.model import need
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.numbers import ceil_div, floor_div
from kvwitness.model.profile import Profile
from kvwitness.proofs.domain import Domain, Values, numbers
from kvwitness.proofs.logic import both, chosen, either, implies
from kvwitness.proofs.theorem import Scenario, Statement, Wrong
from kvwitness.proofs.theorems.need import sliding
from kvwitness.properties.operations import Execute, Free, Start


def _drops_like(name: str) -> Callable[[Profile], bool]:
    return lambda profile: profile.sliding_draft_drop == name


def _scenario(clause: str) -> Callable[[Values], Scenario]:
    def make(values: Values) -> Scenario:
        block, step, cached = values["block"], values["step"], values["cached_blocks"]
        sizes = {"blocks": 2 * cached + 6, "block_size": block, "drafts": 1, "draft_model": True, "alignment": step * block}
        config = Config(groups=(Kind("sliding", window=values["window"]),), max_model_len=(cached + 2) * block + 4, **sizes)
        prompt = (0,) * (cached * block)
        again = prompt + (1,) * (1 + (values["most"] - cached) * block)
        return Scenario(config, (Start("A", prompt), Execute(), Free("A"), Start("B", again)), clause)

    return make


def _answer(domain: Domain) -> tuple[dict[str, Any], Any, Any]:
    """A prefix of blocks is cached; what is asked, the candidate's length, and whether it is usable."""
    cached, most, other, window = numbers(domain, "cached_blocks most other window")
    block, step = domain.size("block"), domain.number("step")
    first, end = need.needed_blocks(sliding(window), other * block, block)
    usable = both(other >= 1, other + 1 <= most, either(first >= end + 1, end + 1 <= cached))
    hypotheses = {
        "sizes": both(window >= 2, step >= 2, cached >= 1, cached <= most, most <= cached + 1),  # noqa: PLR2004 - as the names say
        "the length is aligned": other % step == 0,
    }
    return hypotheses, other, usable


def raises(domain: Domain) -> Statement:
    """The look-up fails where anything is matched, so no usable length is returned."""
    hypotheses, _, usable = _answer(domain)
    return Statement(hypotheses, {"a usable length is returned": implies(usable, False)})


def _matched(domain: Domain) -> tuple[Any, Any]:
    """The aligned end of the run of a cached prefix that is long enough or begins at the start, and how long a run is wanted."""
    cached, step, window = numbers(domain, "cached_blocks step window")
    most = domain.number("most")
    wanted = ceil_div(window - 1, domain.size("block")) + 1
    within_cap = chosen(cached <= most, cached, most)
    return within_cap - within_cap % step, wanted


def drop_then_align(domain: Domain) -> Statement:
    """The run ends aligned, loses a block, and is cut to the alignment once more."""
    hypotheses, other, usable = _answer(domain)
    end, _ = _matched(domain)
    step = domain.number("step")
    kept = chosen(end > 0, floor_div(end - 1, step) * step, 0)
    return Statement(hypotheses, {"no usable length is longer": implies(usable, other <= kept)})


def align_after_drop(domain: Domain) -> Statement:
    """As it should be, but for a short run from the start, which is aligned before the drop as well."""
    hypotheses, other, usable = _answer(domain)
    cached, step, most = numbers(domain, "cached_blocks step most")
    _, wanted = _matched(domain)
    within_cap = chosen(cached <= most, cached, most)
    length = chosen(within_cap > 0, floor_div(within_cap - 1, step) * step, 0)
    kept = chosen(both(length > 0, length + 1 < wanted), length - step, length)
    return Statement(hypotheses, {"no usable length is longer": implies(usable, other <= kept)})


DROP_ERRATA = [
    Wrong("it fails where the alignment is not the block", {}, _drops_like("raises"), _scenario("BOOKS.ACCEPTED"), twin=raises),
    Wrong("it aligns before and after the drop", {}, _drops_like("drop_then_align"), _scenario("LIVE.HIT.FOUND"), twin=drop_then_align),
    Wrong("it aligns a short run before the drop", {}, _drops_like("align_after_drop"), _scenario("LIVE.HIT.FOUND"), twin=align_after_drop),
]
"""The ways of releases."""
