// SPDX-License-Identifier: Apache-2.0
// DLPack, drawing, printing, and saving on the host.
#include <optional>
#include <tuple>

#include "horovodpp/autograd/dot.h"
#include "horovodpp/autograd/save_on_cpu.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/tensor/dlpack.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;
using autograd::SavedTensorHooks;
using testing::Each;

TEST(DLPack, ExportsAndImportsWithoutACopy) {
  for (DType dtype : kAllDTypes) {
    Tensor x = arange(0, 6, 1, {}).to(dtype).view({2, 3}).t();
    DLManagedTensor* managed = to_dlpack(x);
    EXPECT_EQ(managed->dl_tensor.ndim, 2);
    EXPECT_EQ(managed->dl_tensor.strides[0], 1);
    Tensor y = from_dlpack(managed);
    EXPECT_EQ(y.raw_data(), x.raw_data());
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(y.shape(), Dims({3, 2}));
    EXPECT_EQ(y.strides(), x.strides());
  }
}

TEST(DLPack, LivesUntilTheReceiverHasDone) {
  WeakTensor weak;
  Tensor y;
  {
    Tensor x = ones({3});
    weak = WeakTensor(x);
    y = from_dlpack(to_dlpack(x));
  }
  EXPECT_TRUE(weak.lock().defined());
  EXPECT_THAT(y.to_vector<float>(), Each(1));
  y = Tensor();
  EXPECT_FALSE(weak.lock().defined());
}

TEST(DLPack, RefusesUnsupportedTensors) {
  EXPECT_ERROR(InvalidArgument, "requires grad", to_dlpack(leaf(1)));
  EXPECT_ERROR(InvalidArgument, "undefined", to_dlpack(Tensor()));
  EXPECT_THROW(from_dlpack(nullptr), InvalidArgument);
  DLManagedTensor managed;
  managed.dl_tensor.dtype = {.code = 2, .bits = 32};
  managed.dl_tensor.device = {.device_type = 4};
  EXPECT_ERROR(InvalidArgument, "neither the CPU", from_dlpack(&managed));
  managed.dl_tensor.device = {};
  managed.dl_tensor.dtype = {.code = 5, .bits = 64};
  EXPECT_ERROR(InvalidArgument, "no dtype", from_dlpack(&managed));
  managed.dl_tensor.dtype = {.code = 2, .bits = 32};
  managed.dl_tensor.ndim = 9;
  EXPECT_ERROR(InvalidArgument, "too many", from_dlpack(&managed));
}

TEST(Dot, DrawsTheWorkedExample) {
  Tensor input = ones64({2, 2});
  Tensor w1 = leaf(2), w2 = leaf(3), w3 = leaf(4);
  Tensor l1 = input * w1;
  Tensor loss = ((l1 + w2) * (l1 * w3)).mean();
  const std::string text = autograd::to_dot(
      loss, {{"w1", w1}, {"w2", w2}, {"w3", w3}, {"l1", l1}, {"loss", loss}});
  EXPECT_EQ(text,
            "digraph {\n"
            "  n0 [shape=box label=\"MeanBackward\\nloss\"]\n"
            "  n1 [shape=box label=\"MulBackward\"]\n"
            "  n2 [shape=box label=\"AddBackward\"]\n"
            "  n3 [shape=box label=\"MulBackward\"]\n"
            "  n4 [shape=box label=\"MulBackward\\nl1\"]\n"
            "  n5 [label=\"w2\\nfloat64[]\"]\n"
            "  n6 [label=\"w3\\nfloat64[]\"]\n"
            "  n7 [label=\"w1\\nfloat64[]\"]\n"
            "  n0 -> n1 [label=\"[2,2]\"]\n"
            "  n1 -> n2 [label=\"[2,2]\"]\n"
            "  n1 -> n3 [label=\"[2,2]\"]\n"
            "  n2 -> n4 [label=\"[2,2]\"]\n"
            "  n2 -> n5 [label=\"[]\"]\n"
            "  n3 -> n4 [label=\"[2,2]\"]\n"
            "  n3 -> n6 [label=\"[]\"]\n"
            "  n4 -> n7 [label=\"[]\"]\n"
            "}\n");
  EXPECT_THROW(autograd::to_dot(constant(1)), autograd::NotDifferentiableError);
}

// Item 104.
TEST(SaveOnCpu, MovesActivationsOutOfTheTensorsMemory) {
  Tensor w = randn64({1000});
  const auto run = [&](bool on_host) {
    w.set_grad({});
    Tensor y = w;
    {
      std::optional<autograd::SaveOnCpu> on_cpu;
      if (on_host) on_cpu.emplace();
      for (int i = 0; i < 10; ++i) y = sin(y);
    }
    const auto used = autograd::cpu_allocator().stats().current_bytes;
    const auto aside = autograd::host_allocator().stats().current_bytes;
    y.sum().backward();
    return std::tuple(used, aside, values(w.grad()));
  };
  const auto [plain_used, plain_aside, plain] = run(false);
  const auto [used, aside, gradient] = run(true);
  EXPECT_EQ(gradient, plain);
  EXPECT_EQ(plain_aside, 0);
  EXPECT_EQ(plain_used - used, 9 * 8000);
  EXPECT_EQ(aside, 9 * 8000);
  EXPECT_EQ(autograd::host_allocator().stats().current_bytes, 0);
}

// Item 105: a copy has another layout.
TEST(SavedTensorHooks, MayPackCopiesOfWhatAPoolSaves) {
  const auto gradient = [](bool copies) {
    manual_seed(1);
    Tensor x = randn64({2, 3, 4, 4});
    std::optional<SavedTensorHooks::Scope> scope;
    if (copies) {
      scope.emplace([](const Tensor& t) { return std::any(t.clone()); },
                    [](const std::any& t) { return std::any_cast<Tensor>(t); });
    }
    const Tensor y = max_pool2d(x, {.kernel = 2});
    (y * y).sum().backward();
    return values(x.grad());
  };
  EXPECT_EQ(gradient(true), gradient(false));
}

// Item 106.
TEST(SavedTensorHooks, MayBeForbidden) {
  const auto enter = [] {
    SavedTensorHooks::Scope scope(
        [](const Tensor& t) { return std::any(t); },
        [](const std::any& t) { return std::any_cast<Tensor>(t); });
  };
  {
    SavedTensorHooks::Disabled disabled("no hooks in here");
    EXPECT_ERROR(autograd::HookError, "no hooks in here", enter());
    {
      SavedTensorHooks::Disabled inner("nor in here");
      EXPECT_ERROR(autograd::HookError, "nor in here", enter());
    }
    EXPECT_ERROR(autograd::HookError, "no hooks in here", enter());
  }
  enter();
}

}  // namespace
}  // namespace hvd
