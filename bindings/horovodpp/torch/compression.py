# SPDX-License-Identifier: Apache-2.0
"""Compression of tensors between ranks."""
from __future__ import annotations

from typing import Any, Callable, Tuple

import torch

from horovodpp import _core
from horovodpp.common.process_sets import member
from horovodpp.torch.collectives.arguments import written
from horovodpp.torch.dtypes import describe


class Compressor:
    """Interface of compression."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> Tuple[torch.Tensor, Any]:
        """The tensor to send, and a context for decompress()."""
        raise NotImplementedError

    @staticmethod
    def decompress(tensor: torch.Tensor, ctx: Any) -> torch.Tensor:
        """Converts a received tensor to the type that it had before compress()."""
        raise NotImplementedError


class NoneCompressor(Compressor):
    """Sends tensors unchanged."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> Tuple[torch.Tensor, Any]:
        return tensor, None

    @staticmethod
    def decompress(tensor: torch.Tensor, ctx: Any) -> torch.Tensor:
        return tensor


class _NarrowCompressor(Compressor):
    narrow: torch.dtype

    @classmethod
    def compress(cls, tensor: torch.Tensor) -> Tuple[torch.Tensor, Any]:
        dtype = tensor.dtype
        if dtype.is_floating_point:
            tensor = tensor.to(cls.narrow)
        return tensor, dtype

    @classmethod
    def decompress(cls, tensor: torch.Tensor, ctx: Any) -> torch.Tensor:
        return tensor.to(ctx) if ctx.is_floating_point else tensor


class FP16Compressor(_NarrowCompressor):
    """Sends floating-point tensors as float16."""

    narrow = torch.float16


class BF16Compressor(_NarrowCompressor):
    """Sends floating-point tensors as bfloat16: float32's range, fewer digits."""

    narrow = torch.bfloat16


class Exchanger(Compressor):
    """Compresses float32 gradients into messages that only the whole exchange can decode.

    The error of a message is added to the next gradient of the same name, so each optimizer needs
    its own exchanger. Gradients of other types are sent unchanged.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._core = make()

    def __deepcopy__(self, memo):
        return Exchanger(self._make)

    def start(self, names, tensors, op, process_set, prescale_factor=1.0, postscale_factor=1.0):
        """Sends tensors together; returns a function that waits and writes the results."""
        core = member("Allreduce", process_set)
        gradients = [(name, describe(tensor)) for name, tensor in zip(names, tensors)]
        exchange = self._core.start(gradients, f"compressed.{names[0]}", op, prescale_factor,
                                    postscale_factor, core)

        def finish():
            exchange.finish()
            for tensor in tensors:
                written(tensor)

        return finish

    def state(self):
        """The state of each gradient: "<name>.<what>" -> tensor."""
        return {name: torch.from_dlpack(memory).view(torch.float32).clone()
                for name, memory in self._core.state()}

    def load_state(self, state):
        """Replaces the state."""
        kept = {name: tensor.to("cpu", torch.float32).contiguous()
                for name, tensor in state.items()}
        self._core.load_state([(name, describe(tensor)) for name, tensor in kept.items()])

    @staticmethod
    def compress(tensor: torch.Tensor) -> Tuple[torch.Tensor, Any]:
        """Raises ValueError: a single tensor cannot be compressed and then reduced."""
        raise ValueError("only a DistributedOptimizer supports this compression; for other "
                         "collectives use Compression.none, .fp16 or .bf16")


class Compression:
    """The available compressors."""

    none = NoneCompressor
    fp16 = FP16Compressor
    bf16 = BF16Compressor

    @staticmethod
    def int8() -> Exchanger:
        """Numbers from -127 to 127, with a factor for every 256 of them: a quarter of the bytes."""
        return Exchanger(_core.int8_blocks)

    @staticmethod
    def top_k(share: float = 0.01, *, momentum: float = 0.0, warmup_steps: int = 0,
              warmup_share: float = 0.25, mask_velocity: bool = False, whole_below: int = 0,
              max_norm: float = 0.0) -> Exchanger:
        """The largest elements, a share of all. Sends twice that share of the bytes.

        The options follow Lin et al., "Deep gradient compression", 2018:

        momentum: of the velocity that each rank sends instead of its gradients; set the wrapped
            optimizer's momentum to 0 then.
        warmup_steps, warmup_share: over so many steps the share falls from warmup_share to share.
        mask_velocity: whether the velocity of an element restarts once the element is sent.
        whole_below: gradients with fewer elements, such as of biases, are sent whole.
        max_norm: each rank clips each gradient's norm to max_norm / sqrt(ranks); 0: no clipping.

        Raises ValueError if an option makes no sense.
        """
        return Exchanger(lambda: _core.top_k(share, momentum, warmup_steps, warmup_share,
                                             mask_velocity, whole_below, max_norm))

    @staticmethod
    def signs(*, momentum: float = 0.0, warmup_steps: int = 0) -> Exchanger:
        """The sign of each element, times the mean absolute value: a 32nd of the bytes.

        During the first `warmup_steps` steps gradients are sent whole. `momentum` is as for
        top_k().

        Raises ValueError if an option makes no sense.
        """
        return Exchanger(lambda: _core.signs(momentum, warmup_steps))

    @staticmethod
    def power_sgd(rank: int = 4) -> Exchanger:
        """Sends an m x k matrix as rank * (m + k) numbers. Raises ValueError for a rank below 1."""
        return Exchanger(lambda: _core.power_sgd(rank))
