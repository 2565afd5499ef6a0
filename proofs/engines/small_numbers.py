"""Small plain numbers, all of them: where a scenario is run that source will not take symbolic integers for.

Nothing is proved here; what is wrong on plain numbers is wrong.
"""

import time
from collections.abc import Mapping

from attrs import define, field

from kvwitness.proofs.engines.paths import Abandoned, Scenario
from kvwitness.proofs.engines.symbolic import Concretised

BEYOND_LEAST = 4
"""An unknown number is at most so much larger than its least value."""

MOST_SECONDS = 8.0


@define
class _Choice:
    """One number that was chosen: its name, and what it may still become."""

    name: str
    value: int
    most: int


@define
class _Small:
    """The world of small numbers: names are given values in the order in which they are asked for."""

    choices: list[_Choice] = field(factory=list)
    position: int = 0

    def integer(self, name: str, least: int = 0) -> int:
        """A small number."""
        return self.pick(name, least, least + BEYOND_LEAST)

    def truth(self, name: str) -> bool:
        """Either."""
        return bool(self.pick(name, 0, 1))

    def pick(self, name: str, least: int, most: int) -> int:
        """One number of the range; the same one whenever it is asked for again."""
        for choice in self.choices[: self.position]:
            if choice.name == name:
                return choice.value
        if self.position == len(self.choices):
            self.choices.append(_Choice(name, least, most))
        self.position += 1
        return self.choices[self.position - 1].value

    def assume(self, condition: object) -> None:
        """Leave out numbers for which this does not hold.

        Raises:
            Abandoned: These are such numbers.
        """
        if not condition:
            raise Abandoned

    def turn(self) -> bool:
        """Go to the next numbers; False where all were tried."""
        del self.choices[self.position :]
        while self.choices and self.choices[-1].value == self.choices[-1].most:
            self.choices.pop()
        if self.choices:
            self.choices[-1].value += 1
        self.position = 0
        return bool(self.choices)


def broken_by(scenario: Scenario) -> tuple[str, Mapping[str, int]] | None:
    """What is wrong for some small numbers, and those numbers; None where nothing was found in the time there is."""
    world, until = _Small(), time.monotonic() + MOST_SECONDS
    while time.monotonic() < until:
        try:
            wrong = scenario(world)
        except Abandoned:
            wrong = ""
        except Concretised:
            return None
        except Exception as error:  # noqa: BLE001 - source that raises on a legal way is wrong
            wrong = f"it raises {type(error).__name__}: {error}"
        if wrong:
            return wrong, {choice.name: choice.value for choice in world.choices[: world.position]}
        if not world.turn():
            break
    return None


__all__ = ["broken_by"]
