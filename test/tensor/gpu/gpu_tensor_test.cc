// SPDX-License-Identifier: Apache-2.0
// Tensors on a GPU: memory, copies between devices, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/device/cuda_stream.h"
#include "horovodpp/tensor/base/device_allocator.h"
#include "horovodpp/tensor/base/memory_ledger.h"
#include "horovodpp/tensor/base/not_on_cpu.h"
#include "horovodpp/tensor/base/stream_scope.h"
#include "horovodpp/tensor/dlpack.h"
#include "test/tensor/gpu/on_gpu.h"

namespace hvd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::expect_same_bits;
using ::testing::HasSubstr;
using testing::kAllTypes;
using testing::layouts_of;

class GpuTensor : public testing::OnGpu {};

template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "no InvalidArgument";
}

TEST_F(GpuTensor, ComesBackAsItWent) {
  const Tensor numbers = arange(-60, 60, 1, {.dtype = DType::kI64});
  for (const DType dtype : kAllTypes) {
    const Tensor all = numbers.to(dtype).reshape({4, 6, 5});
    for (const auto& [name, x] : layouts_of(all)) {
      const Tensor there = x.to(gpu_);
      EXPECT_EQ(there.device(), gpu_);
      EXPECT_EQ(there.is_contiguous(), there.to(Device::cpu()).is_contiguous());
      expect_same_bits(there.to(Device::cpu()), x, name);
    }
    const auto here = layouts_of(all);
    const auto there = layouts_of(all.to(gpu_));
    for (std::size_t i = 0; i < here.size(); ++i) {
      const std::string what = std::string(name_of(dtype)) + " " + here[i].name;
      expect_same_bits(there[i].x, here[i].x, what);
      expect_same_bits(there[i].x.clone(), here[i].x, what + ", cloned");
    }
  }
}

TEST_F(GpuTensor, ItsViewsAreReadInRowMajorOrder) {
  const Tensor all = randn({4, 6, 5});
  const auto here = layouts_of(all);
  const auto there = layouts_of(all.to(gpu_));
  for (std::size_t i = 0; i < here.size(); ++i) {
    EXPECT_EQ(there[i].x.to_vector<float>(), here[i].x.to_vector<float>());
  }
}

TEST_F(GpuTensor, IsShownAndRead) {
  const Tensor x = from_vector<float>({1, 2, 3, 4}, {2, 2}).to(gpu_);
  EXPECT_EQ(x.to_string(), "float32[2,2] on cuda:0 [[1, 2], [3, 4]]");
  EXPECT_EQ(x.select(0, 1).select(0, 0).item<float>(), 3.0f);
  EXPECT_THAT(x.t().to_vector<float>(), ElementsAre(1, 3, 2, 4));
  EXPECT_THROW(x.item<float>(), InvalidArgument);
  EXPECT_THROW(x.select(0, 0).select(0, 0).item<double>(), InvalidArgument);
  EXPECT_EQ(x.tensor_view().device(), gpu_);
}

TEST_F(GpuTensor, IsMadeByTheFactories) {
  const TensorOptions there = {.dtype = DType::kF32, .device = gpu_};
  EXPECT_THAT(full({3}, 2.5, there).to_vector<float>(),
              ElementsAre(2.5f, 2.5f, 2.5f));
  EXPECT_THAT(zeros({2}, there).to_vector<float>(), ElementsAre(0, 0));
  EXPECT_THAT(ones({2}, {.dtype = DType::kI64, .device = gpu_})
                  .to_vector<std::int64_t>(),
              ElementsAre(1, 1));
  EXPECT_THAT(arange(0, 3, 1, there).to_vector<float>(), ElementsAre(0, 1, 2));
  const Tensor x = randn({3, 4}, {.requires_grad = true, .device = gpu_});
  EXPECT_TRUE(x.requires_grad());
  EXPECT_EQ(x.device(), gpu_);
  EXPECT_EQ(empty_like(x.transpose(0, 1)).device(), gpu_);
  expect_same_bits(zeros_like(x), zeros({3, 4}), "zeros_like");
  expect_same_bits(ones_like(x), ones({3, 4}), "ones_like");
  EXPECT_EQ(empty({0, 3}, there).num_elements(), 0);
  EXPECT_THROW(full({2}, 0.5, {.dtype = DType::kI32, .device = gpu_}),
               InvalidArgument);
  EXPECT_THROW(empty({2}, {.device = gpu_, .pinned = true}), InvalidArgument);
}

