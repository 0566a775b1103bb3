# SPDX-License-Identifier: Apache-2.0
"""Where horovodpp and PyTorch differ and that is known, each with its reason.

An entry that a long run never meets is out of date, and the run says so.
"""

import dataclasses
import re

import sources_elements
from builder import INTEGERS
from conditions import (CONVOLUTIONS, MAX_POOLS, MAX_UNPOOLS, ON_IMAGES, POOLS,
                        SEVERAL_VIEWS, VIEWS, among_rounded_numbers, backward_to_inputs,
                        before, bias_is_not_of_outputs, both, copied_or_viewed, creates_graph,
                        does, either, every_tensor, given_gradient, writes_given_gradient_in_place,
                        has_empty_tensors, has_infinite_values,
                        has_operand_viewed_without_recording, has_to_do_with_gradients,
                        inference_leaf, is_unrecorded, meets, one_is_not_finite, one_of_the_same,
                        ours_nan_theirs_zero, passes_given_gradient, reads_its_own_writes,
                        reduces_a_larger_source, records_under_inference_mode,
                        refused_index_write, refused_inference_write, result_of,
                        returned_gradient, signs_differ, stems_from_the_same, target_is_a_view,
                        theirs_is_nan, theirs_is_the_least, under_autocast,
                        unrecorded, values_are_not_as_many_as_keys, viewed_before_it_required_grad,
                        within, within_before)


@dataclasses.dataclass
class Known:
    reason: str
    kind: str = ".*"  # Of the difference; a regular expression, as the others.
    operation: str = ".*"
    ours: str = ""
    theirs: str = ""
    program: object = None  # If given, a further condition on (program, difference).

    def matches(self, program, difference):
        return (re.fullmatch(self.kind, difference.kind) is not None
                and re.fullmatch(self.operation, difference.operation) is not None
                and re.search(self.ours, difference.ours) is not None
                and re.search(self.theirs, difference.theirs) is not None
                and (self.program is None or self.program(program, difference)))


def running_statistics(program, difference):
    return any(s["do"] == "batch_norm" and difference.name in s["of"][1:3]
               for s in program["statements"])


def theirs_counts_more(program, difference):
    return int(difference.ours) < int(difference.theirs)


def writes_gradient(program, difference):
    return any(s["do"] in ("grad", "get_grad") and difference.statement["of"][0] in s["as"]
               for s in program["statements"])


def has_no_weight(statement):
    return statement["of"][1] is None


def has_beta_zero(statement):
    return statement["beta"] == 0


ADDED_PRODUCTS = ("addmm", "addmv", "addr", "addbmm")


def has_alpha_zero(statement):
    return statement["alpha"] == 0


def picks_no_element(program, difference):
    slices = [i for i in difference.statement["indices"] if isinstance(i, list)]
    return any(start >= end for start, end, _ in slices) or has_empty_tensors(program, difference)


def is_a_root(statement):
    return statement["number"] == 0.5


def refused_a_backward(program, difference):
    return any(program["statements"][at]["do"] == "backward" for at in difference.refused)


def operands_of_several_dtypes(program, difference):
    return len({difference.dtypes.get(name) for name in every_tensor(difference.statement)
                if name in difference.dtypes}) > 1


def has_operand_that_is_no_number(program, difference):
    return any(difference.dtypes.get(name) in (*INTEGERS, "bool")
               for name in every_tensor(difference.statement))


def is_dilated(statement):
    return statement["dilation"] != [1, 1] and statement["padding"] != [0, 0]


def drops_all(statement):
    return statement["p"] == 1


def by_itself(statement):
    return statement["of"][0] == statement["of"][1]


def in_16_bits(program, difference):
    return any(s.get("dtype") in ("float16", "bfloat16") for s in program["statements"])


def meets_product_with_a_vector(program, difference):
    return meets("matmul", where=lambda s: any(
        len(difference.sizes.get(name, ())) == 1 for name in s["of"]))(program, difference)


def target_is_result_of(*operations):
    def found(program, difference):
        return any(s["do"] in operations and difference.statement["of"][0] in s["as"]
                   for s in before(program, difference))
    return found


def writes_linear_with_a_hook(program, difference):
    """Whether a result of linear got a hook, and then was written in place."""
    hooked = set()
    made = {name for s in before(program, difference) if s["do"] == "linear" for name in s["as"]
            if len(difference.sizes.get(name, ())) != 2}
    for s in before(program, difference):
        if s["do"] == "scaling_hook":
            hooked |= made & set(s["of"])
        elif s["do"].endswith("_") and s["of"][0] in hooked:
            return True
    return False


VALUES = "values|gradient's values"
PRESENCE = "presence|gradient's presence"
MODIFIED = "modified by an inplace operation"
AGAIN = "backward through the graph a second time"

# Operations whose derivatives by one operand do not depend on another, or on itself.
OF_OPERANDS = ("relu", "relu_", "relu_backward", "leaky_relu", "hardtanh", "relu6",
               "hardsigmoid", "hardshrink", "softshrink", "threshold", "nan_to_num", "rrelu",
               "hardswish", "elu", "celu", "selu", "softplus", "abs", "layer_norm", "batch_norm",
               "nll_loss", "cross_entropy", "scaled_dot_product_attention", "interpolate",
               *CONVOLUTIONS, *POOLS, *MAX_UNPOOLS)

CONVOLUTION = "|".join(CONVOLUTIONS)
POOL = "|".join(POOLS)
PROMOTING = ("add|sub|mul|div|eq|ne|lt|le|gt|ge|pow|remainder|fmod|floor_divide|maximum|minimum|fmax|"
             "fmin|atan2|logical_.*|bitwise_.*|where|clamp|cat|stack|copysign|xlogy|xlog1py|gcd|lcm|"
             "ldexp|float_power|addcmul|addcdiv|div_rounded")

FUNCTIONS_IN_PLACE = "|".join(name for name in sources_elements.SOURCES if name.endswith("_"))

