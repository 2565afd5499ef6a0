"""What an oracle says when a clause does not hold."""

from typing import NamedTuple

from kvwitness.model.clauses import sentence_of


class Violation(NamedTuple):
    """A broken clause, seen on a run.

    Attributes:
        clause: Its id.
        because: The reason in words, with ids and numbers.
        oracle: Which oracle saw it.
    """

    clause: str
    because: str
    oracle: str

    @property
    def sentence(self) -> str:
        """The sentence of the clause."""
        return sentence_of(self.clause)
