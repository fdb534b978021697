"""The refuter by instances, compared with formulas that are expanded for a known number of members."""

import itertools
import random

import cvc5
import pytest
import z3

from checker.engines.smt.instantiation.model_values import Evaluators
from checker.engines.smt.instantiation.prepared import Preparation
from checker.engines.smt.instantiation.refuter import SATURATED, InstanceRefuter
from checker.engines.smt.second_solver import _answer
from checker.engines.smt.solving import QueryLimits

SIZE, MARK = z3.Int("size"), z3.Int("mark")
NEXT = z3.Function("next", z3.IntSort(), z3.IntSort())
LINK = z3.Function("link", z3.IntSort(), z3.IntSort(), z3.BoolSort())


def refuter(*formulas):
    found = InstanceRefuter(Preparation(), QueryLimits(10))
    for formula in formulas:
        found.add(formula)
    return found


def random_formula(chance, variables, depth):
    """Return a formula as a function of the way in which it states `for all` and `exists`."""
    kinds = ["atom"] * (depth == 0) or ["all", "some", "and", "or", "not", "iff", "if"]
    kind = chance.choice(kinds)
    if kind == "atom":
        one, other = (chance.choice([*variables, lambda of: of(MARK)]) for _ in range(2))
        shape = chance.randrange(3)
        return lambda quantify, of: [
            lambda: of(one) == NEXT(of(other)),
            lambda: LINK(of(one), of(other)),
            lambda: of(one) < of(other),
        ][shape]()
    if kind in ("all", "some"):
        key = object()
        body = random_formula(chance, [*variables, key], depth - 1)
        return lambda quantify, of: quantify(kind, key, lambda inner: body(quantify, inner), of)
    parts = [random_formula(chance, variables, depth - 1) for _ in range(3)]
    operations = {
        "and": lambda a, b, c: z3.And(a, b, c),
        "or": lambda a, b, c: z3.Or(a, b, c),
        "not": lambda a, b, c: z3.Not(a),
        "iff": lambda a, b, c: a == b,
        "if": lambda a, b, c: z3.If(a, b, c),
    }
    return lambda quantify, of: operations[kind](*[part(quantify, of) for part in parts])


def is_inside(term):
    return z3.And(term >= 0, term < SIZE)


def with_quantifiers(kind, key, body, of):
    variable = z3.FreshInt("x")
    inner = body(lambda name: variable if name is key else of(name))
    if kind == "all":
        return z3.ForAll([variable], z3.Implies(is_inside(variable), inner))
    return z3.Exists([variable], z3.And(is_inside(variable), inner))


def expanded(size):
    def quantify(kind, key, body, of):
        parts = [body(lambda name, i=i: z3.IntVal(i) if name is key else of(name)) for i in range(size)]
        return z3.And(parts) if kind == "all" else z3.Or(parts)

    return quantify


def outermost(name):
    return name(lambda term: term) if callable(name) else name


