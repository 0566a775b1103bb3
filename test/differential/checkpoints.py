#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random programs as they are, and with their statements in checkpointed regions.

    checkpoints.py --interpreter build/dev/test/differential/differential_interpreter \\
        --count 5000 --seed 1

Every bit must be equal: of values, gradients, running statistics, and of the generator's next
numbers. Needs no PyTorch. Exits with 0 if all are equal. Otherwise prints each program that
differs with its seed, shrunk as far as possible.
"""

import argparse
import collections
import json
import math
import struct
import sys
import time

import dialects
import generate
import regions
import shrink
from interpreter import Interpreter

FORMS = ("region", "nested", "online", "sequential", "planned", "reentrant", "selective",
         "offload")
BATCH = 250  # Programs per call of the interpreter.
# Parts of errors about tensors written meanwhile; a region may report these differently.
GUARDS = ("modified", "inplace", "in-place", "a second time", "leaf Variable", "mutated")
# The error if a captured tensor starts or stops being recorded.
OTHER = "The function must do the same whenever it runs"
# Likewise for statistics that have come to require grad.
TRAINED = "running statistics have no gradient"
# A tensor that a region keeps must have a version, even if the function does not save it.
INFERENCE = ("Inference tensors cannot be saved", "on an inference tensor")
# For sums in another order, whose terms may cancel: about three units in the last place of the
# largest number for 16-bit types. The same program in float64 shows whether a difference is only
# rounding.
TOLERANCES = {"float32": 1e-5, "float64": 1e-12, "float16": 1e-2, "bfloat16": 3e-2}
EXACT = dict.fromkeys(TOLERANCES, 0.0)
# The reentrant form is its own node, whose function first runs unrecorded.
REENTRANT = ("incompatible with .grad()", "not necessary", "does not require grad",
             "appears to not have been used", "ReentrantCheckpointBackward saved",
             "recorded, it does something else",
             # A region reaches all its arguments, also those that its results do not need.
             "a second time",
             # Gradients of zeros where there would be none, made under inference_mode.
             "Inplace update to inference tensor")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interpreter", required=True)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--form", choices=FORMS, action="append",
                        help="may be repeated; by default every other one for each program")
    parser.add_argument("--most", type=int, default=10, help="differences to show, then stop")
    return parser.parse_args()


def refused(program, outcomes):
    """The statements, by identity, that were refused or skipped."""
    if "crash" in outcomes:
        return set()
    return {id(s) for s, outcome in zip(program["statements"], outcomes)
            if "tensors" not in outcome}


def within(statement):
    """The statements within a region or a chain; for other statements, the statement itself."""
    parts = statement.get("links") or statement.get("statements")
    if parts is None:
        return [statement]
    return [s for part in parts for s in within(part)]


def kept(program, outcomes, form=None, refused_plainly=frozenset()):
    """The comparable outcomes: of statements about gradients, up to the first refused one
    (which may already have added to some gradients), and of the end. With a form, only up
    to the place where the form may behave differently, given `refused_plainly`, the
    statements that the plain program refused."""
    if "crash" in outcomes:
        return [("crash", outcomes)]
    statements = program["statements"]
    result = []
    for statement, outcome in zip(statements, outcomes):
        was_refused = any(id(s) in refused_plainly for s in within(statement))
        if statement["do"] in ("region", "chain"):
            if "tensors" not in outcome:
                # A chain returns all its results or none.
                return result + ([] if was_refused else [("a region", outcome)])
            if form == "reentrant" and was_refused:
                return result  # Its unrecorded function may do more than a recorded one.
        elif statement["do"] not in ("backward", "grad"):
            if form == "reentrant" and was_refused != ("tensors" not in outcome):
                return result  # All its results require grad.
        else:
            result.append((statement["do"], outcome))
            if "error" in outcome:
                return result
    return result + [("the end", outcome) for outcome in outcomes[len(statements):]]


def difference(form, plain, checkpointed, tolerances=TOLERANCES):
    """(what, without regions, with regions) of the first difference, or None."""
    for (where, a), (other, b) in zip(plain, checkpointed):
        if other == "a region":
            return f"{other} is refused or not", "", str(b)
        if "crash" in a or "crash" in b:
            return "crash", a.get("crash", ""), b.get("crash", "")
        if "error" in a and "error" in b or "skipped" in a and "skipped" in b:
            continue
        if "tensors" not in a or "tensors" not in b:
            return f"{where} is refused or not", str(a)[:500], str(b)[:500]
        for name in sorted(set(a["tensors"]) & set(b["tensors"])):
            x, y = a["tensors"][name], b["tensors"][name]
            found = differs(form, x, y, tolerances)
            if found:
                return f"{found} of {name} at {where}", str(x), str(y)
    return None


def differs(form, a, b, tolerances):
    """The field that differs, or None."""
    if form != "reentrant":
        return None if a == b else "a field"
    if not a or not b or len(a) < 7 or len(b) < 7:
        return None if bool(a) == bool(b) else "presence"
    if not close(a[0], a[5], b[5], tolerances):
        return "values"
    if a[2] != b[2]:
        return None  # Every result, and every tensor made from it, requires grad.
    if not a[6] or not b[6]:
        return "gradient's presence" if a[6] else None
    return None if close(a[6][0], a[6][5], b[6][5], tolerances) else "gradient's values"


def close(dtype, a, b, tolerances):
    """Whether hexadecimal values are equal except for the order of sums, where both are
    finite. A result that backward does not reach has a gradient of zeros there instead of
    none, and zero times infinity is NaN."""
    if a == b:
        return True
    if dtype not in tolerances or len(a) != len(b):
        return False
    x, y = numbers(dtype, a), numbers(dtype, b)
    scale = max([1.0] + [abs(v) for v in x if math.isfinite(v)])
    return all(abs(v - w) <= tolerances[dtype] * scale for v, w in zip(x, y)
               if math.isfinite(v) and math.isfinite(w))


def tolerances_of(program):
    """Autocast computes in its own dtype, independent of the results' dtype."""
    given = [TOLERANCES[s["dtype"]] for s in program["statements"]
             if s.get("scope") == "autocast"]
    return {dtype: max([least, *given]) for dtype, least in TOLERANCES.items()}


