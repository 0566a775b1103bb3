# SPDX-License-Identifier: Apache-2.0
"""Wrong uses, each with the error that mypy finds. Not run."""
import torch

import horovodpp
import horovodpp.torch as hvd

model = torch.nn.Linear(3, 2)
x = torch.ones(3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())

rank: str = hvd.rank()  # error: assignment
initialized: int = hvd.init()  # error: assignment
mean: int = hvd.allreduce(x)  # error: assignment
handle: torch.Tensor = hvd.allreduce_async(x)  # error: assignment
pair: torch.Tensor = hvd.alltoall(x, [1, 2])  # error: assignment
hvd.allreduce(x, nme="x")  # error: call-arg
hvd.allreduce(x, name=1)  # error: arg-type
hvd.allreduce(x, op="sum")  # error: arg-type
hvd.allreduce([1.0])  # error: arg-type
hvd.allreduce(x, process_set=[0, 1])  # error: arg-type
hvd.broadcast(x, root_rank="0")  # error: arg-type
hvd.broadcast(x)  # error: call-arg
hvd.poll(x)  # error: arg-type
hvd.all_reduce(x)  # error: attr-defined
hvd.DistributedOptimizer(model)  # error: arg-type
hvd.DistributedOptimizer(optimizer, compression="fp16")  # error: arg-type
optimizer.step(max_norm="1")  # error: arg-type
optimizer.no_sync(1)  # error: call-arg
hvd.Compression.top_k(share="1%")  # error: arg-type
hvd.broadcast_parameters(x, root_rank=0)  # error: arg-type
hvd.uneven(3)  # error: arg-type
horovodpp.run(3)  # error: arg-type
horovodpp.run(print, num_proc="2")  # error: arg-type
hvd.start_timeline(3)  # error: arg-type
