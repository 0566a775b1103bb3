# SPDX-License-Identifier: Apache-2.0
"""Names, groups and hooks of parameters, for the distributed optimizers."""
import functools

import torch

from horovodpp.common.util import split_list
from horovodpp.torch.functions import broadcast_object

HAS_POST_ACCUMULATE_HOOKS = hasattr(torch.Tensor, "register_post_accumulate_grad_hook")


def of_groups(param_groups):
    """All parameters, in order."""
    return [p for group in param_groups for p in group["params"]]


def name_at(i, j):
    """The name of a parameter without a name: by group number and position in the group."""
    return f"allreduce.noname.{i}.{j}"


def call_name(name):
    """The name of an optimizer's own call: programs may use parameter names themselves."""
    return f"allreduce.{name}"


def refuse_another_pass():
    """Raises AssertionError: a gradient in flight got another contribution."""
    raise AssertionError(
        "Gradients were computed more than backward_passes_per_step times before call to "
        "step(). Increase backward_passes_per_step to accumulate gradients locally.")


def refuse_zero_grad():
    """Raises AssertionError: gradients in flight are to be cleared."""
    raise AssertionError(
        "optimizer.zero_grad() was called after loss.backward() but before "
        "optimizer.step() or optimizer.synchronize(). This is prohibited as it can cause "
        "a race condition.")


def names_of(param_groups, named_parameters):
    """Parameter -> name, from pairs as in model.named_parameters(); without pairs, numbered.

    Raises ValueError if an item is not such a pair, a name occurs twice, a parameter has no name,
    or is a DTensor.
    """
    for parameter in of_groups(param_groups):
        if hasattr(parameter, "full_tensor"):
            raise ValueError(
                "A parameter is a DTensor: FSDP2 or tensor parallelism reduces its gradient. Give "
                "the DistributedOptimizer the other parameters, and an optimizer of torch these.")
    if named_parameters is None:
        return {p: name_at(i, j) for i, group in enumerate(param_groups)
                for j, p in enumerate(group["params"])}
    named = list(named_parameters)
    if any(not isinstance(item, tuple) or len(item) != 2 for item in named):
        raise ValueError("named_parameters should be a sequence of tuples (name, parameter), "
                         "usually produced by model.named_parameters().")
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError("Parameter names in named_parameters must be unique. Found "
                         f"duplicates: {', '.join(map(str, twice))}")
    known = {id(p) for _, p in named}
    unnamed = [p for p in of_groups(param_groups) if id(p) not in known]
    if unnamed:
        raise ValueError("named_parameters was specified, but one or more model parameters "
                         "were not named. Python object ids: "
                         f"{', '.join(str(id(p)) for p in unnamed)}")
    names = {}
    for name, parameter in sorted(named, key=lambda item: str(item[0])):
        names.setdefault(parameter, name)
    return names


def groups_of(groups, names, process_set):
    """The lists of parameters that are reduced together.

    groups: None or 0: no lists; else the number of lists, or the lists.
    Raises ValueError for anything else.
    """
    wrong = ValueError("groups should be a non-negative integer or a list of list of "
                       "torch.Tensor.")
    if groups is None:
        return []
    if isinstance(groups, int):
        if groups < 0:
            raise wrong
        return _so_many_groups(groups, names, process_set) if groups else []
    if not isinstance(groups, list) or not all(isinstance(g, (list, tuple)) for g in groups):
        raise wrong
    seen = set()
    for parameter in (p for group in groups for p in group):
        if not isinstance(parameter, torch.Tensor):
            raise ValueError("groups must consist of torch.Tensor.")
        if id(parameter) in seen:
            raise ValueError("A parameter can only appear once in groups.")
        seen.add(id(parameter))
    return [[p for p in group if p in names] for group in groups]


def _so_many_groups(groups, names, process_set):
    # In the order of the first rank, as ranks may have different orders.
    by_name = {name: p for p, name in names.items() if p.requires_grad}
    order = list(by_name)
    if process_set.included():
        order = broadcast_object(order, process_set.ranks[0], process_set=process_set)
    parts = split_list(order, groups)
    return [[by_name[name] for name in part] for part in parts if part]


def _hook(p, before, after):
    """Calls before(gradient) before each contribution to p.grad, and after(p) after it.

    Replaces the hooks of the parameter's last optimizer.
    """
    for handle in getattr(p, "_horovodpp_hooks", ()):
        handle.remove()
    if HAS_POST_ACCUMULATE_HOOKS:
        handles = [p.register_post_accumulate_grad_hook(after)]
    else:
        accumulator = p.expand_as(p).grad_fn.next_functions[0][0]
        handles = [accumulator.register_hook(lambda *_: after(p))]
        handles[0].kept_alive = accumulator
    handles.append(p.register_hook(before))
    p._horovodpp_hooks = handles


class Watched:
    """The parameters of an optimizer, whose groups may gain others later, by number in a ledger.

    names: parameter -> its name; gets the names of new parameters.
    before(number, p, gradient), after(number, p): called around each contribution to p.grad.
    """

    def __init__(self, optimizer, names, ledger, before, after):
        self._optimizer = optimizer
        self._names = names
        self._ledger = ledger
        self._before = before
        self._after = after
        self.parameters = []  # By number.
        self.numbers = {}  # id(parameter) -> number.
        self.hooked = set()  # Numbers.

    def watch(self):
        """Hooks new and unfrozen parameters. Returns the numbers of all with requires_grad."""
        moving = []
        for i, group in enumerate(self._optimizer.param_groups):
            for j, p in enumerate(group["params"]):
                number = self.numbers.get(id(p))
                if number is None:
                    self._names.setdefault(p, name_at(i, j))
                    number = self.numbers[id(p)] = self._ledger.enter(self._names[p])
                    self.parameters.append(p)
                if p.requires_grad:
                    moving.append(number)
                    if number not in self.hooked:
                        self.hooked.add(number)
                        _hook(p, functools.partial(self._before, number, p),
                              functools.partial(self._after, number))
        return moving


def zero_gradient(p, sparse_dim=None):
    """A gradient of zeros; sparse and without entries if other ranks' are sparse."""
    if not sparse_dim:
        return torch.zeros_like(p, memory_format=torch.contiguous_format)
    return torch.sparse_coo_tensor(
        torch.empty((sparse_dim, 0), dtype=torch.int64), p.new_empty((0, *p.shape[sparse_dim:])),
        p.shape)
