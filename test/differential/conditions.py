# SPDX-License-Identifier: Apache-2.0
"""Conditions on a program and a difference, for known_differences.py."""

import ast
import math

import numpy as np

from views import VIEWS


def before(program, difference):
    """The statements up to the differing one, included."""
    return program["statements"][:difference.at + 1]


def does(*operations):
    """Whether the program has one of these operations up to the difference."""
    def found(program, difference):
        return any(s["do"] in operations for s in before(program, difference))
    return found


def both(*conditions):
    return lambda program, difference: all(c(program, difference) for c in conditions)


def either(*conditions):
    return lambda program, difference: any(c(program, difference) for c in conditions)


def tensors_of(statement):
    """The operands and the results of a statement."""
    return [name for name in (statement.get("of") or []) + (statement.get("as") or []) if name]


def meets(*operations, where=lambda statement: True):
    """Whether a differing tensor is related to an operand or a result of such an
    operation."""
    def found(program, difference):
        statements = before(program, difference)
        return any(s["do"] in operations and where(s)
                   and related(statements, tensors_of(s), tensors_that_differ(difference))
                   for s in statements)
    return found


def tensors_that_differ(difference):
    """The named tensor, or all tensors of the statement."""
    return {difference.name} if difference.name else set(tensors_of(difference.statement))


def related(statements, some, others):
    """Whether operations connect a tensor of `some` with one of `others`."""
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


def within(scope):
    """Whether the statement of a difference runs in such a scope."""
    return lambda program, difference: any(
        s["scope"] == scope and s["enabled"] for s in scopes_at(program, difference.at))


def within_before(scope):
    """Whether a statement up to a difference runs in such a scope."""
    return lambda program, difference: any(
        s["do"] == "enter" and s["scope"] == scope for s in before(program, difference))


under_autocast = within("autocast")


def result_of(*operations, where=lambda program, at: True):
    """Whether one of these operations made the differing tensor."""
    def found(program, difference):
        return any(s["do"] in operations and difference.name in (s.get("as") or [])
                   and where(program, at)
                   for at, s in enumerate(before(program, difference)))
    return found


def has_operand_viewed_without_recording(program, difference):
    """Whether an operand of the differing statement is a view made without recording."""
    operands = set(tensors_of(difference.statement))
    return any(s["do"] in VIEWS and is_unrecorded(program, at) and operands & set(s["as"])
               for at, s in enumerate(before(program, difference)))


def records_under_inference_mode(program, difference):
    """Whether a statement in inference_mode is recorded: in enable_grad, or as a backward
    with create_graph."""
    def recorded(at, statement):
        scopes = [s["scope"] for s in scopes_at(program, at)
                  if s["scope"] != "inference_mode" or s["enabled"]]
        if "inference_mode" not in scopes:
            return False
        return "enable_grad" in scopes or statement.get("create_graph", False)
    return any(recorded(at, s) for at, s in enumerate(before(program, difference)))


def inference_leaf(program, difference):
    """Whether a leaf that requires grad was made under inference_mode."""
    return any(s["do"] == "leaf" and s["requires_grad"]
               and any(e["scope"] == "inference_mode" and e["enabled"]
                       for e in scopes_at(program, at))
               for at, s in enumerate(before(program, difference)))


def same_tensors(program, difference):
    """Pairs of operand and result of equal shape, of operations that may return their
    operand."""
    for s in before(program, difference):
        if s["do"] in ("expand", "index", "sum_to") and len(s["of"]) == 1 and s["of"][0]:
            made = difference.sizes.get(s["as"][0])
            if made is not None and made == difference.sizes.get(s["of"][0]):
                yield {s["of"][0], s["as"][0]}


def stems_from_the_same(program, difference):
    """Whether a differing tensor is related to a tensor of same_tensors()."""
    same = set().union(*same_tensors(program, difference))
    return related(before(program, difference), same, tensors_that_differ(difference))


