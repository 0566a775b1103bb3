# SPDX-License-Identifier: Apache-2.0
"""Statements of a program as source code, in Python for PyTorch and in C++ for horovodpp.

reference.py runs the Python source. The C++ source is for people, who can paste a
program that differs into a test.
"""

import json
import math

import sources_composed
import sources_distances
import sources_elements
import sources_images
import sources_medians
import sources_reductions
import sources_scatter
import sources_shapes
from builder import INTEGERS

# By name: Python and C++. {0}, {1} … are operands, {all} is the list of operands,
# and other names are numbers and lists of the statement.
SOURCES = {
    "add": ("{0} + {1}", "{0} + {1}"),
    "sub": ("{0} - {1}", "{0} - {1}"),
    "mul": ("{0} * {1}", "{0} * {1}"),
    "div": ("{0} / {1}", "{0} / {1}"),
    "add_number": ("{0} + {number}", "{0} + {number}"),
    "sub_number": ("{0} - {number}", "{0} - {number}"),
    "mul_number": ("{0} * {number}", "{0} * {number}"),
    "div_number": ("{0} / {number}", "{0} / {number}"),
    "number_sub": ("{number} - {0}", "{number} - {0}"),
    "number_div": ("{number} / {0}", "{number} / {0}"),
    "neg": ("-{0}", "-{0}"),
    "pow": ("torch.pow({0}, {number})", "hvd::pow({0}, {number})"),
    "gelu": ("gelu({0}, tanh={tanh})",
             "hvd::gelu({0}, {tanh} ? hvd::GeluForm::kTanh : hvd::GeluForm::kExact)"),
    "clamp": ("torch.clamp({0}, {low}, {high})", "hvd::clamp({0}, {low}, {high})"),
    "where": ("torch.where({0}, {1}, {2})", "hvd::where({0}, {1}, {2})"),
    "where_number": ("torch.where({0}, {1}, {number})", "hvd::where({0}, {1}, {number})"),
    "masked_fill": ("{0}.masked_fill({1}, {number})", "hvd::masked_fill({0}, {1}, {number})"),
    "to": ("{0}.to({dtype})", "{0}.to({dtype})"),
    "relu_backward": ("torch.ops.aten.threshold_backward({0}, {1}, 0)",
                      "hvd::autograd::relu_backward({0}, {1})"),
    "dropout": ("F.dropout({0}, {p}, {training})", "hvd::dropout({0}, {p}, {training})"),
    "drop_path": ("drop_path({0}, {p}, {training})", "hvd::drop_path({0}, {p}, {training})"),
    # Reductions and products.
    "sum": ("{0}.sum()", "{0}.sum()"),
    "mean": ("{0}.mean()", "{0}.mean()"),
    "sum_dims": ("{0}.sum({dims}, keepdim={keepdim})", "{0}.sum({dims}, {keepdim})"),
    "mean_dims": ("{0}.mean({dims}, keepdim={keepdim})", "{0}.mean({dims}, {keepdim})"),
    "sum_to": ("{0}.sum_to_size({sizes})", "hvd::autograd::sum_to({0}, {sizes})"),
    "sum_of_squares": ("sum_of_squares({0})", "hvd::full({{}}, hvd::autograd::sum_of_squares({0}))"),
    "max": ("torch.max({0})", "hvd::max({0})"),
    "min": ("torch.min({0})", "hvd::min({0})"),
    "max_dim": ("torch.max({0}, {dim}, {keepdim})", "hvd::max({0}, {dim}, {keepdim})"),
    "min_dim": ("torch.min({0}, {dim}, {keepdim})", "hvd::min({0}, {dim}, {keepdim})"),
    "argmax": ("torch.argmax({0}, -1)", "hvd::argmax({0})"),
    "argmax_dim": ("torch.argmax({0}, {dim}, {keepdim})", "hvd::argmax({0}, {dim}, {keepdim})"),
    "softmax": ("torch.softmax({0}, {dim})", "hvd::softmax({0}, {dim})"),
    "log_softmax": ("torch.log_softmax({0}, {dim})", "hvd::log_softmax({0}, {dim})"),
    "matmul": ("torch.matmul({0}, {1})", "hvd::matmul({0}, {1})"),
    "bmm": ("torch.bmm({0}, {1})", "hvd::bmm({0}, {1})"),
    "addmm": ("torch.addmm({0}, {1}, {2}, beta={beta}, alpha={alpha})",
              "hvd::addmm({0}, {1}, {2}, {{.beta = {beta}, .alpha = {alpha}}})"),
    "linear": ("F.linear({0}, {1}, {2})", "hvd::linear({0}, {1}, {2})"),
    # Views and other shapes.
    "t": ("{0}.t()", "{0}.t()"),
    "contiguous": ("{0}.contiguous()", "{0}.contiguous()"),
    "reshape": ("{0}.reshape({sizes})", "{0}.reshape({sizes})"),
    "view": ("{0}.view({sizes})", "{0}.view({sizes})"),
    "transpose": ("{0}.transpose({dim0}, {dim1})", "{0}.transpose({dim0}, {dim1})"),
    "permute": ("{0}.permute({order})", "{0}.permute({order})"),
    "expand": ("{0}.expand({sizes})", "{0}.expand({sizes})"),
    "squeeze": ("{0}.squeeze({dim})", "{0}.squeeze({dim})"),
    "unsqueeze": ("{0}.unsqueeze({dim})", "{0}.unsqueeze({dim})"),
    "as_strided": ("{0}.as_strided({sizes}, {strides}, {0}.storage_offset() + {offset})",
                   "hvd::autograd::as_strided({0}, {sizes}, {strides}, {offset})"),
    "narrow": ("{0}.narrow({dim}, {start}, {length})", "{0}.narrow({dim}, {start}, {length})"),
    "select": ("{0}.select({dim}, {index})", "{0}.select({dim}, {index})"),
    "slice": ("torch.ops.aten.slice({0}, {dim}, {start}, {end}, {step})",
              "{0}.slice({dim}, {start}, {end}, {step})"),
    "split": ("torch.split({0}, {sizes}, {dim})", "hvd::split({0}, {sizes}, {dim})"),
    "split_size": ("torch.split({0}, {size}, {dim})", "hvd::split({0}, {size}, {dim})"),
    "chunk": ("torch.chunk({0}, {chunks}, {dim})", "hvd::chunk({0}, {chunks}, {dim})"),
    "unbind": ("torch.unbind({0}, {dim})", "hvd::unbind({0}, {dim})"),
    "cat": ("torch.cat({all}, {dim})", "hvd::cat({all}, {dim})"),
    "stack": ("torch.stack({all}, {dim})", "hvd::stack({all}, {dim})"),
    "channels_last": ("{0}.contiguous(memory_format=torch.channels_last)",
                      "hvd::channels_last({0})"),
    "clone_with_strides": ("clone_with_strides({0}, {strides})",
                           "hvd::autograd::clone_with_strides({0}, {strides})"),
    "roll": ("torch.roll({0}, {shifts}, {dims})", "hvd::roll({0}, {shifts}, {dims})"),
    "pad": ("F.pad({0}, {widths}, value={number})", "hvd::pad({0}, {widths}, {number})"),
    "flip": ("torch.flip({0}, {dims})", "hvd::flip({0}, {dims})"),
    # Lookups.
    "index": ("{0}[{indices}]", "{0}.index({{{indices}}})"),
    "embedding": ("F.embedding({1}, {0}, padding_idx={padding_index})",
                  "hvd::embedding({0}, {1}, {{.padding_index = {padding_index}}})"),
    "index_select": ("torch.index_select({0}, {dim}, {1})", "hvd::index_select({0}, {dim}, {1})"),
    "gather": ("torch.gather({0}, {dim}, {1})", "hvd::gather({0}, {dim}, {1})"),
    "scatter_add": ("torch.scatter_add({0}, {dim}, {1}, {2})",
                    "hvd::scatter_add({0}, {dim}, {1}, {2})"),
    # Losses, images, norms, layers.
    "nll_loss": ("F.nll_loss({0}, {1}, {2}, ignore_index={ignore_index}, reduction={reduction})",
                 "hvd::nll_loss({0}, {1}, {{.weight = {2}, .ignore_index = {ignore_index}, "
                 ".reduction = {reduction}}})"),
    "cross_entropy": (
        "F.cross_entropy({0}, {1}, {2}, ignore_index={ignore_index}, reduction={reduction}, "
        "label_smoothing={label_smoothing})",
        "hvd::cross_entropy({0}, {1}, {{.weight = {2}, .ignore_index = {ignore_index}, "
        ".reduction = {reduction}, .label_smoothing = {label_smoothing}}})"),
    "mse_loss": ("F.mse_loss({0}, {1}, reduction={reduction})",
                 "hvd::mse_loss({0}, {1}, {reduction})"),
    "batch_norm": ("F.batch_norm({0}, {1}, {2}, {3}, {4}, {training}, {momentum}, {eps})",
                   "hvd::batch_norm({0}, {1}, {2}, {3}, {4}, {{.training = {training}, "
                   ".momentum = {momentum}, .eps = {eps}}})"),
    "layer_norm": ("F.layer_norm({0}, {normalized_shape}, {1}, {2}, {eps})",
                   "hvd::layer_norm({0}, {normalized_shape}, {1}, {2}, {eps})"),
    "scaled_dot_product_attention": (
        "F.scaled_dot_product_attention({0}, {1}, {2}, {3}, {dropout_p}, {is_causal}, "
        "scale={scale}, enable_gqa={enable_gqa})",
        "hvd::scaled_dot_product_attention({0}, {1}, {2}, {{.mask = {3}, .is_causal = "
        "{is_causal}, .dropout_p = {dropout_p}, .scale = {scale}, .enable_gqa = {enable_gqa}}})"),
    "rotary_embedding": ("rotary_embedding({0}, {base}, {offset}, {interleaved})",
                         "hvd::rotary_embedding({0}, {{.base = {base}, .offset = {offset}, "
                         ".interleaved = {interleaved}}})"),
    "lstm": ("lstm({0}, {1}, {2}, {3}, {4}, {5}, {6})",
             "hvd::lstm({0}, {{{1}, {2}}}, {{{3}, {4}, {5}, {6}}})"),
    # Orders, searches, counts and draws.
    "sort": ("torch.sort({0}, dim={dim}, descending={descending}, stable=True)",
             "hvd::sort({0}, {{{dim}, {descending}}})"),
    "argsort": ("torch.argsort({0}, dim={dim}, descending={descending}, stable=True)",
                "hvd::argsort({0}, {{{dim}, {descending}}})"),
    "topk": ("topk({0}, {k}, {dim}, {largest})", "hvd::topk({0}, {k}, {{{dim}, {largest}}})"),
    "kthvalue": ("kthvalue({0}, {k}, {dim}, {keepdim})",
                 "hvd::kthvalue({0}, {k}, {{{dim}, {keepdim}}})"),
    "searchsorted": ("torch.searchsorted({0}, {1}, right={right})",
                     "hvd::searchsorted({0}, {1}, {right})"),
    "bucketize": ("torch.bucketize({0}, {1}, right={right})", "hvd::bucketize({0}, {1}, {right})"),
    "unique": ("torch.unique({0}.detach(), return_inverse=True, return_counts=True)",
               "hvd::unique({0})"),
    "bincount": ("torch.bincount({0}, {1}, {minlength})",
                 "hvd::bincount({0}, {1}, {minlength})"),
    "histc": ("torch.histc({0}.detach(), {bins}, {low}, {high})",
              "hvd::histc({0}, {{{bins}, {low}, {high}}})"),
    "multinomial": ("torch.multinomial({0}, {samples}, {replacement})",
                    "hvd::multinomial({0}, {samples}, {replacement})"),
    "bernoulli": ("torch.bernoulli({0})", "hvd::bernoulli({0})"),
    # Functions with parameters.
    "logit": ("torch.logit({0}, {eps})", "hvd::logit({0}, {eps})"),
    "polygamma": ("torch.polygamma({n}, {0})", "hvd::polygamma({n}, {0})"),
    "nan_to_num": ("torch.nan_to_num({0}, {number})", "hvd::nan_to_num({0}, {{{number}}})"),
    "isclose": ("torch.isclose({0}, {1}, equal_nan={equal_nan})",
                "hvd::isclose({0}, {1}, {{.equal_nan = {equal_nan}}})"),
    "allclose": ("torch.tensor(torch.allclose({0}, {1}, atol={atol}))",
                 "hvd::allclose({0}, {1}, {{.atol = {atol}}})"),
    "softplus": ("F.softplus({0}, {beta}, {threshold})",
                 "hvd::softplus({0}, {beta}, {threshold})"),
    "hardtanh": ("F.hardtanh({0}, {low}, {high})", "hvd::hardtanh({0}, {low}, {high})"),
    "threshold": ("F.threshold({0}, {bound}, {number})",
                  "hvd::threshold({0}, {bound}, {number})"),
    "glu": ("F.glu({0}, {dim})", "hvd::glu({0}, {dim})"),
    "rrelu": ("F.rrelu({0}, {lower}, {upper}, {training})",
              "hvd::rrelu({0}, {{{lower}, {upper}, {training}}})"),
    # In place.
    "add_": ("{0}.add_({1}, alpha={alpha})", "{0}.add_({1}, {alpha})"),
    "add_number_": ("{0}.add_({number})", "{0}.add_({number})"),
    "sub_": ("{0}.sub_({1})", "{0}.sub_({1})"),
    "mul_": ("{0}.mul_({1})", "{0}.mul_({1})"),
    "mul_number_": ("{0}.mul_({number})", "{0}.mul_({number})"),
    "zero_": ("{0}.zero_()", "{0}.zero_()"),
    "fill_": ("{0}.fill_({number})", "{0}.fill_({number})"),
    "copy_": ("{0}.copy_({1})", "{0}.copy_({1})"),
    "relu_": ("{0}.relu_()", "{0}.relu_()"),
    "exp_": ("{0}.exp_()", "{0}.exp_()"),
    "sin_": ("{0}.sin_()", "{0}.sin_()"),
    "index_put_": ("{0}[{indices}] = {1}", "{0}.index_put_({{{indices}}}, {1})"),
    "index_put_number_": ("{0}[{indices}] = {number}", "{0}.index_put_({{{indices}}}, {number})"),
    "uniform_": ("{0}.uniform_({number}, {number})",
                 "hvd::autograd::uniform_({0}, {number}, {number})"),
    "normal_": ("{0}.normal_({number}, 0)", "hvd::autograd::normal_({0}, {number}, 0)"),
    "bernoulli_": ("{0}.bernoulli_({number})", "hvd::autograd::bernoulli_({0}, {number})"),
    # Graphs.
    "requires_grad_": ("{0}.requires_grad_({value})", "{0}.set_requires_grad({value})"),
    "detach": ("{0}.detach()", "{0}.detach()"),
    "detach_": ("{0}.detach_()", "{0}.detach_()"),
    "data": ("{0}.data", "{0}.data()"),
    "get_grad": ("{0}.grad", "{0}.grad()"),
    "set_grad": ("{0}.grad = {1}", "{0}.set_grad({1})"),
    "retain_grad": ("{0}.retain_grad()", "{0}.retain_grad()"),
    "scaling_hook": ("{0}.register_hook(lambda g: g * {number})",
                     "{0}.register_hook([](const hvd::Tensor& g) {{ return g * {number}; }})"),
    "backward": ("torch.autograd.backward({all}, {gradients}, retain_graph={retain_graph}, "
                 "create_graph={create_graph}, inputs={inputs})",
                 "hvd::autograd::backward({all}, {gradients}, {{.retain_graph = {retain_graph}, "
                 ".create_graph = {create_graph}, .inputs = {inputs}}})"),
    "grad": ("torch.autograd.grad({all}, {inputs}, {gradients}, retain_graph={retain_graph}, "
             "create_graph={create_graph}, allow_unused={allow_unused}, "
             "materialize_grads={materialize_grads})",
             "hvd::autograd::grad({all}, {inputs}, {gradients}, {{.retain_graph = "
             "{retain_graph}, .create_graph = {create_graph}, .allow_unused = {allow_unused}, "
             ".materialize_grads = {materialize_grads}}})"),
    # Functions of functions.cc and functions.py.
    "asking": ("Asking.apply({0}, {1})", "Asking::apply({0}, {1})"),
    "recomputing": ("Recomputing.apply({0}, {1})", "Recomputing::apply({0}, {1})"),
    "enter": ("scopes.enter({scope})", "{scope}"),
    "leave": ("scopes.leave()", "}}"),
}
SOURCES.update({name: (f"torch.{name}({{0}})", f"hvd::{name}({{0}})") for name in [
    "exp", "log", "relu", "sqrt", "sin", "cos", "tanh", "sigmoid", "erf", "abs",
    "logical_not", "clone", "nonzero", "rsqrt", "sign", "floor", "ceil", "round", "isnan",
    "isinf", "log1p", "expm1", "log2", "log10", "exp2", "reciprocal", "square", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "sinc", "erfc", "erfinv", "lgamma",
    "digamma", "trunc", "frac", "isfinite", "selu"]})
