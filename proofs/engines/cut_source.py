"""A port's own functions, read from their files and compiled anew in memory, with their loops cut or an operator changed.

Nothing is written. A function that is called keeps its source too; only the names that are given take the place of its own.
"""

import ast
import copy
import functools
import inspect
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from kvwitness.proofs.engines.cut_numbers import CannotCut

CUTTER = "kvwitness_cutter"
"""The name under which cut source finds what carries its loops."""

LOOPS = (ast.For, ast.While)


@frozen
class Change:
    """A wrong variant of a function: one operator of its source is another.

    Attributes:
        function: The function's name.
        words: What is wrong then.
        node: The class of the nodes that are counted, by its name in `ast`.
        number: Which of them, from 0 on in the order of the source.
        apply: Changes that node.
    """

    function: str
    words: str
    node: str
    number: int
    apply: Callable[[Any], None]


@frozen
class Cutting:
    """What becomes of the functions that are compiled.

    Attributes:
        loops: The names that each cut loop gives values to, by the function's name and the loop's number.
        names: What takes the place of which global name.
        carrier: Carries the cut loops; None to leave loops as they are.
        change: A wrong variant.
    """

    loops: Mapping[str, Mapping[int, Collection[str]]]
    names: Mapping[str, Any]
    carrier: Any = None
    change: Change | None = None


def compiled(function: Callable[..., Any], cutting: Cutting) -> Callable[..., Any]:
    """The function made from its source again, and so with all functions of its own package that it calls.

    Raises:
        CannotCut: Its source is not there, or not of the shape that the cuts are for.
    """
    return _compiled(inspect.unwrap(getattr(function, "__func__", function)), cutting, {})


def _compiled(function: Any, cutting: Cutting, made: dict[Any, Any]) -> Callable[..., Any]:
    code = function.__code__
    tree = _definition(code)
    names = _globals_of(code)
    namespace = {**function.__globals__, **cutting.names, CUTTER: cutting.carrier}
    package = function.__module__.rpartition(".")[0]
    for name in names - set(cutting.names):
        other = function.__globals__.get(name)
        if isinstance(other, types.FunctionType) and other.__module__.startswith(package.split(">")[0]):
            namespace[name] = made[other] if other in made else _compiled(other, cutting, made)
    if cutting.change is not None and cutting.change.function == tree.name:
        _change(tree, cutting.change)
    if cutting.carrier is not None:
        _cut(tree, cutting.loops.get(tree.name, {}))
    exec(compile(ast.fix_missing_locations(ast.Module([tree], [])), code.co_filename, "exec", dont_inherit=True), namespace)  # noqa: S102
    made[function] = namespace[tree.name]
    return made[function]


def _globals_of(code: types.CodeType) -> set[str]:
    """The names that a function may look up outside, those of functions inside it included."""
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*map(_globals_of, inner))


def _definition(code: types.CodeType) -> ast.FunctionDef:
    """The function's definition in its file, without decorators and annotations."""
    for node in _functions(code.co_filename):
        if node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                return _bare(copy.deepcopy(node))
    raise CannotCut(f"the source of {code.co_name} is not where it was loaded from")


@functools.cache
def _functions(file: str) -> list[ast.FunctionDef]:
    """The functions of a file."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError) as error:
        raise CannotCut(f"the source {Path(file).name} cannot be read: {error}") from error
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _bare(node: ast.FunctionDef) -> ast.FunctionDef:
    node.decorator_list, node.returns = [], None
    for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]:
        if argument is not None:
            argument.annotation = None
    return node


def _in_order(tree: ast.AST, kinds: tuple[type, ...]) -> list[Any]:
    """The nodes of some kinds in the order of the source."""
    found: list[Any] = [tree] if isinstance(tree, kinds) else []
    for child in ast.iter_child_nodes(tree):
        found += _in_order(child, kinds)
    return found


def _change(tree: ast.FunctionDef, change: Change) -> None:
    nodes = _in_order(tree, (getattr(ast, change.node),))
    if change.number >= len(nodes):
        raise CannotCut(f"{tree.name} has {len(nodes)} nodes {change.node}, and the wrong variant changes number {change.number}")
    change.apply(nodes[change.number])


def _stored(nodes: Sequence[ast.AST]) -> set[str]:
    """The names that are given values."""
    return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _cut(tree: ast.FunctionDef, loops: Mapping[int, Collection[str]]) -> None:
    """Hand every loop over to the carrier, and let lists be made by it."""
    known = _stored([tree]) | {argument.arg for argument in tree.args.args}
    numbered = {id(loop): number for number, loop in enumerate(_in_order(tree, LOOPS))}
    if not set(loops) <= set(numbered.values()):
        raise CannotCut(f"{tree.name} has {len(numbered)} loops, and the invariants are for loops {sorted(loops)}: its shape is another")
    _Cutter(tree.name, numbered, known, loops).visit(tree)


class _Cutter(ast.NodeTransformer):
    """Puts the carrier's calls around loops."""

    def __init__(self, function: str, numbered: Mapping[int, int], known: set[str], loops: Mapping[int, Collection[str]]) -> None:
        self._function, self._numbered, self._known, self._loops = function, numbered, known, loops

    def visit_List(self, node: ast.List) -> ast.AST:
        """A list that is made may become one of any length."""
        self.generic_visit(node)
        return node if isinstance(node.ctx, ast.Store) else ast.Call(_name(CUTTER, "strip"), [node], [])

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        """Items come from the carrier: one, and then the end of the way."""
        before = self._before(node, node.iter)
        head = _head(self._numbered[id(node)])
        self.generic_visit(node)
        node.iter = ast.Call(_name(CUTTER, "items"), [ast.Name(head, ast.Load())], [])
        return [*before, node]

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        """The carrier is asked first: it ends the way when the loop comes round."""
        before = self._before(node, ast.Constant(None))
        head = _head(self._numbered[id(node)])
        self.generic_visit(node)
        again = ast.Call(_name(CUTTER, "again"), [ast.Name(head, ast.Load())], [])
        node.test = ast.BoolOp(ast.And(), [again, node.test])
        return [*before, node]

    def _before(self, node: Any, items: ast.expr) -> list[ast.stmt]:
        """What stands in front of the loop: its invariant is shown, and its names get any values that satisfy it."""
        number = self._numbered[id(node)]
        head = _head(number)
        stored = _stored([*node.body, node.target] if isinstance(node, ast.For) else node.body)
        names = sorted(stored & self._known)
        getters = ", ".join(f"{name!r}: lambda: {name}" for name in sorted(self._known))
        text = f"{head} = {CUTTER}.enter({self._function!r}, {number}, None, {{{getters}}}, {names!r})\nif {head}.is_cut:\n    pass\n"
        text += "".join(f"    {name} = {head}.value({name!r})\n" for name in names)
        statements = ast.parse(text).body
        call: Any = statements[0]
        call.value.args[2] = self.visit(items)
        return statements


def _head(number: int) -> str:
    return f"{CUTTER}_head_{number}"


def _name(*parts: str) -> ast.expr:
    first, *others = parts
    node: ast.expr = ast.Name(first, ast.Load())
    for other in others:
        node = ast.Attribute(node, other, ast.Load())
    return node


__all__ = ["CUTTER", "Change", "Cutting", "compiled"]