def numbers(dtype, hexadecimal):
    data = bytes.fromhex(hexadecimal)
    if dtype == "bfloat16":
        data = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
    code = {"float16": "e", "float64": "d"}.get(dtype, "f")
    return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)


def writes(program):
    """Whether a tensor is written that may be an argument of a region."""
    return any(s["do"].endswith("_") or s["do"] in ("batch_norm", "set_grad")
               for s in program["statements"])


def without_flags(outcomes):
    """Drops requires_grad and is_leaf. For a gradient of a gradient they depend on when its
    inputs came to require grad, and a region computes it later."""
    def bare(tensor):
        if not tensor or len(tensor) < 6:
            return tensor
        return [*tensor[:2], None, None, *tensor[4:6], *map(bare, tensor[6:])]

    return [(where, {**outcome, "tensors": {name: bare(tensor) for name, tensor
                                            in outcome["tensors"].items()}}
             if "tensors" in outcome else outcome) for where, outcome in outcomes]


def changes_requirements(program):
    """Whether a tensor comes to require grad, or no longer does."""
    return any(s["do"] == "requires_grad_" for s in program["statements"])


def infers(program):
    """Whether some tensors may be inference tensors, which are not saved. A region does not
    report them if a nested region is refused."""
    return any(s.get("scope") == "inference_mode" for s in program["statements"])


def is_expected(form, program, found):
    """Whether the form allows the difference."""
    what, without, with_regions = found
    if form == "nested" and infers(program):
        return True
    if not what.endswith("refused or not"):
        return False
    texts = without + with_regions
    return (any(text in texts for text in INFERENCE)
            or changes_requirements(program) and TRAINED in texts
            or writes(program) and any(text in texts for text in (OTHER, *GUARDS))
            or form == "reentrant" and ("skipped" in without
                                        or any(text in texts for text in REENTRANT)))


