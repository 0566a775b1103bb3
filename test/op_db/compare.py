# SPDX-License-Identifier: Apache-2.0
"""The first difference between our outcome of a case and PyTorch's."""

import dataclasses

import torch

from calls import NAMES, tensor_of

# rtol and atol of torch.testing.assert_close, as PyTorch's own tests of operations have them, or
# those that op_db gives for an entry (toleranceOverride), where these are larger. They
# hold for each element of a value, with these differences:
# - PyTorch compares gradients with finite differences in float64, 1e-3 and 1e-5. Here all dtypes
#   are compared, and rtol is of the largest element of all gradients of a sample: sums cancel.
# - In 16 bits rtol is four times as large, and of the largest element of all results of a sample,
#   since operations that are composed round after each of their steps.
# - A result is accepted as well if it is as near to PyTorch's result in float64 as PyTorch's own.
TOLERANCES = {torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5),
              torch.float32: (1.3e-6, 1e-5), torch.float64: (1e-7, 1e-7)}
STEPS = ("value", "gradient", "second gradient")


@dataclasses.dataclass
class Difference:
    kind: str
    ours: str
    theirs: str = ""

    def text(self):
        return f"{self.kind}: ours {self.ours}" + (f"; theirs {self.theirs}" if self.theirs else "")


def short(value, most=400):
    text = str(value)
    return text if len(text) <= most else text[:most] + " …"


def tolerance_of(entry, dtype):
    """(rtol, atol), the larger of PyTorch's for the dtype and for this entry's tests."""
    rtol, atol = TOLERANCES.get(dtype, (0, 0))
    for decorator in entry.decorators:
        for override in getattr(decorator, "decorators", [decorator]):
            own = getattr(override, "d", {}).get(dtype)
            if isinstance(own, float):  # precisionOverride has atol alone.
                atol = max(atol, own)
            elif own is not None:
                rtol, atol = max(rtol, own.rtol), max(atol, own.atol)
    return rtol, atol


def close(ours, theirs, largest, tolerance=None):
    """Whether the values are close. `largest`: the step's largest element, None for values."""
    rtol, atol = tolerance or TOLERANCES.get(theirs.dtype, (0, 0))
    if theirs.dtype in (torch.float16, torch.bfloat16):
        rtol *= 4
    elif largest is None or not theirs.is_floating_point():
        largest = 0.0
    if largest:
        rtol, atol = 0.0, atol + rtol * largest
    return torch.allclose(ours.double(), theirs.double(), rtol, atol, equal_nan=True)


def largest_of(tensors):
    found = [t.detach().double().abs() for t in tensors if t.is_floating_point()]
    return max((float(t[t.isfinite()].max()) for t in found if t.isfinite().any()), default=0.0)


def nearer(ours, theirs, exact):
    """Whether ours is as near to the result in float64 as PyTorch's, or within the tolerance."""
    if exact is None or exact.shape != ours.shape or not exact.is_floating_point():
        return False
    if not torch.equal(ours.isfinite(), theirs.isfinite()):
        # PyTorch has overflowed, or ours has.
        return close(ours, exact.to(ours.dtype), largest_of([exact.to(ours.dtype)]))
    ours, theirs = ours.double(), theirs.double()
    kept = ours.isfinite()
    off = (ours - exact)[kept].abs()
    return bool(off.numel() == 0 or off.max() <= (theirs - exact)[kept].abs().max())


def compare_tensor(ours, theirs, exact, largest, tolerance):
    """The kind of difference and the two texts, or None."""
    if ours is None or theirs.dtype not in NAMES:
        return ("dtype", str(ours and ours[0]), str(theirs.dtype))
    if ours[0] != NAMES[theirs.dtype]:
        return ("dtype", ours[0], NAMES[theirs.dtype])
    if ours[1] != list(theirs.shape):
        return ("sizes", str(ours[1]), str(list(theirs.shape)))
    mine, theirs = tensor_of(ours), theirs.detach()
    if close(mine, theirs, largest, tolerance) or theirs.is_floating_point() and nearer(mine, theirs, exact):
        return None
    at = worst(mine.double(), theirs.double())
    wide = None if exact is None or exact.shape != mine.shape else float(exact.flatten()[at])
    return ("", f"{mine.flatten()[at].item()} at element {at} of {list(mine.shape)}",
            f"{theirs.flatten()[at].item()}, in float64 {wide}")


def worst(ours, theirs):
    """The place of the largest difference; first a place where just one is finite."""
    apart = (ours - theirs).abs().flatten()
    apart[(ours == theirs).flatten() | (ours.isnan() & theirs.isnan()).flatten()] = 0.0
    return int(apart.nan_to_num(nan=float("inf")).argmax())


def difference(case, outcomes):
    """The first Difference, or None."""
    if "crash" in outcomes:
        return Difference("crash", short(outcomes["crash"], 2000))
    for statement, outcome in zip(case.program["statements"], outcomes):
        if statement["do"] in ("leaf", "as_strided") and "error" in outcome and (
                statement is not case.program["statements"][case.steps[0]]):
            return Difference("leaf", outcome["error"])
    if case.theirs is None:
        at = case.steps[0]
        before = any("error" in o or "skipped" in o for o in outcomes[:at + 1])
        return None if before else Difference("accepted", "no error")
    exact, seen = None, []
    steps = (case.theirs.values, case.theirs.first, case.theirs.second)
    for at, names, step, theirs in zip(case.steps, case.names, STEPS, steps):
        outcome = outcomes[at]
        if "tensors" not in outcome:
            error = outcome.get("error") or next(
                o["error"] for o in outcomes[:at] if "error" in o)
            return Difference(f"{step} refused", short(error))
        sixteen = case.dtype in (torch.float16, torch.bfloat16)
        seen += list(theirs)
        largest = largest_of(seen) if sixteen else largest_of(theirs) if step != "value" else None
        for i, (name, tensor) in enumerate(zip(names, theirs)):
            tolerance = tolerance_of(case.entry, tensor.dtype)
            ours = outcome["tensors"][name]
            if compare_tensor(ours, tensor, None, largest, tolerance) is None:
                continue
            exact = exact or results_in_float64(case)
            wide = exact and (exact.values, exact.first, exact.second)[STEPS.index(step)]
            found = compare_tensor(ours, tensor, wide[i] if wide and i < len(wide) else None,
                                   largest, tolerance)
            if found:
                kind, a, b = found
                return Difference(f"{step} {kind}".strip(), a, b)
    return None


def results_in_float64(case):
    try:
        return case.exact()
    except (RuntimeError, TypeError, NotImplementedError, ValueError):
        return None