SOURCES.update({name: (f"F.{name}({{0}})", f"hvd::{name}({{0}})") for name in [
    "mish", "softsign", "relu6", "hardsigmoid", "hardswish"]})
SOURCES["log_sigmoid"] = ("F.logsigmoid({0})", "hvd::log_sigmoid({0})")
SOURCES.update({name: (f"F.{name}({{0}}, {{number}})", f"hvd::{name}({{0}}, {{number}})")
                for name in ["elu", "celu", "hardshrink", "softshrink"]})
SOURCES["silu"] = ("torch.nn.functional.silu({0})", "hvd::silu({0})")
SOURCES["leaky_relu"] = ("torch.nn.functional.leaky_relu({0}, {number})",
                         "hvd::leaky_relu({0}, {number})")
SOURCES.update({name: (f"torch.{name}({{0}}, {{1}})", f"hvd::{name}({{0}}, {{1}})")
                for name in ["eq", "ne", "lt", "le", "gt", "ge"]})
SOURCES.update({f"{name}_number": (f"torch.{name}({{0}}, {{number}})",
                                   f"hvd::{name}({{0}}, {{number}})")
                for name in ["eq", "ne", "lt", "le", "gt", "ge"]})

SOURCES.update(sources_composed.SOURCES)
SOURCES.update(sources_distances.SOURCES)
SOURCES.update(sources_elements.SOURCES)
SOURCES.update(sources_images.SOURCES)
SOURCES.update(sources_medians.SOURCES)
SOURCES.update(sources_reductions.SOURCES)
SOURCES.update(sources_shapes.SOURCES)
SOURCES.update(sources_scatter.SOURCES)
SOURCES.update({name: (f"torch.{name}({{0}}, {{1}})", f"hvd::{name}({{0}}, {{1}})") for name in [
    "maximum", "minimum", "fmax", "fmin", "hypot", "remainder", "fmod", "floor_divide", "atan2",
    "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_left_shift", "bitwise_right_shift"]})
