"""Where horovodpp and PyTorch differ and that is known, each with its reason.

An entry that a long run never meets is out of date, and the run says so.
"""

import dataclasses
import re


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


VIEWS = {"reshape", "view", "transpose", "t", "permute", "expand", "squeeze", "unsqueeze",
         "as_strided", "narrow", "select", "slice", "split", "split_size", "chunk", "unbind",
         "index", "contiguous", "to", "dropout", "drop_path", "channels_last"}


def unrecorded(program, difference):
    """Whether the statement of a difference runs in a scope that does not record."""
    scopes = []
    for statement in program["statements"][:difference.at]:
        if statement["do"] == "enter":
            scopes.append(statement["scope"])
        elif statement["do"] == "leave" and scopes:
            scopes.pop()
    return "no_grad" in scopes or "inference_mode" in scopes


def does(*operations):
    """Whether one of these is in the program up to the difference."""
    def found(program, difference):
        return any(s["do"] in operations for s in program["statements"][:difference.at + 1])
    return found


def running_statistics(program, difference):
    return any(s["do"] == "batch_norm" and difference.name in s["of"][1:3]
               for s in program["statements"])


def gradient_given_is_named(program, difference):
    """Whether a gradient that a backward was given is a tensor of the program."""
    return any(s["do"] in ("backward", "grad") and any(s.get("gradients") or [])
               for s in program["statements"])


def writes_what_it_reads(program, difference):
    """Whether a tensor is multiplied by itself, in place."""
    return any(s["do"] == "mul_" and s["of"][0] == s["of"][1] for s in program["statements"])


def has_infinite_values(program, difference):
    return any(value in ("nan", "inf", "-inf") for s in program["statements"]
               if s["do"] == "leaf" for value in s["values"])


def has_empty_tensors(program, difference):
    return any(0 in s["sizes"] for s in program["statements"] if s["do"] == "leaf") or does(
        "narrow", "slice", "split", "chunk", "index", "pad")(program, difference)


MODIFIED = "modified by an inplace operation"

KNOWN = [
    # --- On purpose; see also "Differences from PyTorch" in docs/autograd.md ---
    Known("operands have one dtype; PyTorch promotes", kind="refused",
          ours=r"same dtype|dtypes|have one dtype|not in bool|computes in|convert"),
    Known("what has nothing to do returns its operand; PyTorch makes a view of it",
          kind="is_leaf", operation="expand|index|sum_to", ours="True", theirs="False"),
    Known("the same, where the gradient of operand or result is asked for",
          kind=r"(gradient's )?presence", program=does("expand", "index", "sum_to")),
    Known("a view made without recording does not require grad; PyTorch's says so if its base does",
          kind="requires_grad|is_leaf", operation="|".join(sorted(VIEWS)), program=unrecorded),
    Known("a write to running statistics counts as one", kind="version", ours="[1-9]",
          program=running_statistics),
    Known("a gradient that was given is never written; PyTorch adds to it if views stand between",
          kind="version", operation="backward|end",
          program=gradient_given_is_named),
    Known("scatter_add has a gradient where the source is larger than the indices",
          kind="accepted", theirs="ScatterAddBackward"),
    Known("conv2d of images without a row or column: all of the window is padding",
          kind="accepted", operation="conv2d", theirs="Only zero batch or zero channel"),
    Known("images and weights without a channel are refused", kind="refused",
          operation="conv2d|adaptive_avg_pool2d|avg_pool2d|max_pool2d", ours="empty but for n"),
    Known("no statistics of nothing", kind="refused", operation="batch_norm",
          ours=r"Expected more than 1 value per channel when training, but the input is .*\D0\D"),
    Known("sizes of attention are checked of empty tensors, too", kind="refused",
          operation="scaled_dot_product_attention", ours="do not go together",
          program=has_empty_tensors),
    Known("the mask of an attention over nothing has a gradient of zeros",
          kind=r"gradient's presence|presence", theirs="None",
          program=does("scaled_dot_product_attention")),
    Known("what is masked has no part in an attention, not even its NaN",
          kind="values|gradient's values", program=lambda program, difference: (
              has_infinite_values(program, difference)
              and does("scaled_dot_product_attention")(program, difference))),
    Known("what is multiplied by a beta of 0 has no part in addmm",
          kind=r".*requires_grad|.*presence|is_leaf|.*values", program=lambda program, difference: any(
              s["do"] == "addmm" and s["beta"] == 0 for s in program["statements"])),
    Known("x.mul_(x) keeps what its gradient needs", kind="accepted", theirs=MODIFIED,
          program=writes_what_it_reads),
    Known("one node for all of an attention or an LSTM keeps what it needs until backward",
          kind="refused", ours=MODIFIED + ".*needed by (Attention|Lstm)Backward"),
    Known("a derivative that does not depend on a tensor does not require grad; PyTorch's may, and "
          "is then zero", kind=r"(gradient's )?requires_grad", operation="grad|backward|end|get_grad",
          ours="False", theirs="True"),
    Known("relu_backward does not depend on the result of relu", kind="requires_grad|is_leaf",
          operation="relu_backward", theirs="True|False"),
    Known("weights of classes that are no numbers", kind=r"gradient's values|values",
          program=lambda program, difference: (
              has_infinite_values(program, difference)
              and does("nll_loss", "cross_entropy")(program, difference))),
    Known("results lie in memory otherwise, images with their channels last", kind="values|"
          "refused|accepted|gradient's values", operation="as_strided|view"),
    Known("argmax(x) works along the last dimension, and a scalar has none", kind="refused",
          operation="argmax", ours="no last dimension"),
    Known("dropout of all is 0, also of NaN and infinities",
          kind=r"values|gradient's values", program=lambda program, difference: any(
              s["do"] in ("dropout", "drop_path") and s["p"] == 1 for s in program["statements"])),
    Known("a key that no query sees, and a weight that meets only padding, get and give no NaN",
          kind=r"values|gradient's values", ours="nan|inf", theirs="nan|inf",
          program=does("scaled_dot_product_attention", "conv2d")),
    Known("what is no floating point does not require grad", kind="requires_grad|is_leaf",
          operation="index_put_|copy_", ours="False|True", theirs="True|False"),
    Known("which nodes keep something, and cannot run again, differs", kind="refused",
          operation="backward|grad",
          ours="second time: what (Attention|Lstm|ScatterAdd)Backward saved"),
    Known("hooks see gradients, never the lack of one", kind="accepted",
          operation="backward|grad", theirs="operand type.s. for .: 'NoneType'"),
    Known("autocast chooses dtypes as PyTorch does on accelerators", kind=".*dtype|accepted|refused",
          program=lambda program, difference: any(
              s.get("scope") == "autocast" for s in program["statements"])),
    Known("as_strided beyond its operand has no gradient", kind="refused",
          operation="backward|grad", ours="are not within the memory"),
    Known("a node that keeps nothing can run again, and there are more of these", kind="accepted",
          operation="backward|grad", theirs="backward through the graph a second time"),
    # --- Open: to be mended, then to be dropped here ---
    Known("batch_norm with running statistics has gradients of NaN for infinite images",
          kind="gradient's values|values", ours="nan", program=lambda program, difference: (
              has_infinite_values(program, difference) and any(
                  s["do"] == "batch_norm" and not s["training"] for s in program["statements"]))),
]


def known(program, difference):
    """The first entry that explains a difference, or None."""
    return next((k for k in KNOWN if k.matches(program, difference)), None)
