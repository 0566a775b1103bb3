// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/policies/offload.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "horovodpp/checkpoint/checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/kernel/allocator.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

constexpr std::int64_t kNumbers = 1 << 10;
constexpr std::int64_t kEach = kNumbers * 8;

std::int64_t bytes_used() {
  return autograd::cpu_allocator().stats().current_bytes;
}

Tensor chain(const Tensor& x, int length) {
  Tensor y = x;
  for (int i = 0; i < length; ++i) y = sin(y);
  return y;
}

std::vector<double> gradient(const Tensor& x,
                             const std::function<Tensor()>& loss) {
  x.set_grad({});
  loss().backward();
  std::vector<double> result = values(x.grad());
  x.set_grad({});
  return result;
}

TEST(Offload, MovesSavedTensorsAndFetchesThem) {
  const Tensor x = randn64({kNumbers});
  const auto plain = gradient(x, [&] { return chain(x, 8).sum(); });
  for (const std::size_t prefetch : {0u, 1u, 3u, 100u}) {
    OffloadPool pool({.prefetch = prefetch});
    const std::int64_t before = bytes_used();
    const auto found = gradient(x, [&] {
      Tensor loss;
      {
        Offload offload(pool);
        loss = chain(x, 8).sum();
      }
      EXPECT_EQ(bytes_used() - before, 8);
      EXPECT_EQ(pool.stats().bytes, 7 * kEach);  // x is a leaf, and stays.
      return loss;
    });
    EXPECT_EQ(found, plain);
    EXPECT_EQ(pool.stats().bytes, 0);
    EXPECT_EQ(pool.stats().stored, 7);
    EXPECT_EQ(pool.stats().fetched, 7);
    EXPECT_LE(pool.stats().prefetched, prefetch == 0 ? 0 : 6);
    EXPECT_EQ(bytes_used(), before);
  }
}

// The thread may or may not come first; where the main thread waits, it has.
TEST(Offload, FetchesAheadInReverse) {
  OffloadPool pool({.prefetch = 1});
  std::vector<std::unique_ptr<OffloadPool::Item>> items;
  for (int i = 0; i < 4; ++i) items.push_back(pool.store(constant(i)));
  const std::int64_t before = bytes_used();
  EXPECT_EQ(value(items[3]->take()), 3.0);
  // The thread fetches tensor 2.
  while (bytes_used() == before) std::this_thread::yield();
  EXPECT_EQ(value(items[2]->take()), 2.0);
  EXPECT_EQ(pool.stats().prefetched, 1);
  EXPECT_EQ(value(items[2]->take()), 2.0);  // An item can be taken repeatedly.
  items[1].reset();
  EXPECT_EQ(value(items[0]->take()), 0.0);
}

TEST(Offload, FetchesAheadAtEachTake) {
  OffloadPool pool({.prefetch = 1});
  std::vector<std::unique_ptr<OffloadPool::Item>> items;
  for (int i = 0; i < 50; ++i) items.push_back(pool.store(constant(i)));
  const std::int64_t before = bytes_used();
  const auto give_up =
      std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (items.size() > 1) {
    items.back()->take();
    items.pop_back();
    while (bytes_used() == before && std::chrono::steady_clock::now() < give_up)
      std::this_thread::yield();
    ASSERT_NE(bytes_used(), before) << items.size() << " are left";
  }
}

TEST(Offload, KeepsTheLayout) {
  OffloadPool pool;
  const Tensor rows = randn64({3, 5});
  for (const Tensor& x : {rows.detach().t(), rows.detach().narrow(1, 1, 3)}) {
    const Tensor back = pool.store(x)->take();
    EXPECT_EQ(values(back), values(x));
    EXPECT_EQ(back.shape(), x.shape());
  }
  EXPECT_EQ(pool.store(rows.detach().t())->take().strides(),
            rows.t().strides());
}

TEST(Offload, DoesNotFetchATensorStillInMemory) {
  const Tensor x = randn64({kNumbers});
  OffloadPool pool({.prefetch = 0});
  const Tensor y = sin(x);
  Tensor loss;
  {
    Offload offload(pool);
    loss = cos(y).sum();
  }
  loss.backward();
  EXPECT_EQ(pool.stats().stored, 1);
  EXPECT_EQ(pool.stats().fetched, 0);
}

TEST(Offload, AWriteIsNoticed) {
  const Tensor x = randn64({kNumbers});
  const Tensor y = sin(x);
  Tensor loss;
  {
    Offload offload;
    loss = cos(y).sum();
  }
  y.mul_(2.0);
  EXPECT_ERROR(autograd::VersionError, "inplace", loss.backward());
}

TEST(Offload, AFullPoolIsAnError) {
  const Tensor x = randn64({kNumbers});
  const auto plain = gradient(x, [&] { return chain(x, 8).sum(); });
  OffloadPool pool({.bytes = 3 * kEach});
  {
    Offload offload(pool);
    EXPECT_ERROR(Error,
                 "float64[1024] of 8192 bytes does not fit, for 24576 of",
                 chain(x, 8));
  }
  EXPECT_EQ(pool.stats().bytes, 0);
  EXPECT_EQ(gradient(x,
                     [&] {
                       Offload offload(pool, {.must_fit = false});
                       return chain(x, 8).sum();
                     }),
            plain);
  EXPECT_EQ(pool.stats().peak_bytes, 3 * kEach);
  EXPECT_EQ(gradient(x,
                     [&] {
                       Offload offload(pool, {.least_bytes = kEach + 1});
                       return chain(x, 8).sum();
                     }),
            plain);
  EXPECT_EQ(pool.stats().stored, 3 + 3);
}