SOURCES.update({f"{name}_number": (f"torch.{name}({{0}}, {{number}})",
                                   f"hvd::{name}({{0}}, {{number}})")
                for name in ["remainder", "fmod", "floor_divide", "bitwise_and", "bitwise_or",
                             "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"]})
SOURCES.update({f"{name}_": (f"{{0}}.{name}_({{1}})", f"hvd::{name}_({{0}}, {{1}})") for name in [
    "div", "pow", "floor_divide", "remainder", "fmod", "atan2", "hypot", "logical_and",
    "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_left_shift", "bitwise_right_shift"]})
SOURCES.update({f"{name}_": (f"{{0}}.{name}_()", f"hvd::{name}_({{0}})")
                for name in ["logical_not", "bitwise_not"]})
SOURCES["bitwise_not"] = ("~{0}", "~{0}")
SOURCES["pow_tensor"] = ("torch.pow({0}, {1})", "hvd::pow({0}, {1})")
SOURCES["number_pow"] = ("torch.pow({number}, {0})", "hvd::pow({number}, {0})")

TENSOR_LISTS = ("of", "gradients", "inputs")
# They return lists of tensors.
SEVERAL = {"split", "split_size", "chunk", "unbind", "grad", "hsplit", "vsplit", "dsplit",
           "gradient"} | \
    sources_shapes.SEVERAL
