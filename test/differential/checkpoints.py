#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random programs as they are, and with their statements in checkpointed regions.

    checkpoints.py --interpreter build/dev/test/differential/differential_interpreter \\
        --count 5000 --seed 1

Every bit has to be equal: of values, gradients, running statistics, and of what the
generator draws next. Needs no PyTorch. Ends with 0 if all are; else each program that
differs is printed with its seed, made as small as it gets.
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
BATCH = 250  # Programs that are handed to the interpreter at once.
# What a region may not know, or says instead, of a tensor that was written meanwhile.
GUARDS = ("modified", "inplace", "in-place", "a second time", "leaf Variable", "mutated")
# What it says where what it captured has come to be recorded, or is no more.
OTHER = "The function must do the same whenever it runs"
# Likewise, of statistics that have come to require grad.
TRAINED = "running statistics have no gradient"
# What a region keeps has to have a version, also where the function does not save it.
INFERENCE = ("Inference tensors cannot be saved", "on an inference tensor")
# Of sums in another order, in which terms may cancel: some three units in the last place of the
# largest number for 16-bit types. That there is no more to it is what the same program in float64
# shows.
TOLERANCES = {"float32": 1e-5, "float64": 1e-12, "float16": 1e-2, "bfloat16": 3e-2}
EXACT = dict.fromkeys(TOLERANCES, 0.0)
# The reentrant form is a node of its own, whose function is not recorded at first.
REENTRANT = ("incompatible with .grad()", "not necessary", "does not require grad",
             "appears to not have been used", "ReentrantCheckpointBackward saved",
             "recorded, it does something else",
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
    """The statements of a region or a chain, and of those in it; or the statement."""
    parts = statement.get("links") or statement.get("statements")
    if parts is None:
        return [statement]
    return [s for part in parts for s in within(part)]


def kept(program, outcomes, form=None, refused_plainly=frozenset()):
    """What can be compared: what came of statements about gradients, up to the first one
    that is refused, which may have added to some of them by then; and the end. Of a
    program in a form, up to where that may do something else than the program did, which
    refused these."""
    if "crash" in outcomes:
        return [("crash", outcomes)]
    statements = program["statements"]
    result = []
    for statement, outcome in zip(statements, outcomes):
        was_refused = any(id(s) in refused_plainly for s in within(statement))
        if statement["do"] in ("region", "chain"):
            if "tensors" not in outcome:
                # A chain makes all or nothing.
                return result + ([] if was_refused else [("a region", outcome)])
            if form == "reentrant" and was_refused:
                return result  # Its function may do what it may not when it is recorded.
        elif statement["do"] not in ("backward", "grad"):
            if form == "reentrant" and was_refused != ("tensors" not in outcome):
                return result  # All its results require grad.
        else:
            result.append((statement["do"], outcome))
            if "error" in outcome:
                return result
    return result + [("the end", outcome) for outcome in outcomes[len(statements):]]


def difference(form, plain, checkpointed, tolerances=TOLERANCES):
    """(what, without regions, with them) of the first difference, or None."""
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
        return None  # Every result requires grad, and what comes of it.
    if not a[6] or not b[6]:
        return "gradient's presence" if a[6] else None
    return None if close(a[6][0], a[6][5], b[6][5], tolerances) else "gradient's values"


def close(dtype, a, b, tolerances):
    """Whether hexadecimal values are equal up to another order of sums, where both are
    finite: a result that backward does not reach has a gradient of zeros there, and not
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
    """Autocast computes in the dtype it is given, whatever that of the results."""
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
    """Whether some tensor is written that a region may have been given."""
    return any(s["do"].endswith("_") or s["do"] in ("batch_norm", "set_grad")
               for s in program["statements"])


def without_flags(outcomes):
    """Without what a gradient of a gradient says of itself: it depends on when what it was
    computed from came to require grad, and a region computes that later."""
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
    """Whether some tensors may be of a kind that is not saved; a region says nothing of that
    where one within it is refused."""
    return any(s.get("scope") == "inference_mode" for s in program["statements"])


def is_expected(form, program, found):
    """Whether a difference is what the form promises."""
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
        """Those that were asked for, or every other one of all."""
        return getattr(self.options, "form", None) or FORMS[program["seed"] % 2::2]

    def check(self, form, program, a, b):
        found = self.difference(form, program, a, b) or self.more_than_rounding(
            form, program, a, b)
        if found is None:
            self.compared[form] += 1
        elif is_expected(form, program, found):
            self.expected[form] += 1
        elif self.found < self.options.most:
            self.report(form, program, found)

    def more_than_rounding(self, form, program, a, b):
        """Of a program whose bits differ where they may: the first difference of the same
        program in float64, or None."""
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
            again = self.difference(form, candidate, a, b) or self.more_than_rounding(
                form, candidate, a, b)
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