class Run:
    def __init__(self, options):
        self.options = options
        self.interpreter = Interpreter([options.interpreter])
        self.found = 0
        self.rounded = 0
        self.compared = collections.Counter()
        self.expected = collections.Counter()

    def check_batch(self, programs):
        pairs = [(p, form) for p in programs for form in self.forms_of(p)]
        run = self.interpreter.start([regions.checkpointed(p, form) for p, form in pairs])
        plain = dict(zip((p["seed"] for p in programs), self.interpreter.run(programs)))
        for (program, form), b in zip(pairs, run.result()):
            self.check(form, program, plain[program["seed"]], b)

    def forms_of(self, program):
        """The requested forms, or every other one of all."""
        return getattr(self.options, "form", None) or FORMS[program["seed"] % 2::2]

    def check(self, form, program, a, b):
        found = self.real_difference(form, program, a, b)
        if found is None:
            self.compared[form] += 1
        elif is_expected(form, program, found):
            self.expected[form] += 1
        elif self.found < self.options.most:
            self.report(form, program, found)

    def real_difference(self, form, program, a, b):
        """The first difference, or None. Values of the reentrant form also have to differ in
        float64: terms may cancel."""
        found = self.difference(form, program, a, b)
        if found and not (form == "reentrant" and found[0].split(" of ")[0].endswith("values")):
            return found
        return self.more_than_rounding(form, program, a, b)

    def more_than_rounding(self, form, program, a, b):
        """For a program whose bits may differ: the first difference of the same program in
        float64, or None."""
        if form != "reentrant" or self.difference(form, program, a, b, EXACT) is None:
            return None
        self.rounded += 1
        wide = dialects.in_float64(program)
        found = self.difference(form, wide, *self.both(wide, form), TOLERANCES)
        return None if found and is_expected(form, wide, found) else found

    def both(self, program, form):
        return self.interpreter.run([program, regions.checkpointed(program, form)])

    @staticmethod
    def difference(form, program, a, b, tolerances=None):
        made = regions.checkpointed(program, form)
        plain, checkpointed = kept(program, a), kept(made, b, form, refused(program, a))
        if form != "reentrant" and changes_requirements(program):
            plain, checkpointed = without_flags(plain), without_flags(checkpointed)
        return difference(form, plain, checkpointed, tolerances or tolerances_of(program))

    def report(self, form, program, found):
        self.found += 1

        def still_differs(candidate):
            a, b = self.both(candidate, form)
            again = self.real_difference(form, candidate, a, b)
            return (again is not None and again[0].split()[0] == found[0].split()[0]
                    and not is_expected(form, candidate, again))

        small = regions.checkpointed(shrink.shrunk(program, still_differs), form)
        print(f"\n=== seed {program['seed']}, form {form}: {found[0]}\n  without: {found[1]}\n"
              f"  with:    {found[2]}")
        print("\n".join(json.dumps(s) for s in small["statements"]), flush=True)

    def summary(self):
        for form in FORMS:
            if self.compared[form] or self.expected[form]:
                print(f"{form:12} {self.compared[form]:6} equal, {self.expected[form]:4} refused "
                      "otherwise because of a write")
        if self.rounded:
            print(f"{self.rounded} reentrant ones differed by rounding, and were compared in "
                  "float64, too")


def main():
    options = arguments()
    run, start = Run(options), time.time()
    last = options.seed + options.count
    for seed in range(options.seed, last, BATCH):
        run.check_batch([regions.with_chance(generate.generate(s))
                         for s in range(seed, min(seed + BATCH, last))])
        if run.found >= options.most:
            print(f"stopped after {options.most} differences")
            break
    run.summary()
    print(f"{options.count} programs from seed {options.seed} in {time.time() - start:.0f} s: "
          f"{run.found} differences")
    return 1 if run.found else 0


if __name__ == "__main__":
    sys.exit(main())
