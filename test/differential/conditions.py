"""Conditions on a program and a difference, for known_differences.py."""

import ast
import math

import numpy as np


def before(program, difference):
    """The statements up to the one that differs."""
    return program["statements"][:difference.at + 1]


def does(*operations):
    """Whether one of these is in the program up to the difference."""
    def found(program, difference):
        return any(s["do"] in operations for s in before(program, difference))
    return found


def both(*conditions):
    return lambda program, difference: all(c(program, difference) for c in conditions)


def tensors_of(statement):
    """The operands and the results of a statement."""
    return [name for name in (statement.get("of") or []) + (statement.get("as") or []) if name]


def meets(*operations, where=lambda statement: True):
    """Whether what differs is among the operands of such an operation, or among its
    results, or leads to them or comes from them by other operations."""
    def found(program, difference):
        statements = before(program, difference)
        return any(s["do"] in operations and where(s)
                   and related(statements, tensors_of(s), tensors_that_differ(difference))
                   for s in statements)
    return found


def tensors_that_differ(difference):
    """The one that is named, or all those of the statement."""
    return {difference.name} if difference.name else set(tensors_of(difference.statement))


def related(statements, some, others):
    """Whether one of `some` has to do with one of `others`."""
    found = set(some)
    while True:
        more = {name for s in statements if s["do"] != "leaf" for name in every_tensor(s)
                if found & set(every_tensor(s))}
        if more <= found:
            return bool(found & set(others))
        found |= more


def every_tensor(statement):
    """Also the gradients and inputs of a backward."""
    names = tensors_of(statement)
    for key in ("gradients", "inputs"):
        names += [name for name in statement.get(key) or [] if name]
    return names


def scopes_at(program, at):
    """The statements that entered the scopes which are open before statement `at`."""
    scopes = []
    for statement in program["statements"][:at]:
        if statement["do"] == "enter":
            scopes.append(statement)
        elif statement["do"] == "leave" and scopes:
            scopes.pop()
    return scopes


def is_unrecorded(program, at):
    return any(s["scope"] == "no_grad" or s["scope"] == "inference_mode" and s["enabled"]
               for s in scopes_at(program, at))


def unrecorded(program, difference):
    """Whether the statement of a difference runs in a scope that does not record."""
    return is_unrecorded(program, difference.at)


def under_autocast(program, difference):
    return any(s["scope"] == "autocast" and s["enabled"]
               for s in scopes_at(program, difference.at))


def result_of(*operations, where=lambda program, at: True):
    """Whether what differs was made by one of these."""
    def found(program, difference):
        return any(s["do"] in operations and difference.name in (s.get("as") or [])
                   and where(program, at)
                   for at, s in enumerate(before(program, difference)))
    return found


def inference_leaf(program, difference):
    """Whether a leaf that requires grad was made under inference_mode."""
    return any(s["do"] == "leaf" and s["requires_grad"]
               and any(e["scope"] == "inference_mode" and e["enabled"]
                       for e in scopes_at(program, at))
               for at, s in enumerate(before(program, difference)))


def same_tensors(program, difference):
    """Pairs of operand and result of operations that had nothing to do, and may have
    returned their operand."""
    for s in before(program, difference):
        if s["do"] in ("expand", "index", "sum_to") and len(s["of"]) == 1 and s["of"][0]:
            made = difference.sizes.get(s["as"][0])
            if made is not None and made == difference.sizes.get(s["of"][0]):
                yield {s["of"][0], s["as"][0]}


def one_of_the_same(program, difference):
    """Whether what differs is such an operand or result, or, if it was made by grad,
    the gradient of one; or a grad is accepted that asks for one."""
    same = set().union(*same_tensors(program, difference))
    asked = {difference.name}
    for s in before(program, difference):
        if s["do"] == "grad" and difference.name in s["as"]:
            asked.add(s["inputs"][s["as"].index(difference.name)])
    if not difference.name:
        asked |= set(difference.statement.get("inputs") or [])
    return bool(same & asked)


def refused_inference_write(program, difference):
    """Whether an in-place operation outside inference_mode had what differs, made
    under it, as its target."""
    statements = before(program, difference)
    views = [s for s in statements if s["do"] in VIEWS]
    made = {name for at, s in enumerate(statements) for name in s.get("as") or []
            if any(e["scope"] == "inference_mode" and e["enabled"]
                   for e in scopes_at(program, at))}
    return any(s["do"].endswith("_") and s["of"][0] in made
               and related(views, s["of"][:1], {difference.name})
               for s in statements)


