# SPDX-License-Identifier: Apache-2.0
"""Where our operations and PyTorch's differ, each with its reason: the only such list.

The test fails if an entry matches no sample, unless it runs a part of op_db (--only).
"""

import dataclasses
import re


@dataclasses.dataclass
class Known:
    reason: str
    entries: str  # A regular expression for the whole name of the entry, as the next.
    kind: str
    ours: str = ""  # To be found in the text of our value or error.
    theirs: str = ""
    dtypes: tuple = ()  # Empty: all.
    labels: str = ""  # To be found in the sample's label.
    rare: bool = False  # Whether only a run over all samples meets it.

    def matches(self, name, case, difference):
        dtype = str(case.dtype).removeprefix("torch.")
        return (re.fullmatch(self.entries, name) is not None
                and re.fullmatch(self.kind, difference.kind) is not None
                and re.search(self.ours, difference.ours) is not None
                and re.search(self.theirs, difference.theirs) is not None
                and (not self.dtypes or dtype in self.dtypes)
                and re.search(self.labels, case.label) is not None)


KNOWN = [
    Known("an input of 65 dimensions is not even made", "amax|amin|aminmax", "leaf",
          "a tensor has at most 8 dimensions"),
    Known("functions of floating-point numbers do not convert integers: to()", ".*",
          "value refused", r"computes in (floating point|float32 and float64), not in "
          r"(u?int\d+|bool)|predictions (u?int\d+|bool)\[.*\] are not of a floating dtype"),
    Known("arithmetic does not take bools: to()", "add|mul|sign|scatter_add", "value refused",
          "computes in integers and floating point, not in bool", dtypes=("bool",)),
    Known("a bool tensor takes 0 and 1 alone: PyTorch makes any other number true",
          "masked_fill|.*pad.*", "value refused", "bool does not hold", dtypes=("bool",)),
    Known("an integer tensor takes whole numbers alone: PyTorch truncates any other", "scatter",
          "value refused", "does not hold 2.5", rare=True),
    Known("sum_to() is for gradients, and keeps integer dtypes; PyTorch sums these as int64",
          "sum_to_size", "value dtype"),
    Known("cat() takes an empty vector for what its shape says; PyTorch skips it", "cat",
          "value refused", "out of range for a tensor of 1 dimensions"),
    Known("indices are int64, also where there are none", "gather", "value refused",
          r"an index (u?int\d+).* does not go with"),
    Known("batch_norm() wants a batch and channels", "nn.functional.batch_norm",
          "value refused", r"float\d+\[0\] is not \[n, channels, ...\]"),
    Known("a number is not a row of one class", "nn.functional.multilabel_margin_loss|"
          "nn.functional.multi_margin_loss", "value refused", r"predictions .* do not go together"),
    Known("a stride of 0 is the kernel's size", "nn.functional.max_pool1d", "accepted",
          labels="error input"),
    Known("p of a norm is above 0", "nn.functional.pairwise_distance", "value refused",
          "wanted is a positive number", rare=True),
    Known("PyTorch's gradient holds for normalized log-probabilities alone; ours is the derivative "
          "for any (test/ops/losses/torch_losses_test.cc compares after log_softmax)",
          "nn.functional.ctc_loss", "gradient"),
    Known("second derivatives of a root of a norm of one element cancel, but for rounding",
          "nn.functional.normalize", "second gradient", labels="sample 2", rare=True),
    Known("factors of products of integers are whole; PyTorch cuts their fraction off",
          "b?addbmm|addmm|addmv|addr", "value refused", "is not whole", rare=True),
    Known("the interpreter reads numbers as float64", "unravel_index", "value",
          theirs="9223372036854775806", rare=True),
    Known("of many equal elements PyTorch's mode has any index", "mode", "value",
          labels="sample 6", rare=True),
    Known("powers of 0 have finite second derivatives; PyTorch's are NaN", "float_power",
          "second gradient", theirs="^nan", dtypes=("bfloat16",), rare=True),
    Known("Stirling's term has gradient 0 at a target of 0; PyTorch's is NaN",
          "nn.functional.poisson_nll_loss", "(second )?gradient", theirs="^nan",
          dtypes=("float16", "bfloat16"), rare=True),
]
