# SPDX-License-Identifier: Apache-2.0
"""In-place writes, gradients, hooks, and modes."""

from builder import FLOATING
from recipes import recipe
from recipes_shapes import index_of


def target(b):
    """A tensor to write: usually neither a leaf that requires grad nor a view of one, since
    those writes are all refused."""
    leaves = {s["as"][0] for s in b.statements if s["do"] == "leaf" and s["requires_grad"]}
    found = b.find(lambda k: k.name not in leaves) if b.chance(0.9) else None
    return found or b.any()


@recipe("add_", "sub_", "mul_", "copy_", weight=1.2)
def write_tensor(b, name):
    x = target(b)
    if x.dtype == "bool" and name != "copy_":
        return
    y = b.like([n if b.chance(0.75) else 1 for n in x.sizes],
               x.dtype if name == "copy_" else b.partner_dtype(x))
    given = {"alpha": b.rng.choice((1.0, 1.0, -0.5, 2.0) if x.dtype in FLOATING else (1, 2))}
    b.emit(name, (x, y), **(given if name == "add_" else {}))


@recipe("div_", "pow_", "floor_divide_", "remainder_", "fmod_", "atan2_", "hypot_", "logical_and_",
        "logical_or_", "logical_xor_", weight=0.15)
def write_result(b, name):
    x = target(b)
    if x.dtype not in FLOATING and not name.startswith("logical"):
        return
    b.emit(name, (x, b.like(x.sizes, b.partner_dtype(x))))


@recipe("bitwise_and_", "bitwise_or_", "bitwise_xor_", "bitwise_left_shift_",
        "bitwise_right_shift_", "bitwise_not_", "logical_not_", weight=0.15)
def write_bits(b, name):
    x = b.find(lambda k: k.dtype in ("int64", "bool")) or b.leaf(b.sizes(), "int64")
    if x.dtype == "bool" and "shift" in name:
        return
    b.emit(name, (x,) if "not" in name else (x, b.like(x.sizes, x.dtype)))


@recipe("add_number_", "mul_number_", "fill_", weight=0.8)
def write_number(b, name):
    x = target(b)
    if x.dtype == "bool":
        return
    b.emit(name, (x,), number=b.number(x.dtype))


@recipe("zero_", "relu_", "exp_", "sin_", weight=0.8)
def write(b, name):
    x = target(b)
    if x.dtype in FLOATING or name == "zero_":
        b.emit(name, (x,))


@recipe("uniform_", "normal_", "bernoulli_", weight=0.25)
def write_random(b, name):
    x = target(b)
    if name == "bernoulli_":
        b.emit(name, (x,), number=float(b.rng.randint(0, 1)))
    elif x.dtype in ("float32", "float64"):
        b.emit(name, (x,), number=b.rng.randint(-4, 4) / 2)


@recipe("index_put_", "index_put_number_", weight=1.2)
def index_put(b, name):
    x = target(b)
    indices, tensors, sizes = index_of(b, x)
    if name == "index_put_number_":
        b.emit(name, (x, *tensors), indices=indices, number=b.number(x.dtype))
        return
    value = b.like(sizes if sizes is not None and b.chance(0.7) else (), x.dtype)
    # Operand 1 is the value; the index tensors follow.
    shifted = [{"tensor": i["tensor"] + 1} if isinstance(i, dict) else i for i in indices]
    b.emit(name, (x, value, *tensors), indices=shifted)


@recipe("asking", "recomputing", weight=3)
def function(b, name):
    x = b.floating()
    b.emit(name, (x, b.like(x.sizes, x.dtype)), (x.sizes, x.dtype))


# --- Gradients ---
def differentiable(b, count=1):
    found = [k for k in b.known if k.requires_grad]
    leaves = {s["as"][0] for s in b.statements if s["do"] == "leaf"}
    if b.chance(0.8):  # Non-leaves are more interesting.
        found = [k for k in found if k.name not in leaves] or found
    if not found:
        return []
    return [b.rng.choice(found[-5:]) for _ in range(count)]


