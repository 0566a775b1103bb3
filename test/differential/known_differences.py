"""Where horovodpp and PyTorch differ and that is known, each with its reason.

An entry that a long run never meets is out of date, and the run says so.
"""

import dataclasses
import re

from conditions import (SEVERAL_VIEWS, VIEWS, both, creates_graph, does, given_gradient,
                        gives_what_is_written, has_empty_tensors, has_infinite_values,
                        inference_leaf, is_unrecorded, meets, one_is_not_finite, one_of_the_same,
                        ours_nan_theirs_zero, passes_given_gradient, refused_inference_write,
                        result_of, theirs_is_nan, under_autocast, unrecorded, writes_to)


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


def adds_nothing_of_the_bias(statement):
    return statement["beta"] == 0


def adds_nothing_of_the_product(statement):
    return statement["alpha"] == 0


def drops_all(statement):
    return statement["p"] == 1


def by_itself(statement):
    return statement["of"][0] == statement["of"][1]


def is_training(statement):
    return statement["training"]


def not_training(statement):
    return not statement["training"]


def in_16_bits(program, difference):
    return any(s.get("dtype") in ("float16", "bfloat16") for s in program["statements"])


VALUES = "values|gradient's values"
PRESENCE = "presence|gradient's presence"
MODIFIED = "modified by an inplace operation"
AGAIN = "backward through the graph a second time"

