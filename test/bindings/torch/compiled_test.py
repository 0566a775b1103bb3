# SPDX-License-Identifier: Apache-2.0
"""Allreduce within functions that torch compiles as one graph."""
import pytest
import torch
from versions import needs_torch

import horovodpp.torch as hvd

pytestmark = needs_torch("2.6", "custom operators in compiled graphs")


def both(function, backend="aot_eager"):
    """The function, and its compiled form without any break."""
    torch._dynamo.reset()
    return function, torch.compile(function, fullgraph=True, backend=backend)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_results_and_gradients_are_those_of_eager_code(backend, rank):
    def loss(x, weight):
        total = hvd.allreduce(x * weight, op=hvd.Sum)
        mean = hvd.allreduce(total * 2, name="mean", prescale_factor=0.5)
        return (mean * hvd.allreduce(x, compression=hvd.Compression.fp16)).sum()

    results = []
    for function in both(loss, backend):
        weight = torch.full((3,), 2.0, requires_grad=True)
        value = function(torch.arange(3.0) + rank, weight)
        value.backward()
        results.append((value.detach(), weight.grad))
    torch.testing.assert_close(results[0], results[1])


def test_other_shapes_and_dtypes(size):
    for function in both(lambda x: hvd.allreduce(x, op=hvd.Sum) + 1):
        for x in (torch.ones(2, 3), torch.ones(5, 3), torch.ones((), dtype=torch.float64),
                  torch.ones(3, 2).t(), torch.ones(4, dtype=torch.int64)):
            result = function(x.contiguous())
            assert result.dtype == x.dtype and result.shape == x.shape
            assert (result == size + 1).all()


def test_a_process_set(pair):
    if pair.included():
        for function in both(lambda x: hvd.allreduce(x, op=hvd.Sum, process_set=pair)):
            assert function(torch.ones(3)).tolist() == [2, 2, 2]


def test_the_operator_is_right():
    x = torch.randn(4, requires_grad=True)
    torch.library.opcheck(torch.ops.horovodpp.allreduce.default, (x, "", hvd.Sum, 1.0, 1.0, 0))