KNOWN = [
    # --- On purpose; see also "Differences from PyTorch" in docs/autograd.md ---
    Known("operands have one dtype, except of operations that promote; PyTorch has more of these",
          kind="refused", operation=f"(?!({PROMOTING})(_tensor|_number)?_?$).*",
          ours=r"same dtype|dtypes|have one dtype|not in bool|computes in|convert",
          program=either(operands_of_several_dtypes, has_operand_that_is_no_number)),
    Known("in place, a whole number counts as an integer; PyTorch refuses it if it is a float",
          kind="accepted", operation=".*number_", theirs="can't be cast to the desired output type"),
    Known("repeat_interleave, channel_shuffle and tensordot return no view of a hidden copy",
          kind="accepted", operation="detach_", theirs="Can't detach views",
          program=does("repeat_interleave", "channel_shuffle", "tensordot", "tensordot_last")),
    Known("the same, written in place, where PyTorch's view runs again", kind="refused",
          operation="backward|grad", ours="was freed", program=does("repeat_interleave")),
    Known("indices and classes have any integer dtype", kind="accepted",
          operation="nll_loss|cross_entropy|index|index_put.*|index_select|gather|scatter_add|embedding",
          theirs="expected target dtype|[Ee]xpected dtype|tensors used as indices|scalar types"),
    Known("in place, truth values have the gradient 0; PyTorch keeps the gradient of the old values",
          kind=f"refused|values|gradient's values|{PRESENCE}|requires_grad|is_leaf|accepted",
          program=does("logical_and_", "logical_or_", "logical_xor_", "logical_not_")),
    Known("a zero may have another sign, and so its angle", kind="values",
          operation="atan2_?|copysign_?|signbit", program=signs_differ),
    Known("the quotient of a remainder is a constant; PyTorch's has a gradient, which is 0",
          kind="(gradient's )?requires_grad|is_leaf",
          program=both(does("fmod", "remainder", "fmod_", "remainder_"),
                       creates_graph)),
    Known("a remainder of a number has a derivative; PyTorch's has none", kind="accepted",
          theirs="derivative for aten::remainder", program=does("number_remainder")),
    Known("PyTorch fails to write one of several results whose gradient is kept", kind="accepted",
          operation=".*_", theirs="INTERNAL ASSERT FAILED", program=does("retain_grad")),
    Known("floor_divide has no gradient; PyTorch fails when it is asked for",
          kind="requires_grad|is_leaf", operation="floor_divide.*"),
    Known("the same", kind="accepted", theirs="derivative for aten::floor_divide"),
    Known("acosh_, asinh_ and atanh_ have derivatives; PyTorch has none in place",
          kind="accepted", theirs="derivative for 'inplace version of a(cos|sin|tan)h'"),
    Known("addcdiv of integers has derivatives; PyTorch divides by their square in place",
          kind="accepted", theirs="result type Float can't be cast", program=does("addcdiv")),
    Known("isin takes bools", kind="accepted", theirs="input type encountered for isin"),
    Known("ldexp takes bools as exponents", kind="accepted", theirs="ldexp_cpu_exp"),
    Known("backward of layer_norm needs no bias", kind="accepted", operation="backward|grad",
          theirs=MODIFIED, program=both(does("layer_norm"), creates_graph)),
    Known("an operation without effect returns its operand; PyTorch makes a view",
          kind="is_leaf", operation="expand|index|sum_to", ours="True", theirs="False",
          program=one_of_the_same),
    Known("the same, where the gradient of operand or result is asked for",
          kind=f"gradient's values|{PRESENCE}", program=one_of_the_same),
    Known("the same, where grad has the operand or result as an input", kind="accepted",
          operation="grad", theirs="appears to not have been used", program=one_of_the_same),
    Known("the same; PyTorch's sum_to_size of a scalar is a copy",
          kind="version|values|gradient's values|requires_grad|sizes", program=both(
              does("sum_to"), stems_from_the_same)),
    Known("the same; PyTorch writes to that copy", kind="refused", operation=".*_",
          ours="a view of a leaf Variable", program=both(does("sum_to"), stems_from_the_same)),
    Known("the same, where a node saved the written tensor",
          kind="refused", operation="backward|grad",
          ours=MODIFIED, program=does("sum_to")),
    Known("the same, where one of both is made to require grad", kind="requires_grad|is_leaf",
          program=both(does("requires_grad_", "detach_"), stems_from_the_same)),
    Known("the same, where one of both is detached", kind="refused", operation="backward|grad",
          ours="does not require grad", program=both(does("detach_"), stems_from_the_same)),
    Known("the same, where the gradient of one is made of nothing", kind="values|requires_grad",
          operation="grad", program=one_of_the_same),
    Known("the same, where one of both has a hook", kind="gradient's values",
          program=both(does("scaling_hook"), stems_from_the_same)),
    Known("the same, where it is detached", kind="accepted", operation="detach_",
          theirs="Can't detach views in-place", program=both(target_is_a_view, stems_from_the_same)),
    Known("the same, where one of both is made to require grad and the other is written",
          kind="refused", operation=".*_", ours="leaf Variable that requires grad is being used",
          program=both(does("requires_grad_"), stems_from_the_same)),
    Known("a view made without recording does not require grad; PyTorch's says so if its base does",
          kind="requires_grad", operation="|".join(sorted(VIEWS)), ours="False", theirs="True",
          program=unrecorded),
    Known("the same, where that came later", kind="requires_grad", ours="False", theirs="True",
          program=result_of(*VIEWS, where=is_unrecorded)),
    Known("the same of a result of such a view", kind="requires_grad", ours="False", theirs="True",
          program=both(does("requires_grad_"), has_operand_viewed_without_recording)),
    Known("a view made without recording can be used after a recorded write to its base",
          kind="dtype", theirs="unusable", program=result_of(
              *VIEWS, where=lambda program, at: is_unrecorded(program, at))),
    Known("the same, where it is an operand", kind="accepted",
          theirs="A view was created in no_grad mode and its base or another view of its base",
          program=has_operand_viewed_without_recording),
    Known("the same of gradients that are views of one another", kind="dtype", theirs="unusable",
          program=has_to_do_with_gradients),
    Known("a gradient that is a view of another; PyTorch's requires grad as that does",
          kind="requires_grad", ours="False", theirs="True",
          program=both(does("requires_grad_"), has_to_do_with_gradients)),
    Known("such a view accepts detach_(), since graphs do not record it", kind="accepted",
          operation="detach_", theirs="Can't detach views in-place",
          program=both(target_is_a_view, does("enter"))),
    Known("the same, where it returned its operand", kind="accepted", operation=".*_",
          theirs="A view was created in no_grad mode", program=stems_from_the_same),
    Known("gradients of ours are no views", kind="accepted", operation=".*_",
          theirs="A view was created in no_grad mode|Can't detach views in-place",
          program=has_to_do_with_gradients),
    Known("a gradient that passes unchanged may be a view of the one given, or that one",
          kind="is_leaf|gradient's presence|version",
          program=either(returned_gradient, given_gradient)),
    Known("the same of nothing; another grad for the one given has no path to it",
          kind="refused", operation="grad", ours="appears to not have been used",
          program=both(has_empty_tensors, creates_graph)),
    Known("a refused backward adds no gradients", kind="values", operation="get_grad",
          program=refused_a_backward),
    Known("one of several views can be used after a write to its base", kind="dtype",
          theirs="unusable", program=meets(*SEVERAL_VIEWS)),
    Known("the same, where it is an operand", kind="accepted",
          theirs="This view is the output of a function that returns multiple views",
          program=does(*SEVERAL_VIEWS)),
    Known("a view passes gradients to a base that requires them only since then; PyTorch takes it "
          "for a leaf", kind="is_leaf", ours="False", theirs="True",
          program=both(does("requires_grad_"), result_of(*VIEWS))),
    Known("the same; the base gets the gradients", kind="gradient's presence", theirs="None",
          program=viewed_before_it_required_grad),
    Known("a view of a tensor that requires grad since a recorded write cannot be frozen; PyTorch "
          "takes it for a leaf", kind="refused", operation="requires_grad_",
          ours="can only be taken from leaves", program=target_is_a_view),
    Known("a view of a tensor that requires grad since a recorded write may be written; PyTorch "
          "takes it for a leaf before a read of its grad_fn",
          kind="accepted", operation=".*_|index_put_.*",
          theirs="a leaf Variable that requires grad is being used", program=target_is_a_view),
    Known("operations on inference tensors that require grad are recorded",
          kind="(gradient's )?requires_grad", ours="True", theirs="False", program=inference_leaf),
    Known("the same, and so inference tensors cannot be saved", kind="refused",
          ours="Inference tensors cannot be saved", program=inference_leaf),
    Known("the same; PyTorch's mean and std fail", kind="accepted", operation="mean(_dims)?|std|var",
          theirs="don't support automatic differentiation", program=inference_leaf),
    Known("the same, where gradients are recorded under inference_mode", kind="refused",
          operation="backward|grad", ours="Inference tensors cannot be saved",
          program=both(unrecorded, either(creates_graph, does("recomputing")))),
    Known("the same of operations under enable_grad", kind="refused",
          ours="Inference tensors cannot be saved", program=records_under_inference_mode),
    Known("the same of an inference tensor that came to require grad", kind="requires_grad",
          ours="True", theirs="False", program=both(within_before("inference_mode"),
                                                     does("requires_grad_"))),
    Known("an operation whose gradient needs no operand takes inference tensors", kind="accepted",
          theirs="Inference tensors cannot be saved", operation="gather|take|nll_loss|scatter_reduce|"
          "cross_entropy|conv2d|dist|trapezoid|kron|inner|.*_scatter|addr"),
    Known("the same of an operand that is copied for its layout", kind="accepted",
          theirs="Inference tensors cannot be saved", operation="matmul|linear",
          program=meets(*ON_IMAGES)),
    Known("an attention keeps its operands; PyTorch's scales them before, and keeps the results",
          kind="refused", operation="scaled_dot_product_attention",
          ours="Inference tensors cannot be saved"),
    Known("inference tensors may be made to require grad outside of inference_mode",
          kind="accepted",
          operation="requires_grad_", theirs="Setting requires_grad=True on inference tensor"),
    Known("an inference tensor of no elements is not written, either", kind="refused",
          operation=".*_", ours="Inplace update to inference tensor", program=has_empty_tensors),
    Known("inference tensors are detached as others are", kind="requires_grad",
          operation="detach_", ours="False", theirs="True", program=either(
              inference_leaf, within("inference_mode"))),
    Known("operations under enable_grad or create_graph are recorded under inference_mode, too",
          kind="(gradient's )?requires_grad", ours="True", theirs="False",
          program=records_under_inference_mode),
    Known("the same in a Function's backward, whose gradient PyTorch leaves out", kind=PRESENCE,
          theirs="None", operation="backward|grad", program=both(
              within("inference_mode"), does("recomputing"))),
    Known("the same, and so is no leaf", kind="is_leaf", ours="False", theirs="True",
          program=records_under_inference_mode),
    Known("a refused write to an inference tensor leaves it as it was", kind="values",
          program=refused_inference_write),
    Known("a write to running statistics counts as one", kind="version", ours="[1-9]",
          program=running_statistics),
    Known("a gradient that was given is never written; PyTorch adds to it if views stand between",
          kind="version", operation="backward|end",
          program=both(given_gradient, theirs_counts_more)),
    Known("the same, where it is data of a leaf", kind="values", operation="backward|end",
          program=both(given_gradient, does("data"))),
    Known("the same under inference_mode, where writes have no version", kind="values",
          operation="backward|end", program=both(given_gradient, within("inference_mode"))),
    Known("PyTorch's batch_norm takes weights with gaps for weights without", kind=VALUES,
          operation="backward|grad|end", program=both(does("as_strided"), meets("batch_norm"))),
    Known("a tensor that was detached in place retains no gradient", kind=PRESENCE, ours="None",
          program=both(does("retain_grad"), does("detach_"))),
    Known("the same; PyTorch may keep it as the gradient of a leaf", kind="gradient's values",
          program=writes_given_gradient_in_place),
    Known("take_along_dim refuses indices out of range; PyTorch takes them modulo the size",
          kind="refused", operation="take_along_dim", ours="is not within"),
    Known("expanded tensors are not written, not even by indices", kind="refused",
          operation="index_.*_|masked_scatter_|put_|scatter_.*_", ours="several elements .* on one place",
          program=either(does("expand", "broadcast_to", "broadcast_tensors", "meshgrid", "unfold"),
                         has_to_do_with_gradients)),
    Known("the same of windows that overlap", kind="refused", operation=".*_|masked_fill_.*",
          ours="several elements .* on one place", program=does("unfold")),
    Known("composed operations keep an operand itself, where PyTorch's keep a copy",
          kind="refused", operation="backward|grad", ours="modified by an inplace operation",
          program=does("take_along_dim", "einsum", "tensordot", "tensordot_last", "kron", "inner",
                       "index_copy")),
    Known("a gradient may be an expanded tensor, and is then not written", kind="refused",
          operation=".*_", ours="several elements .* on one place", program=writes_gradient),
    Known("nor are tensors whose elements overlap otherwise; PyTorch writes them twice",
          kind="refused", operation=".*_", ours="several elements .* on one place",
          program=meets("as_strided")),
    Known("an operand that overlaps the tensor written in place is read before", kind="accepted",
          theirs="some elements of the input tensor and the written-to tensor",
          operation=".*_|index_put_number_"),
    Known("a gradient of PyTorch's may have several elements in one place, and cannot be written",
          kind="accepted", operation=".*_", theirs="more than one element of the written-to tensor",
          program=both(does("grad", "get_grad"), writes_gradient)),
    Known("scatter_add has a gradient where the source is larger than the indices",
          kind="accepted", theirs="Scatter.*Backward"),
    Known("the same of extremes and products", kind="accepted", operation="backward|grad",
          theirs="must match the size", program=reduces_a_larger_source),
    Known("the same, where PyTorch repeats the gradient", kind="gradient's values|values",
          operation="backward|grad", program=reduces_a_larger_source),
    Known("convolutions of images without a row or column: all of the window is padding",
          kind="accepted", operation=CONVOLUTION, theirs="Only zero batch or zero channel"),
    Known("images and weights without a channel are refused", kind="refused",
          operation=f"{CONVOLUTION}|{POOL}|max_unpool.d", ours="empty but for n"),
    Known("the same, of interpolation by areas, and to nothing", kind="refused",
          operation="interpolate", ours="empty but for n|sizes and results must be positive"),
    Known("a pixel of weight 0 is multiplied by it, also if it is NaN or infinite; PyTorch leaves "
          "some out", kind=VALUES, program=both(meets("interpolate"), one_is_not_finite)),
    Known("a stride of 0 is the kernel's size", kind="accepted",
          operation=f"{POOL}|max_unpool.d", theirs="stride should not be zero|stride must be"),
    Known("PyTorch's pools of 3 dimensions take two layouts of one image", kind="accepted",
          operation="(adaptive_)?(max|avg|lp)_pool3d.*", theirs="Unsupported memory format"),
    Known("interpolation of images without a channel; PyTorch refuses it in some modes",
          kind="accepted", operation="interpolate", theirs="Non-empty .D data tensor"),
    Known("PyTorch's pools of one dimension or of one image are views of pools of more",
          kind="accepted", theirs="Can't detach views in-place|A view was created in no_grad mode",
          program=meets(*POOLS, *CONVOLUTIONS, "interpolate", *MAX_UNPOOLS)),
    Known("affine_grid keeps its points; PyTorch makes them again", kind="refused",
          operation="backward|grad", ours="MatmulBackward saved", program=meets("affine_grid")),
    Known("a transposed convolution to nothing is refused", kind="refused",
          operation="conv_transpose.d", ours="would have the size"),
    Known("PyTorch's fractional_max_pool3d refuses windows that fill the image", kind="accepted",
          operation="fractional_max_pool3d.*", theirs="too large relative to input"),
    Known("PyTorch's avg_pool3d compares the kernel with the image without its padding",
          kind="accepted", operation="avg_pool3d|lp_pool3d", theirs="smaller than kernel size"),
    Known("a max_unpool by a kernel of 0 is refused", kind="refused", operation="max_unpool.d",
          ours="kernel and stride must be positive"),
    Known("PyTorch's antialias has no loop for 16-bit types", kind="accepted",
          operation="interpolate|backward|grad", theirs="compute_index_ranges_weights"),
    Known("PyTorch's avg_pool3d has no loop for 16-bit types", kind="accepted",
          operation="avg_pool3d|lp_pool3d|backward|grad",
          theirs="avg_pool3d.* not implemented for .*(Half|BFloat16)"),
    Known("PyTorch's affine_grid has no linspace of 16-bit types", kind="accepted",
          operation="affine_grid", theirs="tensor_cpu.* not implemented for"),
    Known("a dilated window that misses the image has no index; PyTorch's is outside", kind="values",
          operation="max_pool.d_with_indices", ours="-1", program=meets(*MAX_POOLS, where=is_dilated)),
    Known("no statistics of nothing", kind="refused", operation="batch_norm",
          ours=r"Expected more than 1 value per channel when training, but the input is .*\D0\D"),
    Known("an infinite weight or statistic of batch_norm becomes a scale and a shift, which are "
          "infinities of opposite signs", kind=VALUES, ours="nan", program=both(
              has_infinite_values, meets("batch_norm"), one_is_not_finite)),
    Known("an LSTM's output gate has a gradient of 0 times NaN if only the state is asked for; "
          "PyTorch has none", kind=VALUES, ours="nan", program=both(
              has_infinite_values, meets("lstm"), one_is_not_finite)),
    Known("terms that cancel in a norm's gradient leave a rounding of theirs",
          kind="gradient's values",
          operation="backward|end", program=both(
              meets("batch_norm"), does("index_put_", "index_put_number_"))),
    Known("the order in which terms of a norm's gradient become infinite",
          kind=VALUES, theirs="nan",
          program=both(has_infinite_values, meets("layer_norm", "batch_norm"), theirs_is_nan)),
    Known("batch_norm with running statistics of images without a channel", kind="accepted",
          operation="batch_norm", theirs="index 0 out of range for tensor of size .0."),
    Known("sizes of attention are checked of empty tensors, too", kind="refused",
          operation="scaled_dot_product_attention", ours="do not go together|does not repeat to",
          program=has_empty_tensors),
    Known("as many values as keys are wanted; PyTorch may read beyond them", kind="refused",
          operation="scaled_dot_product_attention", ours="do not go together",
          program=values_are_not_as_many_as_keys),
    Known("a tensor cannot have its view as its grad()", kind="refused",
          operation="set_grad", ours="cannot be its own gradient"),
    Known("options of convolutions are checked of empty images, too", kind="refused",
          operation=CONVOLUTION,
          ours="stride and dilation must be positive", program=has_empty_tensors),
    Known("one row of logits has one target []", kind="refused", operation="nll_loss|cross_entropy",
          ours="do not go together"),
    Known("running statistics have no gradient, also if they require grad", kind="accepted",
          operation="backward|grad", theirs="not differentiable with respect to argument 'running_"),
    Known("a gradient of nothing that was given is not written", kind="version",
          operation="backward", program=has_empty_tensors),
    Known("relu_backward passes no gradient where the result is NaN or 0", kind=VALUES,
          program=both(meets("relu_backward"), theirs_is_nan)),
    Known("functions in place that copy a result refuse tensors with several elements in one place",
          kind="refused", operation="tril_|triu_|(bitwise|logical)_.*_|floor_divide_.*|remainder_.*|"
          "fmod_.*|atan2_|hypot_|div_|pow_|masked_fill_.*|" + FUNCTIONS_IN_PLACE,
          ours="lie on one place in memory"),
    Known("indices are integers, also where there are none", kind="refused",
          operation="scatter.*|gather|take.*|index_.*", ours="are no indices",
          program=has_empty_tensors),
    Known("multinomial refuses a row with too few positive weights", kind="refused",
          operation="multinomial", ours="weights of a row are positive"),
    Known("a NaN is no extreme of scatter_reduce that gets a gradient", kind=VALUES,
          program=both(meets("scatter_reduce"), theirs_is_nan)),
    Known("a power of a bool has a derivative; PyTorch subtracts 1 from the bool", kind="accepted",
          operation="backward|grad", theirs="Subtraction, the `-` operator, with a bool"),
    Known("comparisons of transposed tensors lie in memory row by row", kind="accepted",
          operation="view", theirs="view size is not compatible",
          program=does("eq", "ne", "lt", "le", "gt", "ge")),
    Known("a mean of nothing keeps nothing for its gradient", kind="accepted", theirs=MODIFIED,
          operation="backward|grad", program=both(has_empty_tensors, meets("nanmean", "normalize"))),
    Known("the differences of nothing", kind="requires_grad|is_leaf", operation="diff|trapezoid",
          program=has_empty_tensors),
    Known("a norm of order 0 has a derivative of 0; PyTorch's has none", kind="gradient's presence",
          theirs="None", program=meets("vector_norm", "dist", "normalize")),
    Known("the same, where the gradient is asked for", kind="presence", theirs="None",
          operation="grad", program=meets("vector_norm", "dist", "normalize")),
    Known("index_add takes several terms for a tensor of no dimensions", kind="accepted",
          operation="index_add_?", theirs="source tensor shape must match self tensor shape"),
    Known("PyTorch writes a part where an index is out of range; a refused write writes nothing",
          kind="values", program=refused_index_write),
    Known("these pass the gradient at NaN; PyTorch only where it computes element by element",
          kind=VALUES, program=both(has_infinite_values, meets(
              "hardtanh", "relu6", "softshrink", "hardshrink", "threshold"))),
    Known("PyTorch's softsign is a quotient, whose gradient has an infinity less an infinity",
          kind=VALUES, program=both(has_infinite_values, meets("softsign"), theirs_is_nan)),
    Known("a derivative of the variance of too few numbers is NaN", kind=VALUES, ours="nan",
          program=meets("var", "std", "var_mean", "std_mean")),
    Known("the one node of an LSTM keeps its biases", kind="refused", operation="lstm",
          ours="Inference tensors cannot be saved"),
    Known("elements that are not the largest get no gradient; PyTorch multiplies it by 0",
          kind=VALUES, program=both(theirs_is_nan, meets(
              "amax", "amin", "aminmax", "vector_norm", "dist", "normalize"))),
    Known("the same, outside the bounds of logit", kind=VALUES,
          program=both(theirs_is_nan, meets("logit"))),
    Known("a logcumsumexp of one number records its derivative", kind="requires_grad",
          operation="grad", theirs="False", program=both(creates_graph, meets("logcumsumexp"))),
    Known("PyTorch's ldexp keeps a copy of an operand that it converts", kind="refused",
          operation="backward|grad", ours=MODIFIED, program=meets("ldexp")),
    Known("the order of factors and terms, of which one is infinite", kind=VALUES,
          program=both(has_infinite_values, one_is_not_finite,
                       meets("prod", "prod_dim", "cumprod", "vector_norm", "var", "std",
                             "logsumexp", "logcumsumexp"))),
    Known("a zero of a sum has no sign", kind=VALUES, ours="inf", theirs="-inf",
          operation="number_div|div|reciprocal_?|rsqrt_?|pow", program=signs_differ),
    Known("gather picks from a tensor with dimensions", kind="refused", operation="gather",
          ours="out of range for a tensor of 0 dimensions"),
    Known("PyTorch's pow with an exponent of 0.5 is sqrt, of -inf NaN; C's is inf", kind=VALUES,
          theirs="nan", program=both(has_infinite_values, meets("pow"), one_is_not_finite)),
    Known("indices are checked also where nothing is picked", kind="refused",
          operation="index|index_put_.*", ours="is not within dimension",
          program=picks_no_element),
    Known("the biases of an LSTM are [4 hidden]; PyTorch adds what broadcasts", kind="refused",
          operation="lstm", ours="do not go together"),
    Known("a weight or bias of batch_norm is [channels]; PyTorch takes others if it has as many "
          "elements or none",
          kind="refused", operation="batch_norm", ours="does not go with input"),
    Known("the bias of linear is [out]", kind="refused", operation="linear",
          ours="does not go with weight", program=bias_is_not_of_outputs),
    Known("an index of nothing is checked, too", kind="refused", operation="gather|scatter_add",
          ours="does not go with", program=has_empty_tensors),
    Known("the weights of classes may be of another dtype than the numbers", kind="accepted",
          operation="nll_loss|cross_entropy", theirs="expected scalar type"),
    Known("a bool of no dimensions is no index", kind="refused", operation="index|index_put_.*",
          ours="picks nothing"),
    Known("an attention can be differentiated twice", kind="accepted", operation="backward|grad",
          theirs="derivative for aten::_scaled_dot_product_flash_attention"),
    Known("an attention does not need its result in backward", kind="accepted",
          operation="backward|grad", theirs=MODIFIED + ".*output 0 of ScaledDotProduct"),
    Known("an attention under autocast is bfloat16, which cannot be drawn", kind="refused",
          operation="uniform_|normal_", ours="makes float32 and float64",
          program=meets("scaled_dot_product_attention")),
    Known("cat and others require equal numbers of dimensions, also of tensors [0]", kind="refused",
          operation="cat|roll", ours="is out of range", program=has_empty_tensors),
    Known("an adaptive pooling to nothing is refused", kind="refused",
          operation="adaptive_(avg|max)_pool.*", ours="is not positive"),
    Known("copy_ of a tensor to itself checks as any other", kind="refused", operation="copy_",
          ours="several elements .* on one place",
          program=lambda program, difference: by_itself(difference.statement)),
    Known("PyTorch's embedding of no indices has no second derivative", kind="accepted",
          operation="backward|grad", theirs="cannot reshape tensor of 0 elements",
          program=both(meets("embedding"), has_empty_tensors)),
    Known("PyTorch's layer_norm without a weight lacks some second derivatives", kind="accepted",
          operation="backward|grad", theirs="Expected a proper Tensor but got None",
          program=both(meets("layer_norm"), creates_graph)),
    Known("the same; PyTorch leaves that derivative out", kind="gradient's values|values",
          operation="backward|grad|end", program=both(
              meets("layer_norm", where=has_no_weight), creates_graph)),
    Known("the largest of bools is true", kind="accepted", operation="arg(max|min)(_dim)?",
          theirs="does not support bool"),
    Known("an attention over nothing, too, is one of its mask", kind="requires_grad",
          operation="scaled_dot_product_attention", ours="True", theirs="False",
          program=has_empty_tensors),
    Known("the mask of an attention over nothing has a gradient of zeros", kind=PRESENCE,
          theirs="None", program=both(has_empty_tensors, meets("scaled_dot_product_attention"))),
    Known("a key that is masked, or seen by no query, has no effect in an attention, not even by "
          "its NaN",
          kind=VALUES, program=both(meets("scaled_dot_product_attention"), theirs_is_nan)),
    Known("a row of scores that are NaN or all -inf is NaN; PyTorch takes it for a masked row",
          kind=VALUES, ours="nan", program=both(
              meets("scaled_dot_product_attention"), ours_nan_theirs_zero)),
    Known("a weight of an attention below the least normal number is 0, which infinities make NaN",
          kind=VALUES, ours="nan", program=both(
              has_infinite_values, meets("scaled_dot_product_attention"), one_is_not_finite)),
    Known("a dilated window that misses the image has no gradient; PyTorch's is that of some pixel",
          kind=VALUES, operation="backward|grad|end", program=meets(*MAX_POOLS, where=is_dilated)),
    Known("a weight of a convolution that meets only padding gives no NaN", kind=VALUES,
          program=both(has_infinite_values, meets(*CONVOLUTIONS), theirs_is_nan)),
    Known("convolutions of bfloat16 take two channels at once, and multiply the infinities beside "
          "an odd one by 0; which ones do differs", kind=VALUES, ours="nan", program=both(
              in_16_bits, meets(*CONVOLUTIONS), one_is_not_finite)),
    Known("a tensor multiplied by a beta of 0 has no effect in addmm, nor the result of relu in "
          "relu_backward", kind="refused", operation="grad", ours="appears to not have been used",
          program=either(meets(*ADDED_PRODUCTS, where=has_beta_zero), meets("relu_backward"))),
    Known("a tensor multiplied by a beta of 0 may have another dtype in addmm", kind="accepted",
          operation="addmm|addmv|addr|addbmm", theirs="must have the same dtype", program=meets(
              *ADDED_PRODUCTS, where=has_beta_zero)),
    Known("a tensor multiplied by a beta of 0 has no effect in addmm",
          kind=f"(gradient's )?requires_grad|is_leaf|{PRESENCE}",
          program=meets(*ADDED_PRODUCTS, where=has_beta_zero)),
    Known("the same, and so its NaN", kind=VALUES, program=both(
          meets(*ADDED_PRODUCTS, where=has_beta_zero), one_is_not_finite)),
    Known("addmv has a result for each row; PyTorch's has the size of what is added if the matrix "
          "is empty", kind="sizes", operation="addmv", program=has_empty_tensors),
    Known("dist of order 0 has a derivative of 0; PyTorch fails", kind="accepted",
          operation="backward|grad", theirs="Expected a proper Tensor", program=meets("dist")),
    Known("a trace of bools counts them, as their sum", kind="accepted", operation="trace",
          theirs='"trace" not implemented'),
    Known("a mean of infinities is infinite; PyTorch's var_mean has NaN", kind=VALUES, ours="inf",
          theirs="nan", program=meets("var_mean", "std_mean")),
    Known("an infinite gradient times a slope of 0 is NaN; PyTorch's hardswish has 0 below -3",
          kind=VALUES, ours="nan", program=both(meets("hardswish"), one_is_not_finite)),
    Known("kron takes any strides", kind="accepted", operation="kron",
          theirs="view size is not compatible"),
    Known("the gradient of dist with order 0 or 1 does not depend on the operands",
          kind="(gradient's )?requires_grad", ours="False", theirs="True", program=meets("dist")),
    Known("addmm multiplies by an alpha of 0, also NaN; PyTorch passes over the product",
          kind=VALUES, ours="nan", program=both(
              meets(*ADDED_PRODUCTS, where=has_alpha_zero), one_is_not_finite)),
    Known("the one node of an attention, an LSTM or a cross_entropy keeps its tensors until "
          "backward", kind="refused",
          ours=MODIFIED + ".*needed by (Attention|Lstm|CrossEntropy)Backward"),
    Known("the same; an LSTM's node leads from each of its results to all others",
          kind="refused", operation="grad|backward", ours=MODIFIED, program=meets("lstm")),
    Known("the same, and so a grad of one result adds to the retained gradient of another",
          kind=f"gradient's (values|requires_grad)|{PRESENCE}", program=both(
              meets("lstm"), backward_to_inputs)),
    Known("masked_fill keeps its mask, which may be written before backward", kind="accepted",
          operation="backward|grad", theirs=MODIFIED + ".*CPUBoolType", program=does("masked_fill")),
    Known("PyTorch's matmul copies batches", kind="refused", operation="backward|grad",
          ours=MODIFIED + ".*needed by MatmulBackward",
          program=does("matmul", "linear", "scaled_dot_product_attention")),
    Known("a number divided by a tensor keeps the tensor; PyTorch's keeps 1 divided by it",
          kind="refused", operation="backward|grad", ours=MODIFIED + ".*needed by DivBackward",
          program=either(does("number_div"), both(does("div"), creates_graph))),
    Known("the same, where data() is written, which no version counts", kind="gradient's values",
          operation="backward|grad|end", program=both(does("data"), does("number_div", "lstm"))),
    Known("a gradient that is a view of the one given does not require grad, since nothing is "
          "recorded; PyTorch's says so if that one does", kind="(gradient's )?requires_grad",
          operation="grad|backward|end|get_grad", ours="False", theirs="True",
          program=passes_given_gradient),
    Known("a derivative that does not depend on a tensor does not require grad; PyTorch's may, and "
          "is then zero", kind="(gradient's )?requires_grad",
          operation="grad|backward|end|get_grad", ours="False", theirs="True",
          program=both(creates_graph, meets(*OF_OPERANDS))),
    Known("the same, and so has no gradient", kind=PRESENCE, ours="None",
          program=both(creates_graph, meets(*OF_OPERANDS))),
    Known("log_softmax of one number is 0, and so its gradient's zeros are a leaf",
          kind="is_leaf", operation="grad", ours="True", theirs="False",
          program=both(creates_graph, meets("log_softmax"))),
    Known("topk and kthvalue keep their indices, as PyTorch's; the reference copies the indices "
          "of its sort", kind="refused", operation="backward|grad",
          ours=MODIFIED + ".*needed by GatherBackward", program=does("topk", "kthvalue")),
    Known("PyTorch's derivative of digamma has 10 digits in float64, and fewer in float32",
          kind="(gradient's )?values", operation="polygamma|grad|backward|end|get_grad",
          program=meets("polygamma", "digamma")),
    Known("gelu by tanh of far negative numbers is a tiny negative number, or -0 as PyTorch's",
          kind=VALUES, operation="log.*", ours="nan", program=meets("gelu")),
    Known("PyTorch draws no slopes in float16", kind="accepted", operation="rrelu",
          theirs="rrelu_with_noise"),
    Known("the dtype of weighted counts of nothing is that of others", kind="dtype",
          operation="bincount", theirs="int64", program=has_empty_tensors),
    Known("PyTorch rounds the slope of hardsigmoid, and 1 / alpha of celu's, to float32",
          kind="(gradient's )?values", operation="grad|backward|end|get_grad",
          program=meets("hardsigmoid", "hardsigmoid_", "celu")),
    Known("an overwritten tensor has a gradient of zeros, which depends on no tensor",
          kind="(gradient's )?requires_grad", program=both(creates_graph, meets(
              "zero_", "fill_", "uniform_", "normal_", "bernoulli_", "copy_", "index_put_"))),
    Known("gradients of an attention of nothing are tensors of their own", kind="version",
          program=both(has_empty_tensors, meets("scaled_dot_product_attention"),
                       has_to_do_with_gradients)),
    Known("a derivative by an attention of nothing", kind="(gradient's )?requires_grad",
          operation="grad|backward", ours="True", theirs="False", program=both(
              has_empty_tensors, creates_graph, meets("scaled_dot_product_attention"))),
    Known("the same; PyTorch's may not be used at all", kind="accepted", operation="grad",
          theirs="appears to not have been used", program=both(
              has_empty_tensors, meets("scaled_dot_product_attention"))),
    Known("whether a gradient of nothing requires grad", kind="(gradient's )?requires_grad",
          operation="grad|backward|end", program=both(has_empty_tensors, creates_graph)),
    Known("relu_backward does not depend on the result of relu", kind="requires_grad|is_leaf",
          operation="relu_backward", ours="False|True", theirs="True|False"),
    Known("the same, and so its gradient is made of nothing", kind="requires_grad",
          operation="grad", ours="True", theirs="False", program=meets("relu_backward")),
    Known("the same, and so the result gets no gradient; PyTorch's is zero", kind=PRESENCE,
          ours="None", program=meets("relu_backward")),
    Known("a value near 0 of a gelu or an LSTM is exact to a rounding of 1, but not its "
          "reciprocal",
          kind=VALUES, operation="number_div|div|pow|log", program=meets("gelu", "lstm")),
    Known("the same of a batch_norm in 16 bits, or of equal numbers",
          kind=VALUES, operation="number_div|div|pow|log",
          program=both(either(in_16_bits, does("expand")), meets("batch_norm"))),
    Known("the same of results computed from such a quotient", kind=VALUES,
          operation="sin|cos|tanh|exp|sigmoid|erf", program=both(
              meets("gelu", "lstm"), meets("number_div", "div", "pow", "log"))),
    Known("a number within a rounding of another may compare otherwise", kind="values",
          operation="(eq|ne|lt|le|gt|ge)(_number)?", program=among_rounded_numbers),
    Known("a number within a rounding of an integer may be rounded to another", kind="values",
          operation="floor|ceil|trunc", program=among_rounded_numbers),
    Known("a number within a rounding of another may be the largest", kind="values",
          operation="max_dim|min_dim|argmax|argmax_dim", program=among_rounded_numbers),
    Known("the sign of a zero is not the same everywhere, and so not that of 1 divided by it",
          kind=VALUES, ours="inf", theirs="inf", program=both(
              meets("matmul", "bmm", "addmm", "linear", *CONVOLUTIONS, "tensordot",
                    "tensordot_last", "einsum"), signs_differ)),
    Known("an operand that shares memory with the tensor written in place is read before; "
          "PyTorch's in some order", kind="values", operation=".*_", program=reads_its_own_writes),
    Known("a backward under autocast: the products of an LSTM's are in the lower precision",
          kind=VALUES, operation="grad|backward", program=both(under_autocast, meets("lstm"))),
    Known("the same of a product with a vector; PyTorch's gradient is an outer product, which is not",
          kind=VALUES, operation="grad|backward",
          program=both(under_autocast, meets_product_with_a_vector)),
    Known("a tensor that detach_() took out of a graph is still the tensor that a node saved",
          kind="accepted",
          theirs="saved tensor that has been detached in-place", program=does("detach_")),
    Known("a Function's saved tensor that detach_() took out of the graph is refused, too",
          kind="refused", operation="backward|grad", ours="was detached in place",
          program=does("detach_")),
    Known("weights of classes that are no numbers", kind=VALUES, program=both(
          meets("nll_loss", "cross_entropy"), one_is_not_finite)),
    Known("pow(-inf, 0.5) is inf, as in C; PyTorch takes the square root", kind=VALUES,
          program=both(meets("pow", "float_power_number", where=is_a_root), one_is_not_finite)),
    Known("infinities as integers are the largest ones, and NaN is 0", kind="values",
          operation="to", program=theirs_is_the_least),
    Known("as_strided keeps to the memory of its tensor; that of a result may be larger in PyTorch",
          kind="refused", operation="as_strided", ours="are not within the memory of"),
    Known("results lie in memory otherwise, images with their channels last", kind="values|"
          "refused|accepted|gradient's values", operation="as_strided|view",
          program=meets(*ON_IMAGES)),
    Known("the same, and so may be copies where PyTorch's are views", program=copied_or_viewed),
    Known("gradients lie in memory as their formulas leave them", kind="refused|accepted",
          operation="as_strided|view", program=has_to_do_with_gradients),
    Known("PyTorch's linear of more than two dimensions returns a view", kind="accepted",
          operation="detach_", theirs="Can't detach views in-place",
          program=target_is_result_of("linear")),
    Known("the same of one dimension; a write in place leaves a view's hooks behind",
          kind=VALUES, operation="backward|grad", program=writes_linear_with_a_hook),
    Known("PyTorch's nll_loss of more than two dimensions returns a view", kind="accepted",
          operation="detach_", theirs="Can't detach views in-place",
          program=target_is_result_of("nll_loss", "cross_entropy")),
    Known("clone_with_strides wants dense strides", kind="refused",
          operation="clone_with_strides", ours="no dense strides"),
    Known("grad of an input sees its hooks also if another input lies before it",
          kind="values|gradient's values", operation="grad", program=meets("scaling_hook")),
    Known("dropout of all is 0, also of NaN, of infinities, and of negative numbers", kind=VALUES,
          program=both(meets("dropout", "drop_path", where=drops_all), one_is_not_finite)),
    Known("a tensor of another type than floating point does not require grad",
          kind="requires_grad|is_leaf",
          operation="index_put_|copy_", ours="False", theirs="True"),
    Known("an attention or LSTM is one node, which cannot run again if any part ran",
          kind="refused", operation="backward|grad",
          ours="second time: what (Attention|Lstm)Backward saved"),
    Known("the same of what its gradient was recorded as", kind="refused",
          operation="backward|grad", ours="second time",
          program=both(creates_graph, meets("lstm", "scaled_dot_product_attention"))),
    Known("a matmul of batches, an attention of several operations, and a cross_entropy end with "
          "a node that keeps tensors. PyTorch's ends with another node, and only it runs if the "
          "result is an input",
          kind="refused", operation="backward|grad",
          ours="second time: what (Matmul|CrossEntropy)Backward saved", program=backward_to_inputs),
    Known("the same; results of an LSTM retain their gradients if one of them is an input",
          kind="gradient's presence", theirs="None", program=both(backward_to_inputs, meets("lstm"))),
    Known("scatter_add keeps its indices for all its gradients", kind="refused",
          operation="backward|grad", ours="second time: what ScatterAddBackward saved"),
    Known("the same of the median of one number", kind="refused", operation="backward|grad",
          ours="second time: what GatherBackward saved", program=meets("median_dim")),
    Known("PyTorch's batch_norm of nothing is a copy", kind="refused", operation="backward|grad",
          ours=f"second time: what BatchNormBackward saved|{MODIFIED}.*needed by BatchNormBackward",
          program=has_empty_tensors),
    Known("hooks see gradients, never the lack of one", kind="accepted",
          operation="backward|grad", theirs="operand type.s. for .: 'NoneType'"),
    Known("autocast chooses dtypes as PyTorch does on accelerators", kind="dtype",
          ours="float", theirs="float", program=under_autocast),
    Known("PyTorch has no LSTM in float16 on this machine", kind="accepted", operation="lstm",
          theirs="could not create a primitive"),
    Known("PyTorch's autocast of several operands knows no float64", kind="accepted",
          theirs="in at::autocast::prioritize"),
    Known("PyTorch's max pools of 16-bit types refuses some gradients", kind="accepted",
          operation="backward|grad", theirs="grad_input must be contiguous"),
    Known("a node that keeps nothing can run again, and there are more of these", kind="accepted",
          operation="backward|grad", theirs=AGAIN),
]


def known(program, difference):
    """The first entry that explains a difference, or None."""
    return next((k for k in KNOWN if k.matches(program, difference)), None)