TEST_F(GpuTensor, GradientsComeBackToTheSource) {
  Tensor x = randn({3, 4}).set_requires_grad(true);
  const Tensor there = x.to(gpu_);
  EXPECT_TRUE(there.requires_grad());
  const Tensor gradient = randn({3, 4});
  there.backward(gradient.to(gpu_));
  EXPECT_TRUE(x.grad().device().is_cpu());
  expect_same_bits(x.grad(), gradient, "the gradient");

  Tensor w = randn({5}).to(gpu_).set_requires_grad(true);
  w.to(Device::cpu()).backward(ones({5}));
  EXPECT_EQ(w.grad().device(), gpu_);
  expect_same_bits(w.grad(), ones({5}), "the gradient on the GPU");
  EXPECT_THROW(w.set_grad(ones({5})), InvalidArgument);
}

TEST_F(GpuTensor, IsWrittenInPlaceFromAnyDevice) {
  const Tensor x = zeros({2, 3}, {.device = gpu_});
  x.copy_(from_vector<float>({1, 2, 3}, {3}));
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1, 2, 3, 1, 2, 3));
  x.select(0, 1).fill_(7);
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1, 2, 3, 7, 7, 7));
  const Tensor here = zeros({3, 2}, {.dtype = DType::kF64});
  here.t().copy_(x);
  EXPECT_THAT(here.to_vector<double>(), ElementsAre(1, 7, 2, 7, 3, 7));
  EXPECT_EQ(x.version(), 2u);
}

TEST_F(GpuTensor, MovesBetweenGpus) {
  HVD_NEEDS_GPUS(2);
  const Tensor x = randn({30, 40});
  Tensor there = x.to(gpu_);
  for (int i = 0; i < 5; ++i) {
    there = there.to(Device::cuda(1)).to(Device::cuda(0));
  }
  expect_same_bits(there, x, "after ten moves");
}

TEST_F(GpuTensor, PinnedMemoryIsCopiedWhileTheHostGoesOn) {
  const Tensor pinned = full({1000}, 3.0, {.pinned = true});
  EXPECT_TRUE(pinned.device().is_cpu());
  const Tensor there = pinned.to(gpu_, {.non_blocking = true});
  expect_same_bits(there, full({1000}, 3.0), "from pinned memory");
  EXPECT_GE(autograd::pinned_allocator().stats().current_bytes, 4000);
  // The source may go at once.
  for (int i = 0; i < 20; ++i) {
    const double value = i;
    const Tensor copy =
        full({1000}, value, {.pinned = true}).to(gpu_, {.non_blocking = true});
    EXPECT_EQ(copy.select(0, 999).item<float>(), static_cast<float>(value));
  }
}

TEST_F(GpuTensor, MemoryIsCounted) {
  const std::int64_t before = gpu_memory_stats(gpu_).allocated_bytes;
  {
    const Tensor x = empty({1000}, {.device = gpu_});
    EXPECT_EQ(gpu_memory_stats(gpu_).allocated_bytes, before + 4000);
    EXPECT_GE(gpu_memory_stats(gpu_).reserved_bytes, before + 4000);
  }
  EXPECT_EQ(gpu_memory_stats(gpu_).allocated_bytes, before);
  EXPECT_GE(gpu_memory_stats(gpu_).peak_allocated_bytes, before + 4000);
  reset_peak_gpu_memory(gpu_);
  EXPECT_EQ(gpu_memory_stats(gpu_).peak_allocated_bytes, before);
  empty_gpu_cache(gpu_);
  EXPECT_THROW(gpu_memory_stats(Device::cpu()), InvalidArgument);
}

TEST_F(GpuTensor, ALedgerListsTheStoragesOfOneDevice) {
  autograd::MemoryLedger ledger(gpu_);
  const Tensor here = empty({5000});
  const Tensor there = empty({1000}, {.device = gpu_});
  const auto peak = ledger.peak();
  ASSERT_EQ(peak.entries.size(), 1u);
  EXPECT_EQ(peak.entries[0].bytes, 4000);
}

TEST_F(GpuTensor, TooLargeOnesAreRefusedWithTheFigures) {
  HVD_NEEDS_STAND_INS();
  testing::FakeCuda::fail_next("cuMemAlloc_v2", 2, 4);
  try {
    empty({std::int64_t{1} << 26}, {.device = gpu_});
    FAIL() << "there is not so much memory";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(error.what(), HasSubstr("has no 268435456 bytes"));
  }
  EXPECT_THROW(empty({2}, {.device = Device::cuda(1000)}), InvalidArgument);
  EXPECT_THROW(empty({2}, {.device = Device::cuda(60)}), Error);
}