PAIRS = ("kernel", "stride", "padding", "output_padding", "dilation", "size")
CPP_DTYPES = {"float32": "kF32", "float64": "kF64", "float16": "kF16", "bfloat16": "kBF16",
              "int64": "kI64", "bool": "kBool", "int32": "kI32", "uint8": "kU8"}


def operations():
    return set(SOURCES) | {"leaf"}


def names_of(statement):
    """The tensors that a statement needs."""
    return [name for key in TENSOR_LISTS for name in statement.get(key) or [] if name]


def in_float64(program):
    """The same program with all floating point in float64."""
    def wide(statement):
        if statement["do"] == "enter" and statement["scope"] == "autocast":
            return {**statement, "enabled": False}
        if statement.get("dtype") in ("float16", "bfloat16", "float32"):
            return {**statement, "dtype": "float64"}
        return statement
    return {**program, "statements": [wide(s) for s in program["statements"]]}


def python_of(statement):
    return _Python().statement(statement)


def cpp_of(statement):
    return _Cpp().statement(statement)


def program_text(program):
    """A program in both languages."""
    statements = program["statements"]
    lines = [f"seed {program['seed']}", "--- Python"]
    lines += [python_of(s) for s in statements]
    lines += ["--- C++"]
    lines += [cpp_of(s) for s in statements]
    lines += ["--- JSON", json.dumps(program)]
    return "\n".join(lines)


