# SPDX-License-Identifier: Apache-2.0
"""Batch normalization over the batches of all ranks."""
import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from horovodpp.common.explained import explained
from horovodpp.torch.mpi_ops import Sum, allgather_async, allreduce_, size, synchronize


@explained(num_features="the number of channels, the second dimension.",
           eps="added to the variance.",
           momentum="of the running statistics; None: their mean.",
           bias="whether the module has a bias.", affine="whether the module has weight and bias.",
           track_running_stats="whether it has running statistics.",
           device="of its parameters.",
           dtype="of its parameters.",
           process_set="the ranks whose batches are one. By default all.",
           example="norm = hvd.SyncBatchNorm(64)")
class SyncBatchNorm(_BatchNorm):
    """torch.nn.BatchNorm1d, 2d and 3d, over the batches of all ranks in training.

    Values and gradients equal the results of one process with the whole batch. Ranks may have
    batches of different sizes. Inputs are on the CPU and have at least 2 dimensions; the second one
    holds the features.
    """

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input):
        self._check_input_dim(input)
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
        if size() == 1 or not (self.training or self.running_mean is None):
            return self._on_this_rank(input)
        momentum = self.momentum
        if momentum is None:  # A cumulative average.
            momentum = 1.0 / float(self.num_batches_tracked) if self.track_running_stats else 0.0
        return _SyncBatchNorm.apply(input, self.weight, self.bias, self.running_mean,
                                    self.running_var, self.eps, momentum)

    def _on_this_rank(self, input):
        momentum = self.momentum
        if momentum is None:
            momentum = (1.0 / float(self.num_batches_tracked)
                        if self.training and self.track_running_stats else 0.0)
        tracked = not self.training or self.track_running_stats
        return functional.batch_norm(
            input, self.running_mean if tracked else None, self.running_var if tracked else None,
            self.weight, self.bias, self.training or self.running_mean is None, momentum,
            self.eps)


def _per_feature(vector, like):
    return vector.view(1, -1, *[1] * (like.dim() - 2))


class _SyncBatchNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias, running_mean, running_var, eps, momentum):
        features = input.shape[1]
        wide = torch.promote_types(input.dtype, torch.float32)
        x = input.to(wide)
        others = [dim for dim in range(input.dim()) if dim != 1]
        count = input.numel() // features if features else 0
        if count:
            mean = x.mean(others)
            squares = (x - _per_feature(mean, x)).square().sum(others)
        else:
            mean = x.new_zeros(features)
            squares = x.new_zeros(features)
        counts, means, all_squares = _of_all_ranks(count, mean, squares)
        total = counts.sum()
        if total <= 1:
            raise ValueError("Expected more than 1 value per channel when training, got "
                             f"{int(total)} over all ranks")
        weights = (counts / total).unsqueeze(1)
        mean = (weights * means).sum(0)
        squares = all_squares.sum(0) + (counts.unsqueeze(1) * (means - mean).square()).sum(0)
        mean, squares = mean.to(wide), squares.to(wide)
        invstd = torch.rsqrt(squares / total.to(wide) + eps)
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(mean.to(running_mean.dtype), alpha=momentum)
            unbiased = (squares / (total - 1).to(wide)).to(running_var.dtype)
            running_var.mul_(1 - momentum).add_(unbiased, alpha=momentum)
        normalized = (x - _per_feature(mean, x)) * _per_feature(invstd, x)
        ctx.save_for_backward(normalized, weight, invstd)
        ctx.total = float(total)
        ctx.others = others
        output = normalized
        if weight is not None:
            output = output * _per_feature(weight.to(wide), x)
        if bias is not None:
            output = output + _per_feature(bias.to(wide), x)
        return output.to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        normalized, weight, invstd = ctx.saved_tensors
        wide = grad.to(normalized.dtype)
        grad_bias = wide.sum(ctx.others)
        grad_weight = (wide * normalized).sum(ctx.others)
        grad_input = None
        if ctx.needs_input_grad[0]:
            sums = allreduce_(torch.cat([grad_bias, grad_weight]), op=Sum) / ctx.total
            mean_grad, mean_product = sums.chunk(2)
            grad_input = wide - _per_feature(mean_grad, wide) \
                - normalized * _per_feature(mean_product, wide)
            factor = invstd if weight is None else invstd * weight.to(normalized.dtype)
            grad_input = (grad_input * _per_feature(factor, wide)).to(grad.dtype)
        return (grad_input,
                grad_weight.to(weight.dtype) if weight is not None else None,
                grad_bias.to(weight.dtype) if weight is not None else None,
                None, None, None, None)


def _of_all_ranks(count, mean, squares):
    """Counts [ranks], means and sums of squares [ranks, features], as float64."""
    mine = torch.cat([mean.new_tensor([float(count)], dtype=torch.float64),
                      mean.to(torch.float64), squares.to(torch.float64)]).unsqueeze(0)
    everything = synchronize(allgather_async(mine))
    features = mean.numel()
    return everything[:, 0], everything[:, 1:1 + features], everything[:, 1 + features:]
