# SPDX-License-Identifier: Apache-2.0
"""What takes the memory of a training step with torch, on each rank."""
from __future__ import annotations

import heapq
import time
import weakref
from typing import Any, ContextManager, Dict, List, Optional

import torch

from horovodpp import _core
from horovodpp.common.explained import explained
from horovodpp.torch.functions import allgather_object
from horovodpp.torch.parameters import HAS_POST_ACCUMULATE_HOOKS

CATEGORIES = ("parameters", "buffers", "gradients", "optimizer state", "saved for backward")
_MOST_HOLDERS = 10
# The list of the peak is made anew if the peak has grown by more.
_GROWTH = 1.001


def _bytes_text(count):
    return f"{count / 1e6:.2f} MB" if count >= 1e6 else f"{count / 1e3:.2f} kB"


@explained(categories="kind -> bytes.",
           arena_bytes="of them, the bytes in the memory that ranks share.",
           holders="(bytes, name) of the largest.",
           phase="the phase of the peak.",
           milliseconds="from the beginning of the step to the peak.",
           raises={"TypeError": "an argument is missing; MemoryWatch makes reports."},
           example="print(watch.report())")
class MemoryReport:
    """The moment at which a rank's tensors took the most memory.

    peak_bytes: bytes of all categories.
    categories: bytes by category (CATEGORIES).
    arena_bytes: of the gradients' bytes, those in the job's arena.
    holders: the ten largest, as (bytes, category, name), the largest first.
    phase, milliseconds: when it was.
    """

    def __init__(self, categories: Any, arena_bytes: int, holders: Any, phase: str,
                 milliseconds: float) -> None:
        self.peak_bytes = sum(categories.values())
        self.categories = categories
        self.arena_bytes = arena_bytes
        self.holders = holders
        self.phase = phase
        self.milliseconds = milliseconds

    def __str__(self) -> str:
        where = f", in {self.phase}" if self.phase else ""
        lines = [f"tensors took at most {_bytes_text(self.peak_bytes)}, "
                 f"{self.milliseconds:.1f} ms after the begin{where}"]
        lines += [f"  {name:<20} {_bytes_text(size):>12}"
                  for name, size in self.categories.items()]
        lines += [f"  {'(in the arena)':<20} {_bytes_text(self.arena_bytes):>12}", "the largest:"]
        lines += [f"  {_bytes_text(size):>12}  {category}: {name}"
                  for size, category, name in self.holders]
        return "\n".join(lines)


class _Saved:
    """A tensor that autograd keeps for backward, from its pack to its release."""
    __slots__ = ("tensor", "__weakref__")

    def __init__(self, tensor):
        self.tensor = tensor


@explained(model="the model of this rank.", optimizer="its optimizer, or None.",
           raises={"RuntimeError": "torch is older than 2.1."})
