# SPDX-License-Identifier: Apache-2.0
"""Checks that the differential test covers all operations: every function of ops.h and
tensor.h has statements in both languages, and a recipe.

    operations_test.py <root of the sources> <differential_interpreter>
"""

import collections
import pathlib
import re
import subprocess
import sys
import unittest

import dialects
import generate

# Statements of the overloaded functions.
OVERLOADS = {name: [name, f"{name}_number"] for name in
             ["add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge", "where", "remainder",
              "fmod", "floor_divide", "bitwise_and", "bitwise_or", "bitwise_xor",
              "bitwise_left_shift", "bitwise_right_shift"]}
OVERLOADS.update({name: [name, f"{name}_dims"] for name in ["sum", "mean"]})
OVERLOADS.update({name: [name, f"{name}_dim"] for name in ["max", "min", "argmax", "prod"]})
OVERLOADS.update({f"{name}_": [f"{name}_", f"{name}_number_"] for name in
                  ["add", "mul", "index_put"]})
OVERLOADS.update({"tensor_split": ["tensor_split", "tensor_split_at"],
                  "repeat_interleave": ["repeat_interleave", "repeat_interleave_tensor"],
                  "tensordot": ["tensordot", "tensordot_last"], "roll": ["roll", "roll_flat"], "unfold": ["unfold", "unfold_images"]})
OVERLOADS.update({"scatter": ["scatter", "scatter_number"],
                  "masked_fill": ["masked_fill", "masked_fill_tensor"]})
OVERLOADS.update({name: [name, f"{name}_number"] for name in ["lerp", "float_power"]})
OVERLOADS.update({name: [name, f"{name}_dim"] for name in ["median", "nanmedian", "unique"]})
OVERLOADS["div"] = ["div", "div_number", "div_rounded"]
OVERLOADS["pow"] = ["pow", "pow_tensor", "number_pow"]
OVERLOADS["div"].append("div_rounded_number")
OVERLOADS["where"] += ["number_where", "numbers_where"]
OVERLOADS["remainder"].append("number_remainder")
OVERLOADS["float_power"].append("number_float_power")
OVERLOADS["copysign"] = ["copysign", "copysign_number"]
OVERLOADS["cov"] = ["cov", "cov_weighted"]
OVERLOADS.update({name: [name, f"{name}_number", f"number_{name}"] for name in
                  ["xlogy", "xlog1py"]})
for name in ["and", "or", "xor", "left_shift", "right_shift"]:
    OVERLOADS[f"bitwise_{name}"].append(f"number_bitwise_{name}")
OVERLOADS["matrix_trace"] = ["trace"]
OVERLOADS["split"] = ["split", "split_size"]

NO_OPERATIONS = {
    "channels_last_strides": "computes strides, not tensors",
    "is_channels_last": "asks about a layout, which PyTorch chooses otherwise",
    "empty_channels_last": "its elements are not initialized",
    **{name: "makes a tensor from numbers; test/ops/shapes/patterns_test.cc" for name in
       ["eye", "linspace", "logspace", "tril_indices", "triu_indices"]},
    **{name: "draws random numbers" for name in ["rand_like", "randn_like", "randint"]},
    **{name: "draws random numbers; test/ops/order/draws_test.cc" for name in
       ["exponential_", "log_normal_", "cauchy_", "geometric_"]},
    "resized": "for intermediate results; as reshape",
    "times_factor": "for intermediate results; as mul",
    "without": "for intermediate results; as squeeze",
}
# Overloads without a statement, by name.
NO_OVERLOADS = {"to": 1}  # to(device); test/tensor/gpu
NO_METHODS = {
    "alias": "for operations; detach() is one",
    "grad": "get_grad",
    "register_hook": "scaling_hook",
    "register_post_accumulate_grad_hook": "for data parallelism; test/autograd/hooks_test.cc",
    "set_requires_grad": "requires_grad_",
}

RESULT = r"(?:Tensor|std::vector<Tensor>|MaxResult|MinResult|SortResult|UniqueResult|RunningResult|LstmResult|SpreadResult|ExtremesResult|double|bool|Dims|void)"


def headers(root):
    folder = pathlib.Path(root) / "horovodpp"
    text = (folder / "ops.h").read_text()
    exported = re.findall(r'#include "horovodpp/(.*?)" +// IWYU pragma: export', text)
    return [text] + [(folder / name).read_text() for name in exported]


def declared(root):
    """The number of declarations of each function in ops.h, including its exports."""
    counts = collections.Counter()
    for text in headers(root):
        counts.update(re.findall(rf"^{RESULT} (\w+)\(", text, re.MULTILINE))
    return {name: n - NO_OVERLOADS.get(name, 0) for name, n in counts.items()
            if name not in NO_OPERATIONS}


def methods(root):
    """The methods of Tensor that return tensors, by function name."""
    text = (pathlib.Path(root) / "horovodpp/tensor/tensor.h").read_text()
    found = re.findall(r"^  (?:const Tensor&|Tensor&|Tensor|std::vector<Tensor>) (\w+)\(", text,
                       re.MULTILINE)
    return {name for name in found if name not in NO_METHODS and name != "lock"}


class Operations(unittest.TestCase):
    def test_every_declaration_has_its_statement(self):
        found = declared(ROOT)
        self.assertGreater(len(found), 80)
        for name, count in sorted(found.items()):
            statements = OVERLOADS.get(name, [name])
            self.assertEqual(len(statements), count, f"overloads of {name}() in ops.h")
            for statement in statements:
                self.assertIn(statement, dialects.operations(), f"{name}() of ops.h: add it to "
                              "dialects.py, a recipe, and the interpreter in C++")

    def test_every_method_has_its_statement(self):
        found = methods(ROOT)
        self.assertGreater(len(found), 35)
        self.assertEqual(found - dialects.operations(), set())

    def test_every_statement_has_a_recipe(self):
        made = {"leaf"} | set(generate.RECIPES)
        self.assertEqual(dialects.operations(), made)

    def test_the_interpreter_knows_every_statement(self):
        listed = subprocess.run([INTERPRETER, "--list"], capture_output=True, text=True,
                                check=True).stdout.split()
        self.assertEqual(set(listed) | {"enter", "leave"}, dialects.operations())

    def test_programs_follow_from_their_seeds(self):
        self.assertEqual(generate.generate(7), generate.generate(7))
        self.assertNotEqual(generate.generate(7), generate.generate(8))


if __name__ == "__main__":
    ROOT, INTERPRETER = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