def _nested(values, sizes):
    if not sizes:
        return values[0]
    each = math.prod(sizes[1:])
    return [_nested(values[i * each:(i + 1) * each], sizes[1:]) for i in range(sizes[0])]


class _Dialect:
    def statement(self, s):
        if s["do"] == "leaf":
            return self.assigned(s, self.leaf(s))
        template = SOURCES[s["do"]][self.which]
        operands = [self.tensor(name) for name in s["of"]] if "of" in s else []
        operands += [self.nothing] * (7 - len(operands))
        named = {key: self.value(key, value) for key, value in s.items()
                 if key not in ("do", "of", "as", "indices", "scope")}
        if "indices" in s:
            named["indices"] = ", ".join(self.index(s, i) for i in s["indices"])
        if "scope" in s:
            named["scope"] = self.scope(s)
        named["all"] = self.tensors(s.get("of"))
        return self.assigned(s, template.format(*operands, **named))

    def tensor(self, name):
        return name or self.nothing

    def value(self, key, value):
        if key in TENSOR_LISTS:
            return self.tensors(value)
        if key == "dtype":
            return self.dtype(value)
        if key == "reduction":
            return self.reduction(value)
        if key in ("mode", "padding_mode") and value in sources_images.MODES:
            return self.mode(value)
        if key == "padding" and isinstance(value, str):
            return self.padding(value)
        if value is None:
            return self.no_value
        if isinstance(value, bool):
            return self.boolean(value)
        if key == "reduce":
            return self.reduce(value)
        if key == "equation":
            return json.dumps(value)
        if isinstance(value, list):
            return self.list([str(v) for v in value])
        return self.number(value)


