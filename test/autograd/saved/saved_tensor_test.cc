// SPDX-License-Identifier: Apache-2.0
// Section 1G of the contract: saved tensors, and their pack and unpack hooks.
#include "horovodpp/autograd/saved/saved_tensor.h"

#include <any>

#include "horovodpp/autograd/graph/node.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::HookError;
using autograd::SavedTensorHooks;

const auto kIdentity = [](const std::any& packed) {
  return std::any_cast<Tensor>(packed);
};

SavedTensorHooks::Pack times(double factor) {
  return [factor](const Tensor& t) { return std::any(t * factor); };
}

SavedTensorHooks::Unpack divided_by(double divisor) {
  return [divisor](const std::any& packed) {
    return std::any_cast<Tensor>(packed) / divisor;
  };
}

SavedTensorHooks::Unpack times_back(double factor) {
  return [factor](const std::any& packed) {
    return std::any_cast<Tensor>(packed) * factor;
  };
}

TEST(SavedTensor, DoesNotCountOnceBackwardHasFreedIt) {
  const std::int64_t before = autograd::saved_tensor_bytes();
  const Tensor x = leaf(3);
  const Tensor y = x * x;
  EXPECT_GT(autograd::saved_tensor_bytes(), before);
  y.backward();
  EXPECT_EQ(autograd::saved_tensor_bytes(), before);
}

// Item 99.
TEST(SavedTensorHooks, PackAndUnpackSavedTensors) {
  Tensor a = leaf(3);
  {
    SavedTensorHooks::Scope scope(times(2), divided_by(2));
    (a * a).backward();
    EXPECT_EQ(value(a.grad()), 6);
  }
  a.set_grad({});
  {
    SavedTensorHooks::Scope scope(times(2), kIdentity);
    (a * a).backward();
    EXPECT_EQ(value(a.grad()), 12);
  }
}

// Item 100.
TEST(SavedTensorHooks, PackOncePerSlotInTheirScopeOnly) {
  Tensor a = leaf(3);
  int packed = 0, unpacked = 0;
  Tensor y;
  {
    SavedTensorHooks::Scope scope(
        [&](const Tensor& t) {
          ++packed;
          return std::any(t.detach());
        },
        [&](const std::any& object) {
          ++unpacked;
          return std::any_cast<Tensor>(object);
        });
    y = a * a;
    EXPECT_EQ(packed, 2);
    EXPECT_EQ(unpacked, 0);
  }
  Tensor z = y * y;
  EXPECT_EQ(packed, 2);
  z.backward();
  EXPECT_EQ(unpacked, 2);
  EXPECT_EQ(value(a.grad()), 4 * 27);
}

// Item 101.
TEST(SavedTensorHooks, TheInnermostPairCounts) {
  Tensor a = leaf(1), b = leaf(1);
  Tensor y, z;
  {
    SavedTensorHooks::Scope outer(times(3), times_back(3));
    {
      SavedTensorHooks::Scope inner(times(5), times_back(5));
      y = a * a;
    }
    z = b * b;
  }
  y.backward();
  z.backward();
  EXPECT_EQ(value(a.grad()), 50);
  EXPECT_EQ(value(b.grad()), 18);
}

// Item 102.
TEST(SavedTensorHooks, MustNotWriteTheirInput) {
  Tensor a = leaf(3);
  SavedTensorHooks::Scope scope(
      [](const Tensor& t) {
        t.mul_(2.0);
        return std::any(t);
      },
      kIdentity);
  EXPECT_ERROR(HookError, "modifying its input in place", a * a);
}

// Item 103.
TEST(SavedTensorHooks, TheVersionIsCheckedAllTheSame) {
  Tensor a = leaf(3) * 1.0;
  Tensor y;
  {
    SavedTensorHooks::Scope scope(times(1), kIdentity);
    y = a * a;
  }
  a.add_(1.0);
  EXPECT_THROW(y.backward(), autograd::VersionError);
}

// Item 105.
TEST(SavedTensor, ReturnsInputsThemselvesAndAliasesOfResults) {
  struct Probe : autograd::Node {
    const char* name() const override { return "Probe"; }
    void apply(std::span<Tensor>, std::span<Tensor>) override {}
  };
  auto node = autograd::Ref<Probe>::adopt(new Probe);
  Tensor x = leaf(3);
  Tensor y = x * 2.0;
  autograd::SavedTensor input, output, undefined;
  input.save(x);
  output.save_output(y);
  EXPECT_TRUE(input.unpack(*node).is_same(x));
  NoGrad no_grad;
  EXPECT_FALSE(output.unpack(*node).is_same(y));
  EXPECT_EQ(output.unpack(*node).raw_data(), y.raw_data());
  EXPECT_FALSE(undefined.unpack(*node).defined());
  input.release();
  undefined.release();
  EXPECT_THROW(input.unpack(*node), autograd::GraphFreedError);
  EXPECT_FALSE(undefined.unpack(*node).defined());
}

// Item 165.
TEST(SavedTensor, ResultsThatAreSavedKeepNoGraphAlive) {
  WeakTensor weak;
  {
    Tensor y = exp(leaf(1));
    weak = WeakTensor(y);
    Tensor z = y * 2.0;
  }
  EXPECT_FALSE(weak.lock().defined());
  EXPECT_EQ(autograd::saved_tensor_bytes(), 0);
}

}  // namespace
}  // namespace hvd
