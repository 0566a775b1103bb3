# SPDX-License-Identifier: Apache-2.0
"""What tensors are turned into on their way between ranks."""
import torch


class Compressor:
    """Interface of compression."""

    @staticmethod
    def compress(tensor):
        """The tensor to send, and what decompress() needs besides."""
        raise NotImplementedError

    @staticmethod
    def decompress(tensor, ctx):
        """What was received, as it was before compress()."""
        raise NotImplementedError


class NoneCompressor(Compressor):
    """Sends tensors as they are."""

    @staticmethod
    def compress(tensor):
        return tensor, None

    @staticmethod
    def decompress(tensor, ctx):
        return tensor


class _NarrowCompressor(Compressor):
    narrow: torch.dtype

    @classmethod
    def compress(cls, tensor):
        dtype = tensor.dtype
        if dtype.is_floating_point:
            tensor = tensor.to(cls.narrow)
        return tensor, dtype

    @classmethod
    def decompress(cls, tensor, ctx):
        return tensor.to(ctx) if ctx.is_floating_point else tensor


class FP16Compressor(_NarrowCompressor):
    """Sends floating-point tensors as float16."""

    narrow = torch.float16


class BF16Compressor(_NarrowCompressor):
    """Sends floating-point tensors as bfloat16: float32's range, fewer digits."""

    narrow = torch.bfloat16


class Compression:
    """The compressors there are."""

    none = NoneCompressor
    fp16 = FP16Compressor
    bf16 = BF16Compressor
