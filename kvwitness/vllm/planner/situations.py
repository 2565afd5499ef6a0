"""Planners worth running: small pools, small budgets, both policies, steps planned ahead, drafts, and a connector."""

import random

from attrs import evolve

from kvwitness.model.kinds import Config
from kvwitness.properties.mixes import random_mix
from kvwitness.properties.planning import PlannerSettings, fitting_length
from kvwitness.properties.situations import random_config

PLANNER_LABELS = ("full", "sliding", "chunked", "mamba-none", "mamba-all", "mamba-align")
"""The kinds that a planner can be run on alone; cross attention and sinks need a model around them."""


def random_settings(rng: random.Random, config: Config) -> PlannerSettings:
    """Settings for a pool; a budget or a chunk is never below a block where Mamba's states need it."""
    unit = max(map(config.block_of, range(len(config.groups)))) if any(kind.kind == "mamba" for kind in config.groups) else 1
    needs = unit if any(kind.mode == "align" for kind in config.groups if kind.kind == "mamba") else 1
    budget = max(needs, 1 + config.drafts, rng.choice((2, 3, 4, 6, 8, 12, 16, 32)))
    return PlannerSettings(
        policy=rng.choice(("fcfs", "priority")),
        budget=budget,
        seats=min(budget, rng.choice((1, 2, 3, 4, 4, 8))),
        longest_chunk=rng.choice((0, 0, 0, max(needs, rng.randint(1, budget)))),
        reserve_full=rng.random() < 0.3,
        connector=not any(kind.kind == "mamba" for kind in config.groups) and rng.random() < 0.3,
    )


def _pool(rng: random.Random, label: str) -> Config:
    """A pool of a kind or a mix; a planner has one group a kind, and hits are aligned to the groups' blocks."""
    if "+" in label:
        return evolve(random_mix(rng, label), alignment=0)
    drawn = random_config(rng, label)
    return evolve(drawn, groups=drawn.groups[:1], alignment=0, dcp=1, pcp=1)


def random_planner(rng: random.Random, label: str) -> tuple[Config, PlannerSettings]:
    """A pool and the settings of its planner; the same generator state gives the same."""
    while True:
        config = _pool(rng, label)
        settings = random_settings(rng, config)
        length = fitting_length(config, settings.budget)
        if "mamba-none" in label or length < 4:
            if length < config.max_model_len:
                continue
            return config, settings
        return evolve(config, max_model_len=length), settings


__all__ = ["PLANNER_LABELS", "random_planner"]