class MemoryWatch:
    """Finds what takes the memory of training steps with torch.

        with hvd.MemoryWatch(model, optimizer) as watch:
            with watch.phase("forward"):
                loss = model(batch).mean()
            with watch.phase("backward"):
                loss.backward()
            with watch.phase("step"):
                optimizer.step()
        print(watch.report())
        table = hvd.memory_of_ranks(watch.report())   # On every rank.

    It counts parameters, buffers and gradients of the model, tensors in the optimizer's state, and
    tensors that autograd saves for backward on this thread, by the module whose forward saves them.
    A storage counts once, for the first of these. It sees no other tensors: temporary results,
    tensors that compiled code saves, and the allocator's spare memory. Steps take longer meanwhile,
    and autograd does not notice if a saved tensor is changed in place. Raises RuntimeError with
    torch before 2.1.
    """

    def __init__(self, model: torch.nn.Module,
                 optimizer: Optional[torch.optim.Optimizer] = None) -> None:
        if not HAS_POST_ACCUMULATE_HOOKS:
            raise RuntimeError("MemoryWatch needs PyTorch 2.1 or later; this is "
                               f"{torch.__version__}")
        self._model = model
        self._optimizer = optimizer
        # Storage -> (category, name, bytes, whether it is in the arena).
        self._fixed: Dict[int, Any] = {}
        self._saved: Dict[int, Any] = {}  # Storage -> [tensors that are kept, name, bytes].
        self._bytes = 0  # Of both, about.
        self._modules: List[Any] = []  # Whose forward runs, the outermost first.
        self._hooks: List[Any] = []
        self._phase = ""
        self._peak: Any = None
        self._saving = torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack)

    def __enter__(self) -> MemoryWatch:
        self._began = time.perf_counter()
        for name, module in self._model.named_modules():
            self._hooks += [
                module.register_forward_pre_hook(self._entering(name or "model")),
                module.register_forward_hook(self._leaving, always_call=True)]
        for parameter in self._model.parameters():
            if parameter.requires_grad:
                self._hooks.append(
                    parameter.register_post_accumulate_grad_hook(lambda _: self._look()))
        if self._optimizer is not None:
            self._hooks.append(
                self._optimizer.register_step_post_hook(lambda *_: self._look()))
        self._look()
        self._saving.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._saving.__exit__(*error)
        self._look()
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def phase(self, name: str) -> ContextManager[None]:
        """A context manager; the report names the phase of the peak."""
        return _Phase(self, name)

    def report(self) -> MemoryReport:
        """The MemoryReport so far."""
        report: MemoryReport = self._peak
        return report

    def _entering(self, name):
        def enter(*_):
            if not self._modules:
                self._look()  # Gradients may have been cleared.
            self._modules.append(name)
        return enter

    def _leaving(self, *_):
        if self._modules:
            self._modules.pop()

    def _pack(self, tensor):
        # With its graph, a saved result would keep itself alive.
        saved = _Saved(tensor.detach())
        if tensor.layout != torch.strided:
            return saved
        storage = tensor.untyped_storage()
        key = storage.data_ptr()
        if key == 0 or key in self._fixed:
            return saved
        entry = self._saved.get(key)
        if entry is None:
            where = self._modules[-1] if self._modules else "outside of modules"
            kind = str(tensor.dtype).removeprefix("torch.")
            shape = ",".join(map(str, tensor.shape))
            entry = self._saved[key] = [0, f"{kind}[{shape}] of {where}", storage.nbytes()]
            self._bytes += entry[2]
        entry[0] += 1
        weakref.finalize(saved, self._release, key).atexit = False
        self._compare()
        return saved

    @staticmethod
    def _unpack(saved):
        return saved.tensor

    def _release(self, key):
        entry = self._saved[key]
        entry[0] -= 1
        if entry[0] == 0:
            del self._saved[key]
            self._bytes -= entry[2]

    def _tensors(self):
        """(category, name, tensor) of all but the saved ones."""
        names = {}
        for name, parameter in self._model.named_parameters():
            names[parameter] = name
            yield "parameters", name, parameter
        for name, buffer in self._model.named_buffers():
            yield "buffers", name, buffer
        for parameter, name in names.items():
            if parameter.grad is not None:
                yield "gradients", f"gradient of {name}", parameter.grad
        state = {} if self._optimizer is None else self._optimizer.state
        for parameter, values in state.items():
            for key, value in values.items() if isinstance(values, dict) else ():
                if isinstance(value, torch.Tensor):
                    yield "optimizer state", f"{key} of {names.get(parameter, '?')}", value

    def _look(self):
        self._fixed = {}
        for category, name, tensor in self._tensors():
            if tensor.layout != torch.strided or tensor.is_meta:
                continue
            storage = tensor.untyped_storage()
            key, size = storage.data_ptr(), storage.nbytes()
            if key != 0 and key not in self._fixed:
                in_arena = not tensor.is_cuda and _core.is_in_arena(key, size)
                self._fixed[key] = category, name, size, in_arena
        self._bytes = (sum(size for _, _, size, _ in self._fixed.values())
                       + sum(size for _, _, size in self._saved.values()))
        self._compare()

    def _holders(self):
        for category, name, size, _ in self._fixed.values():
            yield size, category, name
        for key, (_, name, size) in self._saved.items():
            if key not in self._fixed:
                yield size, "saved for backward", name

    def _compare(self):
        """Keeps the present moment if it is the peak."""
        if self._peak and self._bytes <= self._peak.peak_bytes * _GROWTH:
            return
        categories = dict.fromkeys(CATEGORIES, 0)
        for size, category, _ in self._holders():
            categories[category] += size
        self._peak = MemoryReport(
            categories, sum(size for category, _, size, in_arena in self._fixed.values()
                            if in_arena and category == "gradients"),
            heapq.nlargest(_MOST_HOLDERS, self._holders()), self._phase,
            (time.perf_counter() - self._began) * 1e3)


class _Phase:
    def __init__(self, watch, name):
        self._watch = watch
        self._name = name

    def __enter__(self):
        self._outer, self._watch._phase = self._watch._phase, self._name

    def __exit__(self, *_):
        self._watch._look()
        self._watch._phase = self._outer


@explained(report="this rank's MemoryReport.",
           returns="The table, a str, the same on all ranks.",
           example="""
               table = hvd.memory_of_ranks(watch.report())
               if hvd.rank() == 0:
                   print(table)""")
def memory_of_ranks(report: MemoryReport) -> str:
    """A table with a line for each rank, from the MemoryReport of each. Every rank calls it."""
    columns = ("peak", *CATEGORIES, "in the arena")
    rows = allgather_object(
        [report.peak_bytes, *(report.categories[name] for name in CATEGORIES),
         report.arena_bytes], name="memory of ranks")
    lines = ["MB of tensors at each rank's peak", "  ".join(("rank", *columns))]
    for rank, row in enumerate(rows):
        cells = [f"{size / 1e6:.2f}".rjust(len(column)) for column, size in zip(columns, row)]
        lines.append("  ".join((f"{rank:>4}", *cells)))
    return "\n".join(lines)