TEST(Offload, RefusesInvalidOptions) {
  EXPECT_ERROR(InvalidArgument, "-1 bytes", OffloadPool({.bytes = -1}));
  EXPECT_ERROR(InvalidArgument, "an allocator that is null",
               OffloadPool({.memory = nullptr}));
  OffloadPool pool;
  EXPECT_ERROR(InvalidArgument, "least_bytes",
               Offload(pool, {.least_bytes = -1}));
  autograd::SavedTensorHooks::Disabled disabled("not here");
  EXPECT_ERROR(autograd::HookError, "not here", Offload refused(pool));
}

TEST(Offload, WorksWithCheckpointedFunctions) {
  const Tensor x = randn64({kNumbers});
  const auto block = [](const Tensor& in) { return chain(in, 3); };
  const auto blocks = [&](int count) {
    Tensor y = x;
    for (int i = 0; i < count; ++i) y = checkpoint(block, y);
    return y.sum();
  };
  const auto plain = gradient(x, [&] { return blocks(5); });
  OffloadPool pool;
  // Offload around regions: their inputs are moved.
  EXPECT_EQ(gradient(x,
                     [&] {
                       Offload offload(pool);
                       return blocks(5);
                     }),
            plain);
  EXPECT_EQ(pool.stats().stored, 4);
  // Offload within a region: its saved tensors are moved, not recomputed.
  EXPECT_EQ(gradient(x,
                     [&] {
                       return checkpoint(
                                  [&](const Tensor& in) {
                                    const Tensor y = block(in);
                                    Offload offload(pool);
                                    return chain(y, 12);
                                  },
                                  x)
                           .sum();
                     }),
            plain);
  EXPECT_EQ(pool.stats().stored, 4 + 12);
  EXPECT_EQ(pool.stats().bytes, 0);
}

TEST(Offload, ASecondBackwardFetchesAgain) {
  const Tensor x = randn64({kNumbers});
  OffloadPool pool;
  Tensor loss;
  {
    Offload offload(pool);
    loss = chain(x, 4).sum();
  }
  const auto first = autograd::grad({loss}, {x}, {}, {.retain_graph = true})[0];
  const auto second = autograd::grad({loss}, {x})[0];
  EXPECT_EQ(values(first), values(second));
  EXPECT_EQ(pool.stats().fetched, 6);
}

TEST(Offload, OutlivesItsPool) {
  const Tensor x = randn64({kNumbers});
  const auto plain = gradient(x, [&] { return chain(x, 8).sum(); });
  EXPECT_EQ(gradient(x,
                     [&] {
                       OffloadPool pool;
                       Offload offload(pool);
                       return chain(x, 8).sum();
                     }),
            plain);
}

TEST(Offload, ServesSeveralThreads) {
  OffloadPool pool({.prefetch = 3});
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const Tensor x = randn64({64});
      for (int i = 0; i < 20; ++i) {
        const auto plain = gradient(x, [&] { return chain(x, 8).sum(); });
        const auto moved = gradient(x, [&] {
          Offload offload(pool);
          return chain(x, 8).sum();
        });
        if (plain == moved) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 80);
  EXPECT_EQ(pool.stats().bytes, 0);
}

// An allocator that runs out of memory.
class Scarce final : public autograd::Allocator {
 public:
  void* allocate(std::size_t bytes) override {
    if (left-- <= 0) throw Error(absl::ResourceExhaustedError("no memory"));
    return autograd::host_allocator().allocate(bytes);
  }
  void deallocate(void* memory, std::size_t bytes) noexcept override {
    autograd::host_allocator().deallocate(memory, bytes);
  }
  Device device() const override { return autograd::host_allocator().device(); }
  autograd::MemoryStats stats() const override { return {}; }
  void reset_peak() override {}
  std::atomic<int> left{0};
};

TEST(Offload, WithoutMemoryForThePoolForwardFails) {
  Scarce memory;
  memory.left = 2;
  OffloadPool pool({.memory = &memory});
  const Tensor x = randn64({kNumbers});
  {
    Offload offload(pool);
    EXPECT_ERROR(Error, "no memory", chain(x, 8));
  }
  EXPECT_EQ(pool.stats().bytes, 0);
}

// Fails also if the thread's fetch failed; take() tries that fetch again.
TEST(Offload, WithoutMemoryForTensorsBackwardFails) {
  for (const std::size_t prefetch : {0u, 8u}) {
    Scarce memory;
    OffloadPool pool({.prefetch = prefetch, .tensors = &memory});
    const Tensor x = randn64({kNumbers});
    Tensor loss;
    {
      Offload offload(pool);
      loss = chain(x, 8).sum();
    }
    memory.left = 3;
    EXPECT_ERROR(Error, "no memory", loss.backward({}, {.retain_graph = true}));
    memory.left = 1000;
    EXPECT_EQ(gradient(x, [&] { return loss; }),
              gradient(x, [&] { return chain(x, 8).sum(); }));
  }
}

}  // namespace
}  // namespace hvd