KNOWN = [
    # --- On purpose; see also "Differences from PyTorch" in docs/autograd.md ---
    Known("operands have one dtype; PyTorch promotes", kind="refused",
          ours=r"same dtype|dtypes|have one dtype|not in bool|computes in|convert"),
    Known("a number takes the dtype of the tensor; PyTorch promotes", kind="dtype",
          operation=".*number.*", ours="int", theirs="float"),
    Known("what has nothing to do returns its operand; PyTorch makes a view of it",
          kind="is_leaf", operation="expand|index|sum_to", ours="True", theirs="False",
          program=one_of_the_same),
    Known("the same, where the gradient of operand or result is asked for", kind=PRESENCE,
          program=one_of_the_same),
    Known("the same, where grad has the operand or result as an input", kind="accepted",
          operation="grad", theirs="appears to not have been used", program=one_of_the_same),
    Known("the same; PyTorch's sum_to_size of a scalar is a copy", kind="version|values",
          program=both(does("sum_to"), one_of_the_same)),
    Known("the same, where one of both is made to require grad", kind="requires_grad|is_leaf",
          program=both(does("requires_grad_"), one_of_the_same)),
    Known("a view made without recording does not require grad; PyTorch's says so if its base does",
          kind="requires_grad", operation="|".join(sorted(VIEWS)), ours="False", theirs="True",
          program=unrecorded),
    Known("what had nothing to do returns its operand, also without recording; PyTorch makes "
          "a leaf of it", kind="is_leaf", operation="expand|index|sum_to", ours="False",
          theirs="True", program=both(unrecorded, one_of_the_same)),
    Known("a view made without recording can be used after a recorded write to its base",
          kind="dtype", theirs="unusable", program=result_of(
              *VIEWS, where=lambda program, at: is_unrecorded(program, at))),
    Known("one of several views can be used after a write to its base", kind="dtype",
          theirs="unusable", program=meets(*SEVERAL_VIEWS)),
    Known("the same, where it is an operand", kind="accepted",
          theirs="This view is the output of a function that returns multiple views",
          program=does(*SEVERAL_VIEWS)),
    Known("a view passes gradients to a base that requires them only since then; PyTorch takes it "
          "for a leaf", kind="is_leaf", ours="False", theirs="True",
          program=both(does("requires_grad_"), result_of(*VIEWS))),
    Known("operations on inference tensors that require grad are recorded", kind="requires_grad",
          ours="True", theirs="False", program=inference_leaf),
    Known("the same, and so inference tensors cannot be saved", kind="refused",
          ours="Inference tensors cannot be saved", program=inference_leaf),
    Known("the same; PyTorch's mean fails", kind="accepted", operation="mean_dims",
          theirs="don't support automatic differentiation", program=inference_leaf),
    Known("a refused write to an inference tensor leaves it as it was", kind="values",
          program=refused_inference_write),
    Known("a write to running statistics counts as one", kind="version", ours="[1-9]",
          program=running_statistics),
    Known("a gradient that was given is never written; PyTorch adds to it if views stand between",
          kind="version", operation="backward|end",
          program=both(given_gradient, theirs_counts_more)),
    Known("the same; PyTorch may keep it as the gradient of a leaf", kind="gradient's values",
          program=gives_what_is_written),
    Known("what is read overlaps what is written in place, and is read before", kind="accepted",
          theirs="some elements of the input tensor and the written-to tensor",
          operation=".*_|index_put_number_"),
    Known("a gradient of PyTorch's may have several elements in one place, and cannot be written",
          kind="accepted", operation=".*_", theirs="more than one element of the written-to tensor",
          program=both(does("grad", "get_grad"), writes_gradient)),
    Known("scatter_add has a gradient where the source is larger than the indices",
          kind="accepted", theirs="ScatterAddBackward"),
    Known("conv2d of images without a row or column: all of the window is padding",
          kind="accepted", operation="conv2d", theirs="Only zero batch or zero channel"),
    Known("images and weights without a channel are refused", kind="refused",
          operation="conv2d|adaptive_avg_pool2d|avg_pool2d|max_pool2d", ours="empty but for n"),
    Known("no statistics of nothing", kind="refused", operation="batch_norm",
          ours=r"Expected more than 1 value per channel when training, but the input is .*\D0\D"),
    Known("the running mean of infinite images is NaN, as their deviations from it are; PyTorch's "
          "is infinite", kind="values", ours="nan", theirs="inf", program=both(
              has_infinite_values, meets("batch_norm", where=is_training), one_is_not_finite)),
    Known("batch_norm with running statistics of images without a channel", kind="accepted",
          operation="batch_norm", theirs="index 0 out of range for tensor of size .0."),
    Known("sizes of attention are checked of empty tensors, too", kind="refused",
          operation="scaled_dot_product_attention", ours="do not go together",
          program=has_empty_tensors),
    Known("an attention over nothing, too, is one of its mask", kind="requires_grad",
          operation="scaled_dot_product_attention", ours="True", theirs="False",
          program=has_empty_tensors),
    Known("the mask of an attention over nothing has a gradient of zeros", kind=PRESENCE,
          theirs="None", program=both(has_empty_tensors, meets("scaled_dot_product_attention"))),
    Known("what is masked, or that no query sees, has no part in an attention, not even its NaN",
          kind=VALUES, program=both(meets("scaled_dot_product_attention"), theirs_is_nan)),
    Known("a row of scores that are NaN or all -inf is NaN; PyTorch takes it for one that is "
          "masked", kind=VALUES, ours="nan", program=both(
              meets("scaled_dot_product_attention"), ours_nan_theirs_zero)),
    Known("a weight of conv2d that meets only padding gives no NaN", kind=VALUES,
          program=both(has_infinite_values, meets("conv2d"), theirs_is_nan)),
    Known("convolutions of bfloat16 take two channels at once, and multiply the infinities beside "
          "an odd one by 0; which ones do differs", kind=VALUES, ours="nan", program=both(
              in_16_bits, has_infinite_values, meets("conv2d"), one_is_not_finite)),
    Known("what is multiplied by a beta of 0 has no part in addmm",
          kind=f"(gradient's )?requires_grad|is_leaf|{PRESENCE}",
          program=meets("addmm", where=adds_nothing_of_the_bias)),
    Known("the same, and so its NaN", kind=VALUES, program=both(
          meets("addmm", where=adds_nothing_of_the_bias), one_is_not_finite)),
    Known("addmm multiplies by an alpha of 0, also NaN; PyTorch passes over the product",
          kind=VALUES, ours="nan", program=both(
              meets("addmm", where=adds_nothing_of_the_product), one_is_not_finite)),
    Known("x.mul_(x) keeps what its gradient needs", kind="accepted", theirs=MODIFIED,
          program=lambda program, difference: any(
              s["do"] == "mul_" and by_itself(s) for s in program["statements"])),
    Known("masked_fill keeps its mask, which may be written before backward", kind="accepted",
          operation="backward|grad", theirs=MODIFIED,
          program=writes_to({"masked_fill"}, [1])),
    Known("batch_norm keeps what it needs of the running statistics, which may be written before "
          "backward", kind="accepted", operation="backward|grad", theirs=MODIFIED,
          program=writes_to({"batch_norm"}, [1, 2], not_training)),
    Known("an LSTM of 16-bit types keeps its results in float32, and those it returned may be "
          "written before backward", kind="accepted", operation="backward|grad",
          theirs=MODIFIED + ".*MkldnnRnnLayer", program=in_16_bits),
    Known("one node for all of an attention or an LSTM keeps what it needs until backward",
          kind="refused", ours=MODIFIED + ".*needed by (Attention|Lstm)Backward"),
    Known("a gradient that is a view of the one given does not require grad, since nothing is "
          "recorded; PyTorch's says so if that one does", kind="(gradient's )?requires_grad",
          operation="grad|backward|end|get_grad", ours="False", theirs="True",
          program=passes_given_gradient),
    Known("a derivative that does not depend on a tensor does not require grad; PyTorch's may, and "
          "is then zero", kind="(gradient's )?requires_grad",
          operation="grad|backward|end|get_grad", ours="False", theirs="True",
          program=both(creates_graph, meets(
              "relu", "relu_", "relu_backward", "layer_norm", "batch_norm", "nll_loss",
              "cross_entropy"))),
    Known("the gradient of an empty view that was written without recording",
          kind="(gradient's )?requires_grad", operation="grad|backward|end", ours="True",
          theirs="False", program=both(has_empty_tensors, creates_graph, unrecorded)),
    Known("relu_backward does not depend on the result of relu", kind="requires_grad|is_leaf",
          operation="relu_backward", ours="False|True", theirs="True|False"),
    Known("the same, and so the result gets no gradient; PyTorch's is zero", kind=PRESENCE,
          ours="None", program=meets("relu_backward")),
    Known("weights of classes that are no numbers", kind=VALUES, program=both(
          meets("nll_loss", "cross_entropy"), one_is_not_finite)),
    Known("pow(-inf, 0.5) is inf, as in C; PyTorch takes the square root", kind="values",
          operation="pow", ours="inf", theirs="nan", program=one_is_not_finite),
    Known("infinities as integers are the largest ones", kind="values", operation="to",
          program=has_infinite_values),
    Known("results lie in memory otherwise, images with their channels last", kind="values|"
          "refused|accepted|gradient's values", operation="as_strided|view"),
    Known("PyTorch's linear of more than two dimensions returns a view", kind="accepted",
          operation="detach_", theirs="Can't detach views in-place",
          program=lambda program, difference: any(
              s["do"] == "linear" and difference.statement["of"][0] in s["as"]
              for s in program["statements"])),
    Known("clone_with_strides wants dense strides", kind="refused",
          operation="clone_with_strides", ours="no dense strides"),
    Known("grad of an input sees its hooks also if another input lies before it",
          kind="values|gradient's values", operation="grad", program=does("scaling_hook")),
    Known("argmax(x) works along the last dimension, and a scalar has none", kind="refused",
          operation="argmax", ours="no last dimension"),
    Known("dropout of all is 0, also of NaN and infinities", kind=VALUES, program=both(
          meets("dropout", "drop_path", where=drops_all), theirs_is_nan)),
    Known("what is no floating point does not require grad", kind="requires_grad|is_leaf",
          operation="index_put_|copy_", ours="False", theirs="True"),
    Known("an attention or LSTM is one node, which cannot run again if any part of it ran",
          kind="refused", operation="backward|grad",
          ours="second time: what (Attention|Lstm)Backward saved"),
    Known("scatter_add keeps its indices for all its gradients", kind="refused",
          operation="backward|grad", ours="second time: what ScatterAddBackward saved"),
    Known("PyTorch's batch_norm of nothing is a copy", kind="refused", operation="backward|grad",
          ours="second time: what BatchNormBackward saved", program=has_empty_tensors),
    Known("hooks see gradients, never the lack of one", kind="accepted",
          operation="backward|grad", theirs="operand type.s. for .: 'NoneType'"),
    Known("autocast chooses dtypes as PyTorch does on accelerators", kind="dtype",
          ours="float", theirs="float", program=under_autocast),
    Known("PyTorch has no LSTM in float16 on this machine", kind="accepted", operation="lstm",
          theirs="could not create a primitive"),
    Known("PyTorch's autocast of several operands knows no float64", kind="accepted",
          theirs="in at::autocast::prioritize"),
    Known("PyTorch's max_pool2d of 16-bit types refuses some gradients", kind="accepted",
          operation="backward|grad", theirs="grad_input must be contiguous"),
    Known("as_strided beyond its operand has no gradient", kind="refused",
          operation="backward|grad", ours="are not within the memory"),
    Known("a node that keeps nothing can run again, and there are more of these", kind="accepted",
          operation="backward|grad", theirs=AGAIN),
]


def known(program, difference):
    """The first entry that explains a difference, or None."""
    return next((k for k in KNOWN if k.matches(program, difference)), None)