@pytest.mark.parametrize("formulas", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_a_refuted_formula_has_no_model_of_two_sizes(formulas):
    chance, refuted, satisfiable = random.Random(7), 0, 0
    for _ in range(formulas):
        shapes = [random_formula(chance, [], depth) for depth in (3, 2, 2)]
        domain = z3.ForAll([MARK], is_inside(NEXT(MARK)))
        axioms = [SIZE >= 1, SIZE <= 2, is_inside(MARK), domain]
        asked = refuter(*axioms, *[shape(with_quantifiers, outermost) for shape in shapes])
        answer = asked.refute().answer
        models = 0
        for size in (1, 2):
            solver = z3.Solver()
            solver.add(size == SIZE, is_inside(MARK), *[is_inside(NEXT(i)) for i in range(size)])
            solver.add(*[shape(expanded(size), outermost) for shape in shapes])
            models += solver.check() == z3.sat
        assert answer == "unknown" or not models
        refuted += answer == "no"
        satisfiable += models > 0
    assert refuted > formulas // 12
    assert satisfiable > formulas // 12


def test_instances_chain_through_witnesses():
    x, y = z3.Ints("x y")
    rises = z3.ForAll([x], z3.Exists([y], z3.And(LINK(x, y), y > x)))
    falls = z3.ForAll([x, y], z3.Implies(LINK(x, y), y <= x))
    assert refuter(rises, falls).refute().answer == "no"


def test_a_formula_with_a_model_is_saturated():
    x = z3.Int("x")
    query = refuter(z3.ForAll([x], z3.Implies(is_inside(x), NEXT(x) > x)), SIZE > 0, NEXT(0) == MARK).refute()
    assert (query.answer, query.reason) == ("unknown", SATURATED)


def test_the_core_names_the_hypotheses_that_were_used():
    x = z3.Int("x")
    asked = refuter(NEXT(MARK) <= MARK)
    asked.add_hypothesis("unrelated", z3.ForAll([x], LINK(x, x)))
    asked.add_hypothesis("rises", z3.ForAll([x], NEXT(x) > x))
    assert asked.refute().answer == "no"
    assert asked.core() == {"rises"}


@pytest.mark.parametrize("is_contradiction", [True, False])
def test_cvc5_refutes_the_instances(is_contradiction):
    x, y = z3.Ints("x y")
    order = z3.ForAll([x, y], z3.Implies(z3.And(LINK(x, y), LINK(y, x)), x == y))
    asked = refuter(order, LINK(1, 2), LINK(2, 1) if is_contradiction else LINK(2, 3))
    answer = asked.refute().answer
    assert answer == ("no" if is_contradiction else "unknown")
    assert _answer(asked.asserted, 10)[0] == ("no" if is_contradiction else "yes")
    assert cvc5.__version__


def test_every_instance_follows_from_its_formula():
    a, b, c = z3.Ints("a b c")
    link = z3.ForAll([a, b, c], z3.Implies(z3.And(LINK(a, b), LINK(b, c)), LINK(a, c)))
    asked = refuter(link, *[LINK(i, i + 1) for i in range(3)], z3.Not(LINK(0, 3)))
    assert asked.refute().answer == "no"
    for instance in asked.asserted:
        solver = z3.Solver()
        solver.add(link, *[LINK(i, i + 1) for i in range(3)], z3.Not(LINK(0, 3)), z3.Not(instance))
        assert solver.check() == z3.unsat
    assert len(asked.asserted) < len(list(itertools.product(range(4), repeat=3)))


def test_a_term_has_the_same_value_in_python_as_in_the_model():
    x, y, p = z3.Int("x"), z3.Int("y"), z3.Bool("p")
    terms = [
        *(x == y, x <= y, x < y, x >= y, x > y, x + y, x - y, x * y, -x, z3.If(p, x, y), z3.If(x < y, y, x)),
        *(z3.And(p, x < y), z3.Or(p, x < y), z3.Not(p), z3.Implies(p, x < y), NEXT(x) + MARK, LINK(x, y), x % 2),
    ]
    solver = z3.Solver()
    solver.add(NEXT(1) == 4, MARK == 3, LINK(1, 2), z3.Not(LINK(2, 1)))
    assert solver.check() == z3.sat
    model = solver.model()
    evaluators = Evaluators()
    values = evaluators.values(model)
    for term in terms:
        compiled = evaluators.compiled(term, {variable.get_id(): variable for variable in (x, y, p)})
        for one, other, truth in itertools.product((-1, 1, 2), (1, 2), (False, True)):
            given = [(x, z3.IntVal(one)), (y, z3.IntVal(other)), (p, z3.BoolVal(truth))]
            wanted = model.eval(z3.substitute(term, *given), model_completion=True)
            result = compiled(values, {x.get_id(): one, y.get_id(): other, p.get_id(): truth})
            assert result == (wanted.as_long() if z3.is_int_value(wanted) else z3.is_true(wanted)), (term, given)