class _Python(_Dialect):
    which = 0
    nothing = "None"
    no_value = "None"

    def assigned(self, s, source):
        names = s.get("as") or []
        if not names:
            return source
        if len(names) == 1 and s["do"] not in SEVERAL:
            return f"{names[0]} = {source}"
        return f"({', '.join(names)},) = {source}"

    def leaf(self, s):
        sizes, whole = s["sizes"], s["dtype"] in (*INTEGERS, "bool")
        options = f"dtype={self.dtype(s['dtype'])}, requires_grad={s['requires_grad']}"
        if math.prod(sizes) == 0:
            return f"torch.zeros({sizes}, {options})"
        values = [int(v) if whole else float(v) for v in s["values"]]
        text = str(_nested(values, sizes)).replace("nan", "math.nan").replace("inf", "math.inf")
        return f"torch.tensor({text}, {options})"

    def tensors(self, names):
        return "None" if names is None else self.list([self.tensor(n) for n in names])

    def list(self, texts):
        return "[" + ", ".join(texts) + "]"

    def dtype(self, name):
        return f"torch.{name}"

    def reduction(self, name):
        return repr(name)

    def reduce(self, name):
        return repr(name)

    def mode(self, name):
        return repr(name)

    def padding(self, name):
        return repr(name)

    def boolean(self, value):
        return str(value)

    def number(self, value):
        return f"float({value!r})" if isinstance(value, str) else repr(value)

    def index(self, s, i):
        if isinstance(i, list):
            return ":".join(map(str, i))
        if isinstance(i, dict):
            return s["of"][i["tensor"]]
        return "None" if i == "new" else str(i)

    def scope(self, s):
        kind = s["scope"]
        if kind == "autocast":
            return f"autocast({self.dtype(s['dtype'])}, enabled={s['enabled']})"
        if kind == "inference_mode":
            return f"torch.inference_mode({s['enabled']})"
        return f"torch.{kind}()"


