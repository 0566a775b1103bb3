# SPDX-License-Identifier: Apache-2.0
# The headers that users include. Only these and the headers that they include are
# installed; each of these opens its namespace with HVD_EXPORT (core/export.h).
set(HVD_PUBLIC_HEADERS
  horovodpp/horovodpp.h
  horovodpp/collectives.h
  horovodpp/libtorch.h
  horovodpp/version.h
  horovodpp/c/horovodpp.h
  # Headers that most programs do not need:
  horovodpp/autograd/anomaly.h
  horovodpp/autograd/gradcheck.h
  horovodpp/autograd/multi_grad_hook.h
  horovodpp/autograd/reentrant_checkpoint.h
  horovodpp/autograd/save_on_cpu.h
  horovodpp/autograd/warning.h
  horovodpp/checkpoint/checkpoint.h
  horovodpp/core/thread/threads.h
  horovodpp/core/system/atomic_file.h
  horovodpp/device/tensors/tensor_gpu.h
  horovodpp/replica/gradient_ledger.h
  horovodpp/replica/shard_sum.h
  horovodpp/runtime/gpu/captured_step.h
  horovodpp/runtime/freed_memory.h
  horovodpp/runtime/gpu/gpu_choice.h
  horovodpp/runtime/gpu/gpu_clip.h
  horovodpp/runtime/meeting.h
  horovodpp/runtime/run_ranks.h
  horovodpp/runtime/settings/interruptible.h
  horovodpp/runtime/settings/waits_at_once.h
  horovodpp/snapshot/snapshots.h
  horovodpp/tensor/base/device_allocator.h
  horovodpp/tensor/base/not_on_cpu.h
  horovodpp/tensor/base/stream_scope.h
  horovodpp/tensor/dlpack.h)