def gradients_for(b, roots):
    if all(k.sizes == () for k in roots) and b.chance(0.7):
        return None
    return [b.like(k.sizes, k.dtype) if k.sizes or b.chance(0.6) else None for k in roots]


def names(tensors):
    return None if tensors is None else [k and k.name for k in tensors]


def retained(b):
    return b.rng.choice((None, None, True, True, False))


@recipe("backward", weight=7)
def backward(b, name):
    roots = differentiable(b, 2 if b.chance(0.15) else 1)
    if not roots:
        return
    inputs = None
    if b.chance(0.15):
        inputs = differentiable(b, b.rng.randint(1, 2))
    gradients = gradients_for(b, roots)
    b.emit(name, roots, gradients=names(gradients), inputs=names(inputs),
           retain_graph=retained(b), create_graph=b.chance(0.12))


@recipe("grad", weight=5)
def grad(b, name):
    outputs = differentiable(b, 2 if b.chance(0.15) else 1)
    inputs = [k for k in b.known if k.requires_grad]
    if not outputs:
        return
    inputs = [b.rng.choice(inputs) for _ in range(b.rng.randint(1, 3))]
    gradients = gradients_for(b, outputs)
    create, materialize = b.chance(0.6), b.chance(0.3)
    made = b.emit(name, outputs, *[(k.sizes, k.dtype) for k in inputs], inputs=names(inputs),
                  gradients=names(gradients), retain_graph=retained(b), create_graph=create,
                  allow_unused=materialize or b.chance(0.6), materialize_grads=materialize)
    if not create:  # Then they do not require grad.
        b.known[:] = [k._replace(requires_grad=False) if k in made else k for k in b.known]


@recipe("get_grad", weight=1.5)
def get_grad(b, name):
    for x in differentiable(b):
        b.emit(name, (x,), (x.sizes, x.dtype))
        b.known[-1:] = [b.known[-1]._replace(requires_grad=False)]


@recipe("set_grad", weight=0.5)
def set_grad(b, name):
    for x in differentiable(b):
        b.emit(name, (x, b.like(x.sizes, x.dtype) if b.chance(0.6) else None))


@recipe("retain_grad", weight=1.5)
def retain_grad(b, name):
    for x in differentiable(b):
        b.emit(name, (x,))


@recipe("scaling_hook", weight=1.5)
def scaling_hook(b, name):
    for x in differentiable(b) if b.chance(0.9) else [b.any()]:
        b.emit(name, (x,), number=b.rng.choice((0.5, 2.0, -1.0, 0.0)))


@recipe("requires_grad_", weight=1.5)
def requires_grad(b, name):
    x = b.any() if b.chance(0.2) else b.floating()
    b.emit(name, (x,), value=b.chance(0.75))


@recipe("detach", "data", weight=0.7)
def detach(b, name):
    x = b.any()
    (made,) = b.emit(name, (x,), (x.sizes, x.dtype))
    if made in b.known:
        b.known[b.known.index(made)] = made._replace(requires_grad=False)


@recipe("detach_", weight=0.3)
def detach_(b, name):
    b.emit(name, (b.any(),))


# --- Modes ---
@recipe("enter", weight=3)
def enter(b, name):
    kind = b.rng.choice(("no_grad", "no_grad", "no_grad", "enable_grad", "inference_mode",
                         "autocast"))
    given = {}
    if kind == "autocast":
        given = {"dtype": b.rng.choice(("bfloat16", "bfloat16", "float16")),
                 "enabled": b.chance(0.8)}
    if kind == "inference_mode":
        given = {"enabled": b.chance(0.8)}
    b.emit(name, (), scope=kind, **given)
    b.scopes.append(kind)


@recipe("leave", weight=0)
def leave(b, name):
    if b.scopes:
        b.emit(name, ())
        b.scopes.pop()