class _Cpp(_Dialect):
    which = 1
    nothing = "hvd::Tensor()"
    no_value = "std::nullopt"

    def assigned(self, s, source):
        names = s.get("as") or []
        if s["do"] in ("enter", "leave"):
            return source
        if not names:
            return source + ";"
        if len(names) == 1 and s["do"] not in SEVERAL:
            return f"hvd::Tensor {names[0]} = {source};"
        return f"auto [{', '.join(names)}] = {source};"

    def leaf(self, s):
        values = self.list([self.number(v) for v in s["values"]])
        made = f"hvd::from_vector<double>({values}, {self.list(map(str, s['sizes']))})"
        made += f".to({self.dtype(s['dtype'])})"
        return made + (".set_requires_grad(true)" if s["requires_grad"] else "")

    def tensors(self, names):
        return self.list([self.tensor(n) for n in names or []])

    def list(self, texts):
        return "{" + ", ".join(texts) + "}"

    def dtype(self, name):
        return "hvd::DType::" + CPP_DTYPES[name]

    def reduction(self, name):
        return "hvd::Reduction::k" + name.capitalize()

    def padding(self, name):
        return "0, .same_padding = true" if name == "same" else "0"

    def mode(self, name):
        return "hvd::" + sources_images.MODES[name]

    def reduce(self, name):
        return "hvd::ScatterReduce::" + sources_scatter.REDUCE[name]

    def boolean(self, value):
        return str(value).lower()

    def number(self, value):
        limits = {"nan": "NAN", "inf": "INFINITY", "-inf": "-INFINITY"}
        return limits.get(value) or repr(value)

    def index(self, s, i):
        if isinstance(i, list):
            return f"hvd::Slice({', '.join(map(str, i))})"
        if isinstance(i, dict):
            return s["of"][i["tensor"]]
        return {"new": "hvd::kNewAxis", "...": "hvd::kEllipsis"}.get(i) or str(i)

    def scope(self, s):
        kind = s["scope"]
        if kind == "autocast":
            return (f"{{ hvd::Autocast scope({self.dtype(s['dtype'])}, "
                    f"{{.enabled = {self.boolean(s['enabled'])}}});")
        if kind == "inference_mode":
            return f"{{ hvd::InferenceMode scope({self.boolean(s['enabled'])});"
        return "{ hvd::NoGrad scope;" if kind == "no_grad" else "{ hvd::EnableGrad scope;"