def one_of_the_same(program, difference):
    """Whether the differing tensor is one of same_tensors(), or its gradient. Also whether
    the differing grad has one of them as an input."""
    same = set().union(*same_tensors(program, difference))
    asked = {difference.name}
    for s in before(program, difference):
        if s["do"] == "grad" and difference.name in s["as"]:
            asked.add(s["inputs"][s["as"].index(difference.name)])
    if not difference.name:
        asked |= set(difference.statement.get("inputs") or [])
    return bool(same & asked)


def refused_inference_write(program, difference):
    """Whether an in-place operation wrote a tensor of inference_mode from which the
    differing tensor was made."""
    statements = before(program, difference)
    made = {name for at, s in enumerate(statements) for name in s.get("as") or []
            if any(e["scope"] == "inference_mode" and e["enabled"]
                   for e in scopes_at(program, at))}
    views = [s for s in statements if s["do"] in VIEWS]
    return any(s["do"].endswith("_") and related(views, made, s["of"][:1])
               and related(statements, s["of"][:1], {difference.name})
               for s in statements)


def given_gradient(program, difference):
    """Whether the differing tensor shares memory with a given gradient."""
    given = {name for s in before(program, difference) if s["do"] in ("backward", "grad")
             for name in s.get("gradients") or [] if name}
    return related([s for s in before(program, difference) if s["do"] in VIEWS],
                   given, {difference.name})


def writes_given_gradient_in_place(program, difference):
    """Whether an in-place operation writes memory of a given gradient afterwards."""
    statements = before(program, difference)
    views = [s for s in statements if s["do"] in VIEWS]
    # A gradient that passes unchanged is the given one or its view.
    views += [{"do": "view", "of": s["gradients"], "as": s["as"]} for s in statements
              if s["do"] == "grad" and s.get("gradients")]
    return any(s["do"] in ("backward", "grad") and any(
        w["do"].endswith("_") and related(views, [g for g in s.get("gradients") or [] if g],
                                          w["of"][:1])
        for w in statements[at:]) for at, s in enumerate(statements))


def returned_gradient(program, difference):
    """Whether a grad with given gradients returned the differing tensor."""
    return any(s["do"] == "grad" and any(s.get("gradients") or [])
               and difference.name in s["as"] for s in before(program, difference))


def has_to_do_with_gradients(program, difference):
    """Whether the differing tensor is, or was made of, the result of a grad."""
    return any(s["do"] in ("grad", "get_grad") and related(
        before(program, difference), s["as"], tensors_that_differ(difference))
        for s in before(program, difference))


def viewed_before_it_required_grad(program, difference):
    """Whether the differing tensor had a view before requires_grad_()."""
    statements = before(program, difference)
    for at, s in enumerate(statements):
        if s["do"] == "requires_grad_" and related(
                [v for v in statements[:at] if v["do"] in VIEWS], s["of"], {difference.name}):
            return True
    return False


def values_are_not_as_many_as_keys(program, difference):
    _, keys, values, _ = difference.statement["of"]
    return difference.sizes[keys][-2] != difference.sizes[values][-2]


def reads_its_own_writes(program, difference):
    """Whether an operand of an in-place operation shares memory with its target."""
    target, *others = [name for name in difference.statement["of"] if name]
    views = [s for s in before(program, difference) if s["do"] in VIEWS]
    return related(views, [target], set(others))


def among_rounded_numbers(program, difference):
    """Whether the compared tensor was computed, and is no leaf."""
    compared = difference.statement["of"][0]
    return not any(s["do"] == "leaf" and compared in s["as"] for s in program["statements"])


def target_is_a_view(program, difference):
    return any(s["do"] in VIEWS and difference.statement["of"][0] in s["as"]
               for s in program["statements"])


def backward_to_inputs(program, difference):
    """Whether a backward had inputs, so that it runs only a part of the graph."""
    return any(s["do"] == "backward" and s["inputs"] for s in before(program, difference))


def copied_or_viewed(program, difference):
    """Whether an in-place operation changes a tensor of images, or its copy. The copy is a
    view, or the tensor itself, if image operations choose another layout."""
    statements = before(program, difference)
    differs = tensors_that_differ(difference)
    for at, s in enumerate(statements):
        if s["do"] not in ("reshape", "contiguous", "channels_last"):
            continue
        of_images = any(i["do"] in ON_IMAGES and related(statements[:at], i["as"], s["of"])
                        for i in statements[:at])
        after = [w for w in statements[at:] if w["do"] in VIEWS or w["do"].endswith("_")]
        changed = any(w["do"].endswith("_") and related(after, tensors_of(s), w["of"][:1])
                      for w in after)
        if of_images and changed and related(statements, tensors_of(s), differs):
            return True
    return False


