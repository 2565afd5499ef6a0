"""Keys of a workload's tokens: arithmetic instead of a table, so that a long prompt costs no memory a token.

A trace names the prompt's tokens by ids, one for 512 tokens, and equal ids mean equal prefixes.
A prompt token's key is therefore its id and its offset in the block; an output token's key is its request and its place in the output.
Prompt keys are positive, output keys negative, and 0 is the empty prefix.
"""

from collections.abc import Mapping, Sequence
from typing import overload

from attrs import frozen

from kvwitness.model.calls import Key

TOKENS_PER_ID = 512
"""Prompt tokens that one id of the trace stands for."""

NO_ID = -1
"""What stands before the first id of a prompt."""

MOST_OUTPUTS = 1 << 32
"""Output tokens that one request can have, as far as keys go."""


@frozen
class Prompt:
    """One prompt.

    Attributes:
        number: Its request's place among all that are served.
        ids: One id per 512 tokens, the last for what is left.
        length: Its tokens.
    """

    number: int
    ids: tuple[int, ...]
    length: int


def prompt_key(block_id: int, offset: int) -> Key:
    """The key of the token at ``offset`` in the block with this id."""
    return block_id * TOKENS_PER_ID + offset + 1


def output_key(number: int, place: int) -> Key:
    """The key of a request's output token: no other request has it."""
    return -(number * MOST_OUTPUTS + place) - 1


class Chain(Sequence[Key]):
    """The keys of a prompt's tokens and of the outputs behind it; an index is O(1), and so is one more output.

    >>> chain = Chain(Prompt(number=0, ids=(7, 9), length=600), 0)
    >>> chain[0], chain[511], chain[512], len(chain)
    (3585, 4096, 4609, 600)
    >>> (chain + (output_key(0, 0),))[-1]
    -1
    """

    __slots__ = ("_ids", "_length", "_prompt", "_prompt_length")

    def __init__(self, prompt: Prompt, num_outputs: int) -> None:
        """The prompt with so many of its own outputs."""
        self._prompt = prompt
        self._ids = prompt.ids
        self._prompt_length = prompt.length
        self._length = prompt.length + num_outputs

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Key: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Key, ...]: ...
    def __getitem__(self, place: int | slice) -> Key | tuple[Key, ...]:
        if isinstance(place, slice):
            return tuple([self[index] for index in range(*place.indices(self._length))])
        if place < 0:
            place += self._length
        if not 0 <= place < self._length:
            raise IndexError(f"got token {place}; allowed is 0 to {self._length - 1}; ask for a token of the chain")
        if place < self._prompt_length:
            return self._ids[place // TOKENS_PER_ID] * TOKENS_PER_ID + place % TOKENS_PER_ID + 1
        return output_key(self._prompt.number, place - self._prompt_length)

    def __add__(self, outputs: tuple[Key, ...]) -> "Chain":
        """The chain with its next outputs; O(outputs).

        Raises:
            ValueError: They are not the next ones.
        """
        first = self._length - self._prompt_length
        longer = Chain(self._prompt, first + len(outputs))
        if longer[self._length :] != outputs:
            raise ValueError(f"got outputs {outputs}; allowed are {longer[self._length :]}; append a request's own outputs in order")
        return longer


class WorkloadKeys:
    """The keys of all prompts of a workload.

    In the alphabet of operations a prompt is one token, its number, and an output token is its own key.
    """

    def __init__(self, prompts: Sequence[Prompt], previous: Mapping[int, int]) -> None:
        """Know the prompts by number, and for each id the one before it, `NO_ID` at the beginning."""
        self._prompts = prompts
        self._previous = previous

    def chain(self, tokens: Sequence[int], start: Key = 0) -> Sequence[Key]:
        """From the empty prefix the prompt with the given number; elsewhere the outputs, which are their own keys."""
        return tuple(tokens) if start else Chain(self._prompts[tokens[0]], 0)

    def ancestor(self, number: Key, steps: int) -> Key:
        """The key of the prefix that lacks the last ``steps`` tokens; O(steps / 512)."""
        if number < 0:
            request, place = divmod(-number - 1, MOST_OUTPUTS)
            if steps <= place:
                return number + steps
            prompt = self._prompts[request]
            index = prompt.length + place - steps
            return Chain(prompt, 0)[index] if index >= 0 else 0
        block_id, offset = divmod(number - 1, TOKENS_PER_ID)
        while steps > offset:
            steps -= offset + 1
            block_id, offset = self._previous[block_id], TOKENS_PER_ID - 1
            if block_id == NO_ID:
                return 0
        return prompt_key(block_id, offset - steps)