def given_gradient(program, difference):
    """Whether what differs was given as a gradient, or shares memory with one."""
    given = {name for s in before(program, difference) if s["do"] in ("backward", "grad")
             for name in s.get("gradients") or [] if name}
    return related([s for s in before(program, difference) if s["do"] in VIEWS],
                   given, {difference.name})


def gives_what_is_written(program, difference):
    """Whether a gradient that was given, or what shares memory with it, is written in
    place afterwards."""
    statements = before(program, difference)
    views = [s for s in statements if s["do"] in VIEWS]
    return any(s["do"] in ("backward", "grad") and any(
        w["do"].endswith("_") and related(views, [g for g in s.get("gradients") or [] if g],
                                          w["of"][:1])
        for w in statements[at:]) for at, s in enumerate(statements))


def passes_given_gradient(program, difference):
    """Whether what differs is a gradient of a backward that was given one and did not
    record."""
    return any(s["do"] in ("backward", "grad") and not s["create_graph"]
               and any(s.get("gradients") or [])
               for s in before(program, difference))


def creates_graph(program, difference):
    return any(s["do"] in ("backward", "grad") and s["create_graph"]
               for s in before(program, difference))


def writes_to(operations, operands, what=lambda statement: True):
    """Whether a tensor is written in place that was one of these operands of such an
    operation, or shares memory with it."""
    def found(program, difference):
        statements = before(program, difference)
        views = [s for s in statements if s["do"] in VIEWS]
        for at, s in enumerate(statements):
            if s["do"] not in operations or not what(s):
                continue
            kept = [s["of"][i] for i in operands if i < len(s["of"]) and s["of"][i]]
            if any(w["do"].endswith("_") and related(views, kept, w["of"][:1])
                   for w in statements[at:]):
                return True
        return False
    return found


def has_infinite_values(program, difference):
    return any(value in ("nan", "inf", "-inf") for s in program["statements"]
               for value in (*s.get("values", ()), s.get("number")) if isinstance(value, str))


def has_empty_tensors(program, difference):
    return any(0 in sizes for sizes in difference.sizes.values())


def theirs_is_nan(program, difference):
    """Whether PyTorch has a NaN wherever the values differ."""
    ours, theirs = (numbers_in(text) for text in (difference.ours, difference.theirs))
    if ours.shape != theirs.shape or not np.isnan(theirs).any():
        return False
    known = ~np.isnan(theirs)
    scale = max(np.abs(theirs[np.isfinite(theirs)]).max(initial=1.0), 1.0)
    return bool(np.allclose(ours[known], theirs[known], rtol=0.05, atol=0.05 * scale))


def ours_nan_theirs_zero(program, difference):
    """Whether PyTorch has a zero wherever we alone have a NaN."""
    ours, theirs = (numbers_in(text) for text in (difference.ours, difference.theirs))
    alone = np.isnan(ours) & ~np.isnan(theirs)
    return bool(alone.any() and (theirs[alone] == 0).all()
                and np.allclose(ours[~alone], theirs[~alone], rtol=0.05, equal_nan=True))


def one_is_not_finite(program, difference):
    """Whether, where the values differ, one of both is NaN or infinite."""
    ours, theirs = (numbers_in(text) for text in (difference.ours, difference.theirs))
    if ours.shape != theirs.shape:
        return False
    finite = np.isfinite(ours) & np.isfinite(theirs)
    scale = np.abs(theirs[finite]).max(initial=1.0)
    return bool(not finite.all()
                and np.allclose(ours[finite], theirs[finite], rtol=0.05, atol=0.05 * scale))


def numbers_in(text):
    names = {"nan": math.nan, "inf": math.inf}
    tree = ast.parse(text, mode="eval")
    return np.atleast_1d(np.array(eval(compile(tree, "", "eval"), names), dtype=np.float64))


VIEWS = {"reshape", "view", "transpose", "t", "permute", "expand", "squeeze", "unsqueeze",
         "as_strided", "narrow", "select", "slice", "split", "split_size", "chunk", "unbind",
         "index", "contiguous", "to", "dropout", "drop_path", "channels_last", "detach", "data",
         "sum_to"}
SEVERAL_VIEWS = {"split", "split_size", "chunk", "unbind"}