def passes_given_gradient(program, difference):
    """Whether a backward that does not record had given gradients."""
    return any(s["do"] in ("backward", "grad") and not s["create_graph"]
               and any(s.get("gradients") or [])
               for s in before(program, difference))


def creates_graph(program, difference):
    return any(s["do"] in ("backward", "grad") and s["create_graph"]
               for s in before(program, difference))


def refused_index_write(program, difference):
    """Whether a write by indices was refused."""
    return any(program["statements"][at]["do"].startswith(("index_", "put_", "scatter"))
               and program["statements"][at]["do"].endswith("_") for at in difference.refused)


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
    scale = np.abs(theirs[np.isfinite(theirs)]).max(initial=1.0)
    return bool(alone.any() and (theirs[alone] == 0).all()
                and np.allclose(ours[~alone], theirs[~alone], rtol=0.05, atol=0.01 * scale,
                                equal_nan=True))


def one_is_not_finite(program, difference):
    """Whether, where the values differ, one of both is NaN or infinite."""
    ours, theirs = (numbers_in(text) for text in (difference.ours, difference.theirs))
    if ours.shape != theirs.shape:
        return False
    finite = np.isfinite(ours) & np.isfinite(theirs)
    scale = np.abs(theirs[finite]).max(initial=1.0)
    return bool(not finite.all()
                and np.allclose(ours[finite], theirs[finite], rtol=0.05, atol=0.05 * scale))


def signs_differ(program, difference):
    """Whether the values differ by their signs alone."""
    ours, theirs = (numbers_in(text) for text in (difference.ours, difference.theirs))
    return ours.shape == theirs.shape and bool(
        np.allclose(np.abs(ours), np.abs(theirs), rtol=0.05, equal_nan=True))


def theirs_is_the_least(program, difference):
    """Whether PyTorch has the least integer wherever the values differ."""
    if difference.dtypes[difference.name] != "int64":
        return False
    ours, theirs = (ast.literal_eval(text) for text in (difference.ours, difference.theirs))
    return all(x == y or y == -2**63 for x, y in zip(ours, theirs))


def bias_is_not_of_outputs(program, difference):
    """Whether the bias of a linear is not [out]."""
    _, weight, bias = difference.statement["of"]
    return bias is not None and difference.sizes[bias] != difference.sizes[weight][:1]


def reduces_a_larger_source(program, difference):
    """Whether a scatter_reduce had a source that is larger than its index."""
    return any(s["do"] in ("scatter_reduce", "scatter_reduce_")
               and difference.sizes.get(s["of"][1]) != difference.sizes.get(s["of"][2])
               for s in before(program, difference))


def numbers_in(text):
    names = {"nan": math.nan, "inf": math.inf}
    tree = ast.parse(text, mode="eval")
    return np.atleast_1d(np.array(eval(compile(tree, "", "eval"), names), dtype=np.float64))


CONVOLUTIONS = tuple(f"conv{kind}{dims}d" for kind in ("", "_transpose") for dims in (1, 2, 3))
MAX_POOLS = tuple(f"max_pool{dims}d{end}" for dims in (1, 2, 3) for end in ("", "_with_indices"))
POOLS = MAX_POOLS + tuple(f"adaptive_{name}" for name in MAX_POOLS) + tuple(
    f"{kind}_pool{dims}d" for kind in ("avg", "adaptive_avg", "lp") for dims in (1, 2, 3))
MAX_UNPOOLS = tuple(f"max_unpool{dims}d" for dims in (1, 2, 3))
ON_IMAGES = {*CONVOLUTIONS, *POOLS, *MAX_UNPOOLS, "interpolate", "grid_sample", "batch_norm",
             "channels_last"}
SEVERAL_VIEWS = {"split", "split_size", "chunk", "unbind", "hsplit", "vsplit", "dsplit"}
