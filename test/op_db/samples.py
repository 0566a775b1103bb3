# SPDX-License-Identifier: Apache-2.0
"""The samples of an entry of op_db: PyTorch's results, and the programs for ours."""

import dataclasses
import inspect

import torch
from torch.utils._pytree import tree_flatten, tree_map

from calls import NAMES, Program, Without

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@dataclasses.dataclass
class Results:
    """Tensors of each step, in the order of their statements."""
    values: list
    first: list = dataclasses.field(default_factory=list)
    second: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Case:
    entry: object
    dtype: torch.dtype
    label: str  # Which sample of the entry.
    arguments: tuple  # input, args, kwargs
    program: dict = None
    theirs: Results = None  # None: PyTorch is expected to refuse.
    exact: object = None  # A function that returns PyTorch's Results in float64.
    steps: list = dataclasses.field(default_factory=list)  # Places of statements.
    names: list = dataclasses.field(default_factory=list)  # Lists of results' names.
    tensors: list = None  # Keeps the ids of PyTorch's tensors unique.


def chosen(items, count):
    """`count` items, evenly spread; all for None."""
    if count is None or len(items) <= count:
        return items
    return [items[i * (len(items) - 1) // max(count - 1, 1)] for i in range(count)]


def call_of(line, arguments):
    """Our call for the arguments of PyTorch's function.
      Without  ours has no such argument
    """
    given, args, kwargs = arguments
    try:
        bound = inspect.signature(line).bind(given, *args, **kwargs)
    except TypeError as error:
        raise Without(f"arguments: {error}") from None
    return line(*bound.args, **bound.kwargs)


def tensors_in(value):
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def recorded(tensors):
    return [t for t in tensors if t.requires_grad]


def weights_like(tensors, generator):
    """Gradients to start from; they require gradients themselves."""
    return [torch.randn(t.shape, generator=generator, dtype=torch.float64).to(t.dtype)
            .requires_grad_() for t in tensors]


def derivatives(values, inputs, first_weights, second_weights, twice):
    outputs = recorded(values)
    first = torch.autograd.grad(outputs, inputs, first_weights, create_graph=True,
                                allow_unused=True, materialize_grads=True)
    if not twice:
        return list(first), []
    kept = [(g, w) for g, w in zip(first, second_weights) if g.requires_grad]
    wanted = inputs + first_weights
    if not kept:
        return list(first), [torch.zeros_like(x) for x in wanted]
    second = torch.autograd.grad([g for g, _ in kept], wanted, [w for _, w in kept],
                                 allow_unused=True, materialize_grads=True)
    return list(first), list(second)


def differentiate(case, values, inputs, generator):
    """Adds PyTorch's gradients to case.theirs, and second ones if PyTorch has them."""
    first_weights = weights_like(recorded(values), generator)
    second_weights = weights_like(inputs, generator)
    twice = case.entry.supports_gradgrad
    try:
        found = derivatives(values, inputs, first_weights, second_weights, twice)
    except (RuntimeError, NotImplementedError):
        try:
            found = derivatives(values, inputs, first_weights, second_weights, False)
        except (RuntimeError, NotImplementedError):
            return None
    case.theirs.first, case.theirs.second = found
    return first_weights, second_weights


def in_float64(case, inputs, weights):
    """Returns a function that returns PyTorch's Results of the case in float64."""
    def exact():
        made = {}

        def widened(value):
            if not isinstance(value, torch.Tensor) or value.dtype not in FLOATS:
                return value
            if id(value) not in made:
                made[id(value)] = value.detach().double().requires_grad_(value.requires_grad)
            return made[id(value)]

        given, args, kwargs = tree_map(widened, case.arguments)
        values = tensors_in(case.entry.op(given, *args, **kwargs))
        results = Results([v.detach() for v in values])
        if weights:
            first, second = ([widened(w) for w in group] for group in weights)
            results.first, results.second = derivatives(
                values, [widened(x) for x in inputs], first, second, bool(case.theirs.second))
        return results
    return exact


def prepare(case, line, seed=1):
    """Runs PyTorch and writes the program.
      Without       ours has no such argument
      RuntimeError  PyTorch refuses the sample
    """
    made = call_of(line, case.arguments)
    given, args, kwargs = case.arguments
    inputs = recorded(tensors_in(case.arguments))
    values = tensors_in(case.entry.op(given, *args, **kwargs))
    case.theirs = Results(values)
    weights = None
    if inputs and recorded(values):
        generator = torch.Generator().manual_seed(seed)
        weights = differentiate(case, values, inputs, generator)
    program = Program()
    at, names = program.run(made, len(values))
    case.steps, case.names = [at], [names]
    if weights:
        outputs = [n for n, v in zip(names, values) if v.requires_grad]
        at, first = program.gradients(outputs, weights[0], inputs)
        case.steps.append(at)
        case.names.append(first)
        if case.theirs.second:
            at, second = program.second_gradients(first, weights[1], inputs + weights[0])
            case.steps.append(at)
            case.names.append(second)
    case.exact = in_float64(case, inputs, weights)
    case.tensors = [case.arguments, weights, values, made]
    case.program = {"statements": program.statements}


def prepare_error(case, line):
    """The same for a sample that PyTorch refuses.
      Without  ours has no such argument, or PyTorch does not refuse
    """
    made = call_of(line, case.arguments)
    given, args, kwargs = case.arguments
    try:
        case.entry.op(given, *args, **kwargs)
    except Exception:  # Any class: op_db names what it expects.
        program = Program()
        at, _ = program.run(made, 0)
        case.steps, case.tensors = [at], [case.arguments, made]
        case.program = {"statements": program.statements}
        return
    raise Without("PyTorch refuses it only with other options")


def dtypes_of(entry):
    return [d for d in NAMES if d in entry.supported_dtypes("cpu")]


def cases_of(entry, counts):
    """All cases to run. `counts`: samples of float32, and of each other dtype; None: all."""
    for dtype in dtypes_of(entry):
        torch.manual_seed(1)
        grad = entry.supports_autograd and dtype in FLOATS
        samples = list(entry.sample_inputs("cpu", dtype, requires_grad=grad))
        count = counts[0] if dtype == torch.float32 else counts[1]
        for i, sample in chosen(list(enumerate(samples)), count):
            arguments = (sample.input, sample.args, sample.kwargs)
            yield Case(entry, dtype, f"sample {i}", arguments)
            if dtype == torch.float32:
                spread = sample.noncontiguous()
                yield Case(entry, dtype, f"sample {i}, not contiguous",
                           (spread.input, spread.args, spread.kwargs))


def errors_of(entry, counts):
    if entry.error_inputs_func is None:
        return
    torch.manual_seed(1)
    errors = list(entry.error_inputs("cpu"))
    for i, error in chosen(list(enumerate(errors)), counts[0] and 8):
        sample = error.sample_input
        yield Case(entry, torch.float32, f"error input {i}",
                   (sample.input, sample.args, sample.kwargs))
