"""One operator of a rule changed: what the proofs say of it. A change that no theorem notices is a gap in the theorems.

A rule is changed in place, so that whoever holds it runs the changed one, and put back afterwards.
"""

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any

from attrs import frozen

from kvwitness.model import books, contents, full, hits, hybrid, legal, liveness, mamba, misuse, need, numbers, pool, request, table
from kvwitness.proofs import adequacy
from kvwitness.proofs.engines import prove, refute
from kvwitness.proofs.theorem import Theorem

RULES: tuple[Callable[..., Any], ...] = (
    numbers.ceil_div,
    numbers.maximum,
    numbers.minimum,
    numbers.round_down,
    need.first_needed,
    need.num_skipped_blocks,
    need.reads,
    hits.serves_a_hit,
    hits.hit_table,
    hybrid.publishable,
    hybrid.leaves_a_block,
    table.num_new_blocks,
    mamba.num_state_blocks,
    mamba.with_external_state,
    contents.running_state,
    contents.source_state,
    contents.state_kept,
    request.settled_tokens,
    legal.chunk_is_known,
    legal.drafts_fit,
    legal.external_is_supported,
    legal.let_through,
    legal.outputs_fit,
    legal.planned_once,
    legal.state_row_keeps_drafts,
    liveness.hit_keeps_cap,
    liveness.worst_need,
    books.estimate_is_taken,
    books.estimate_is_natural,
    misuse.counts_free_blocks,
    misuse.null_is_not_counted,
)
"""The rules that theorems run as they stand."""

RESTATED: tuple[Callable[..., Any], ...] = (
    pool.found,
    pool.take,
    pool.touch,
    pool.release,
    pool.publish,
    pool.without_keys,
    table.num_evictable,
    table.estimate,
    table.adopt_hits,
    table.take_external,
    table.grow,
    mamba.estimate,
    mamba.grow,
    full.num_common_prefix_blocks,
)
"""The rules that theorems state anew, and that are compared with what is stated."""

SAME = {
    ("model/numbers.py maximum", 0): "of two equal numbers either is the larger",
    ("model/numbers.py minimum", 0): "of two equal numbers either is the smaller",
    ("model/legal.py let_through", 8): "the last position worth keeping is a block's edge, where a chunk is let through whole",
    ("model/legal.py let_through", 12): "a chunk that ends there ends on a block's edge",
    ("model/legal.py let_through", 13): "both ways nothing is let through",
    ("model/legal.py let_through", 16): "both ways the chunk is let through whole",
    ("model/table.py estimate", 2): "a new request that has hits holds nothing yet",
    ("model/table.py take_external", 2): "where nothing is skipped and something is loaded, not all is skipped",
    ("model/table.py take_external", 5): "where nothing is loaded the hits cover the table, and nothing is taken",
    ("model/table.py take_external", 9): "with legal lengths the count is not negative",
    ("model/mamba.py estimate", 6): "it is asked only whether blocks are lacking, and where there are hits they are",
}
"""Changes that no legal call can tell, each by its rule and the operator's number, with the reason."""

SWAPS: dict[type[ast.AST], tuple[type[ast.AST], str]] = {
    ast.Lt: (ast.LtE, "< becomes <="),
    ast.LtE: (ast.Lt, "<= becomes <"),
    ast.Gt: (ast.GtE, "> becomes >="),
    ast.GtE: (ast.Gt, ">= becomes >"),
    ast.Eq: (ast.NotEq, "== becomes !="),
    ast.NotEq: (ast.Eq, "!= becomes =="),
    ast.Add: (ast.Sub, "+ becomes -"),
    ast.Sub: (ast.Add, "- becomes +"),
    ast.And: (ast.Or, "and becomes or"),
    ast.Or: (ast.And, "or becomes and"),
    ast.BitAnd: (ast.BitOr, "& becomes |"),
    ast.In: (ast.NotIn, "in becomes not in"),
    ast.NotIn: (ast.In, "not in becomes in"),
}


