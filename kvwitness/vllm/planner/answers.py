"""What stands in for the few things around a planner that must answer: a publisher, a connector factory, lists that only read.

Everything else that a planner's modules import is a permissive stand-in, which fails loudly where a rule comes to depend on it.
"""

import contextlib
import types
from collections.abc import Callable, Sequence
from typing import Any

from kvwitness.vllm.stand_ins import StandInModule, stand_in_module

NOTHING_AROUND = contextlib.nullcontext()
"""What a planner's sections are timed by: nothing."""


class HandlesAllGroups:
    """What a connector is that takes the blocks of several groups at once."""


class NoGrammar:
    """The manager of structured outputs where no request has any."""

    def should_advance(self, _request: Any, **_further: Any) -> bool:
        """There is nothing to advance."""
        return False

    def validate_tokens(self, _request: Any, tokens: Sequence[int]) -> Sequence[int]:
        """Every token is valid."""
        return tokens

    def accept_tokens(self, _request: Any, _tokens: Sequence[int]) -> bool:
        """Every token is accepted."""
        return True


class NoGrammarRequest:
    """The class of structured output requests."""

    @staticmethod
    def from_sampling_params(_parameters: Any) -> None:
        """No request has structured output."""


class NoMedia:
    """The registry of media: the model takes tokens only."""

    def supports_multimodal_inputs(self, _model: Any) -> bool:
        """Tokens only."""
        return False

    def get_encdec_max_encoder_len(self, _model: Any) -> int:
        """Tokens only."""
        return 0


class ConnectorFactory:
    """What makes a connector: it is in the configuration, ready made."""

    @staticmethod
    def create_connector(config: Any, **_further: Any) -> Any:
        """The connector of that configuration."""
        return config.kv_transfer_config.connector


class NoPublisher:
    """What makes a publisher of cache events: nobody listens."""

    @staticmethod
    def create(*_configuration: Any) -> None:
        """No publisher."""


class OnePlatform:
    """The platform, as far as planning asks."""

    @staticmethod
    def is_xpu() -> bool:
        """It is no such device."""
        return False

    @staticmethod
    def register_custom_kv_cache_specs(*_configuration: Any) -> None:
        """It has no kinds of its own."""


def read_only(values: list[Any]) -> list[Any]:
    """A list that its reader does not change."""
    return values


def length_of_prompt(tokens: Sequence[int] | None, _embeds: Any) -> int:
    """Tokens of a prompt."""
    return len(tokens or ())


def untimed(_section: str) -> Any:
    """A context that does nothing."""
    return NOTHING_AROUND


ANSWERS: dict[str, dict[str, Any]] = {
    "vllm.distributed.kv_events": {"EventPublisherFactory": NoPublisher},
    "vllm.distributed.kv_transfer.kv_connector.factory": {"KVConnectorFactory": ConnectorFactory},
    "vllm.distributed.kv_transfer.kv_connector.v1": {"SupportsHMA": HandlesAllGroups},
    "vllm.distributed.kv_transfer.kv_connector.v1.base": {"SupportsHMA": HandlesAllGroups},
    "vllm.multimodal": {"MULTIMODAL_REGISTRY": NoMedia()},
    "vllm.platforms": {"current_platform": OnePlatform},
    "vllm.utils": {"length_from_prompt_token_ids_or_embeds": length_of_prompt},
    "vllm.v1.metrics.stats": {"KV_FETCH_STAGES": ()},
    "vllm.v1.structured_output.request": {"StructuredOutputRequest": NoGrammarRequest},
    "vllm.v1.utils": {"ConstantList": read_only, "record_function_or_nullcontext": untimed},
}
"""By module, the names that must answer."""


def answering_module(name: str) -> types.ModuleType:
    """What stands in for the module of that name around a planner."""
    module = stand_in_module(name)
    if isinstance(module, StandInModule):
        vars(module).update(ANSWERS.get(name, {}))
    return module


AnsweringModule = Callable[[str], types.ModuleType]

__all__ = ["HandlesAllGroups", "NoGrammar", "NoMedia", "answering_module"]