TEST_F(GpuTensor, WithoutCodeForGpusOperationsRefuse) {
  const Tensor x = randn({4, 4}).to(gpu_);
  const Tensor big = randn({300, 400}).to(gpu_);
  EXPECT_THAT(
      message_of([&] { return matmul(x, x); }),
      AllOf(HasSubstr("matmul has no code for GPUs: float32[4,4] is on cuda:0"),
            HasSubstr("to(hvd::Device::cpu())")));
  EXPECT_THAT(message_of([&] { return softmax(x, 1); }),
              HasSubstr("softmax has no code for GPUs"));
  EXPECT_THAT(message_of([&] { return big.sum(); }),
              HasSubstr("sum has no code for GPUs"));
  EXPECT_THAT(message_of([&] { return cumsum(big, 0); }),
              HasSubstr("cumsum has no code for GPUs"));
  EXPECT_THAT(message_of([&] { return pow(big, 1.5); }),
              HasSubstr("pow has no code for GPUs"));
  EXPECT_THAT(message_of([&] { return x.data<float>(); }),
              HasSubstr("the CPU neither reads nor writes"));
  EXPECT_THROW(empty({0}, {.device = gpu_}).raw_data(),
               autograd::NotOnCpuError);
  EXPECT_EQ(empty({0}).raw_data(), nullptr);
}

TEST_F(GpuTensor, OperandsOnDifferentDevicesAreRefused) {
  const Tensor here = ones({3});
  const Tensor there = here.to(gpu_);
  EXPECT_THAT(message_of([&] { return here + there; }),
              AllOf(HasSubstr("add: "), HasSubstr("on cpu"),
                    HasSubstr("on cuda:0"), HasSubstr("different devices")));
  EXPECT_THAT(message_of([&] { return there * here; }), HasSubstr("mul: "));
  EXPECT_THAT(message_of([&] { return lt(there, here); }), HasSubstr("lt: "));
  EXPECT_THAT(message_of([&] { here.add_(there); }), HasSubstr("add_: "));
  EXPECT_THAT(message_of([&] { there.add_(here); }), HasSubstr("add_: "));
  // A number goes with tensors of any device.
  EXPECT_THAT((full({}, 2.0) * there).to_vector<float>(), ElementsAre(2, 2, 2));
  EXPECT_THAT((1.0 / (there + there)).to_vector<float>(),
              ElementsAre(0.5f, 0.5f, 0.5f));
}

TEST_F(GpuTensor, ThreadsWorkInTheirStreams) {
  auto* const cuda = value_or_throw(device::Gpus::of_process().driver());
  const auto context = value_or_throw(cuda->context(0));
  const device::CudaStream stream =
      value_or_throw(device::CudaStream::create(context));
  EXPECT_EQ(StreamScope::current(gpu_), nullptr);
  Tensor y;
  {
    const StreamScope scope(gpu_, stream.handle());
    EXPECT_EQ(StreamScope::current(gpu_), stream.handle());
    EXPECT_EQ(StreamScope::current(Device::cuda(1)), nullptr);
    {
      const StreamScope inner(gpu_, nullptr);
      EXPECT_EQ(StreamScope::current(gpu_), nullptr);
    }
    for (int i = 0; i < 50; ++i) {
      const Tensor x = full({100}, i, {.device = gpu_});
      y = x + 1.0;
    }
    EXPECT_EQ(y.select(0, 99).item<float>(), 50.0f);
  }
}

TEST_F(GpuTensor, GoesThroughDlpackInTheOrderOfStreams) {
  auto* const cuda = value_or_throw(device::Gpus::of_process().driver());
  const auto context = value_or_throw(cuda->context(0));
  device::CudaStream stream =
      value_or_throw(device::CudaStream::create(context));
  const Tensor x = randn({3, 4}).to(gpu_);
  Tensor sum = x + x;
  DLManagedTensor* const given = to_dlpack(sum.t(), stream.handle());
  EXPECT_EQ(given->dl_tensor.device.device_type, 2);
  EXPECT_EQ(given->dl_tensor.device.device_id, 0);
  // The receiver's stream runs behind the sum.
  float first = 0;
  throw_if_error(stream.copy(&first, given->dl_tensor.data, sizeof first));
  throw_if_error(stream.synchronize());
  EXPECT_EQ(first, 2 * x.select(0, 0).select(0, 0).item<float>());
  const Tensor taken = from_dlpack(given);
  EXPECT_EQ(taken.device(), gpu_);
  expect_same_bits(taken, sum.t(), "by DLPack");
  sum = Tensor();
  EXPECT_EQ((taken + taken).device(), gpu_);
  DLManagedTensor strange = *to_dlpack(ones({1}));
  strange.dl_tensor.device.device_type = 10;
  EXPECT_THROW(from_dlpack(&strange), InvalidArgument);
  strange.deleter(&strange);
}

}  // namespace
}  // namespace hvd