@frozen
class Mutant:
    """A rule with one operator changed.

    Attributes:
        rule: The rule.
        number: Which of its operators.
        words: What becomes of it.
        place: The line of the rule that it stands in, as text.
        code: The changed rule.
    """

    rule: Any
    number: int
    words: str
    place: str
    code: CodeType

    @property
    def name(self) -> str:
        """The rule's file and name."""
        return f"model/{self.rule.__module__.rpartition('.')[2]}.py {self.rule.__name__}"


def mutants_of(rule: Any) -> Iterator[Mutant]:
    """Every single change of an operator of a rule."""
    module = sys.modules[rule.__module__]
    source = inspect.getsource(module)
    lines = source.splitlines()
    for number in range(len(_operators(_function(ast.parse(source), rule)))):
        tree = ast.parse(source)
        owner, field, index = _operators(_function(tree, rule))[number]
        operator = getattr(owner, field) if index is None else getattr(owner, field)[index]
        replacement, words = SWAPS[type(operator)]
        if index is None:
            setattr(owner, field, replacement())
        else:
            getattr(owner, field)[index] = replacement()
        code = _code(compile(tree, module.__file__ or "", "exec"), rule.__name__)
        yield Mutant(rule, number, words, lines[owner.lineno - 1].strip(), code)


def _function(tree: ast.Module, rule: Any) -> ast.FunctionDef:
    return next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == rule.__name__)


def _operators(function: ast.FunctionDef) -> list[tuple[Any, str, int | None]]:
    """Where the operators of a function's body stand, each as owner, field and place in it."""
    found: list[tuple[Any, str, int | None]] = []
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPS:
                found.append((node, "op", None))
            elif isinstance(node, ast.Compare):
                found += [(node, "ops", index) for index, operator in enumerate(node.ops) if type(operator) in SWAPS]
    return found


def _code(module: CodeType, name: str) -> CodeType:
    return next(each for each in module.co_consts if isinstance(each, CodeType) and each.co_name == name)


@contextmanager
def in_place(mutant: Mutant) -> Iterator[None]:
    """Run with the rule changed."""
    kept = mutant.rule.__code__
    mutant.rule.__code__ = mutant.code
    try:
        yield
    finally:
        mutant.rule.__code__ = kept


def running(theorem: Theorem, rules: dict[CodeType, str]) -> set[str]:
    """Which rules, by their code, the statement of a theorem runs."""
    seen: set[str] = set()

    def note(frame: Any, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code in rules:
            seen.add(rules[frame.f_code])

    sys.setprofile(note)
    try:
        prove.stated(theorem)
    finally:
        sys.setprofile(None)
    return seen


def notices(theorem: Theorem) -> bool:
    """Whether a theorem fails as the rules are now: by its witness, or because a goal is proved no more."""
    try:
        witness = refute.evaluate(theorem.states, theorem.witness, high=theorem.reach)
        if witness.broken or not all(witness.hypotheses.values()):
            return True
        statement = prove.stated(theorem)
    except (ArithmeticError, ValueError, TypeError, AttributeError, LookupError):
        return True
    return any(prove.decide(statement, goal).outcome != "proved" for goal in statement.goals)


def noticed(mutant: Mutant, theorems: Sequence[Theorem]) -> str:
    """The first theorem, or else the first comparison, that notices a change; "" if none does."""
    with in_place(mutant):
        if mutant.rule in RESTATED:
            return next((name for name in adequacy.COMPARISONS if adequacy.difference(name) is not None), "")
        return next((theorem.id for theorem in theorems if notices(theorem)), "")


def all_noticed(theorems: Sequence[Theorem]) -> Iterator[tuple[Mutant, str]]:
    """Every change with what notices it; a theorem is asked about the rules that it runs."""
    rules = {rule.__code__: f"{rule.__module__}.{rule.__name__}" for rule in RULES}
    runs = {theorem.id: running(theorem, rules) for theorem in theorems}
    for rule in (*RULES, *RESTATED):
        mine = [theorem for theorem in theorems if f"{rule.__module__}.{rule.__name__}" in runs[theorem.id]]
        for mutant in mutants_of(rule):
            yield mutant, noticed(mutant, mine)


__all__ = ["RESTATED", "RULES", "SAME", "Mutant", "all_noticed", "in_place", "mutants_of", "noticed", "notices", "running"]
