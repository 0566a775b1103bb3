# SPDX-License-Identifier: Apache-2.0
"""A script as Horovod's users write them: it does not mention horovodpp."""
import horovod.torch as hvd
import torch
import torch.nn.functional as F

hvd.init()
torch.manual_seed(42 + hvd.rank())
torch.set_num_threads(1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3)
        self.norm = hvd.SyncBatchNorm(4)
        self.fc = torch.nn.Linear(4 * 13 * 13, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return F.log_softmax(self.fc(x.flatten(1)), dim=1)


# Ten patterns with noise, of which each rank has its share.
generator = torch.Generator().manual_seed(7)
patterns = torch.randn(10, 1, 28, 28, generator=generator)
labels = torch.arange(240) % 10
images = patterns[labels] + 0.5 * torch.randn(240, 1, 28, 28, generator=generator)
dataset = torch.utils.data.TensorDataset(images, labels)
sampler = torch.utils.data.distributed.DistributedSampler(
    dataset, num_replicas=hvd.size(), rank=hvd.rank())
loader = torch.utils.data.DataLoader(dataset, batch_size=24, sampler=sampler)

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size(), momentum=0.5)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
optimizer = hvd.DistributedOptimizer(
    optimizer, named_parameters=model.named_parameters(), compression=hvd.Compression.fp16,
    op=hvd.Average, gradient_predivide_factor=2.0)


def metric_average(value, name):
    return hvd.allreduce(torch.tensor(value), name=name).item()


for epoch in range(3):
    model.train()
    sampler.set_epoch(epoch)
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.synchronize()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        with optimizer.skip_synchronize():
            optimizer.step()
    average = metric_average(loss.item(), "avg_loss")
    if hvd.rank() == 0:
        print(f"epoch {epoch}: loss {average:.4f}")

model.eval()
with torch.no_grad():
    accuracy = (model(images).argmax(1) == labels).float().mean().item()
accuracy = metric_average(accuracy, "avg_accuracy")
if hvd.rank() == 0:
    print(f"accuracy {accuracy:.3f} on {hvd.size()} ranks")
assert accuracy > 0.9, accuracy
