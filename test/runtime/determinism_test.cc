// SPDX-License-Identifier: Apache-2.0
// The bits of a result depend only on the ranks and the tensor: not on fusion,
// the moment of submission or the location in memory.
//
// HOROVODPP_TEST_RUNS sets the number of runs per layout. Use 1,000 before you
// change a summation.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/collective/arena/arena.h"
#include "test/collective/reference.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

using collective::put;

int runs() {
  const char* text = std::getenv("HOROVODPP_TEST_RUNS");
  return text == nullptr ? 16 : std::max(1, std::atoi(text));
}

struct What {
  std::string name = {};
  std::vector<std::int64_t> counts = {};  // More than one: a group.
  DType dtype = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  double prescale = 1;
  double postscale = 1;
  bool scattered = false;
};

// Sizes on both sides of each threshold: one step on a node or between nodes,
// doubling in lanes, chunks, blocks.
std::vector<What> everything() {
  std::vector<What> all;
  const auto add = [&](What what) {
    what.name = "tensor " + std::to_string(all.size());
    all.push_back(std::move(what));
  };
  for (const std::int64_t count :
       {1, 2, 3, 5, 7, 64, 255, 1000, 1024, 1025, 2047, 2049, 4097, 8192, 8193,
        16385, 40'000, 65'537, 100'000}) {
    add({.counts = {count}, .op = ReduceOp::kAverage});
  }
  for (const std::int64_t count : {1, 511, 2048, 2049, 30'000}) {
    add({.counts = {count}, .prescale = 0.3, .postscale = 7});
    add({.counts = {count}, .dtype = DType::kF16});
    add({.counts = {count}, .dtype = DType::kBF16, .op = ReduceOp::kAverage});
    add({.counts = {count}, .dtype = DType::kF64, .op = ReduceOp::kAverage});
    add({.counts = {count}, .op = ReduceOp::kAdasum});
    add({.counts = {count}, .dtype = DType::kF64, .op = ReduceOp::kAdasum});
    add({.counts = {count}, .op = ReduceOp::kProduct});
    add({.counts = {count}, .scattered = true});
  }
  add({.counts = {3000, 1, 17, 900}, .op = ReduceOp::kAverage});
  add({.counts = {8, 700}, .op = ReduceOp::kAverage, .scattered = true});
  add({.counts = {1'200'000}, .op = ReduceOp::kAverage});
  return all;
}

// Values whose sums round.
Buffer input_of(const What& what, std::size_t tensor, int rank) {
  const std::int64_t count = what.counts[tensor];
  Buffer buffer = *Buffer::allocate(what.dtype, Shape({count}));
  std::mt19937 random(static_cast<unsigned>(rank * 7919 + count));
  for (std::int64_t i = 0; i < count; ++i) {
    const double part = static_cast<double>(random()) / 0x1p31 - 1;
    put(what.dtype, buffer.view().data(), i,
        part / static_cast<double>(1 + random() % 64));
  }
  return buffer;
}

using Bytes = std::vector<std::byte>;

void append(const void* data, std::size_t length, Bytes& bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), begin, begin + length);
}

// One rank's tensors and the ways to submit them.
class Submitter {
 public:
  Submitter(Runtime& job, const std::vector<What>& all) : job_(job), all_(all) {
    for (const What& what : all_) {
      inputs_.emplace_back();
      for (std::size_t t = 0; t < what.counts.size(); ++t) {
        inputs_.back().push_back(input_of(what, t, job.topology().rank()));
      }
      in_flight_.push_back({ArenaFloats(ArenaAllocator<float>(job.arena()))});
    }
  }

  // Each tensor is submitted after the previous one is done.
  std::vector<Bytes> one_by_one() {
    std::vector<Bytes> results;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      submit(i);
      results.push_back(collect(i));
    }
    return results;
  }

  // Submits `some` in an order and at moments that differ between ranks, some
  // in place in the arena.
  std::vector<Bytes> at_random(std::vector<std::size_t> some,
                               std::mt19937& random) {
    std::vector<std::size_t> order(some);
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      for (auto pause = random() % 8; pause > 5; --pause) {
        std::this_thread::yield();
      }
      if (is_plain(i) && random() % 3 == 0) {
        submit_in_arena(i);
      } else {
        submit(i);
      }
    }
    std::vector<Bytes> results;
    for (const std::size_t i : some) results.push_back(collect(i));
    return results;
  }

 private:
  using ArenaFloats = std::vector<float, ArenaAllocator<float>>;

  struct InFlight {
    ArenaFloats in_arena;
    std::optional<Future<void>> in_place = {};
    std::optional<Future<std::vector<Buffer>>> results = {};
  };

  bool is_plain(std::size_t i) const {
    const What& what = all_[i];
    return what.dtype == DType::kF32 && what.counts.size() == 1 &&
           !what.scattered;
  }

  AllreduceOptions options_of(std::size_t i) const {
    const What& what = all_[i];
    return {.name = what.name,
            .op = what.op,
            .prescale_factor = what.prescale,
            .postscale_factor = what.postscale};
  }

  void submit_in_arena(std::size_t i) {
    const TensorView input = inputs_[i][0].view();
    const auto* values = static_cast<const float*>(input.data());
    InFlight& now = in_flight_[i];
    now.in_arena.assign(values, values + all_[i].counts[0]);
    now.in_place = job_.grouped_allreduce_async_(
        {TensorView::of(now.in_arena.data(), {all_[i].counts[0]})},
        options_of(i));
  }

  void submit(std::size_t i) {
    const What& what = all_[i];
    std::vector<ConstTensorView> views;
    for (const Buffer& input : inputs_[i]) views.push_back(input.view());
    in_flight_[i].results =
        what.scattered ? job_.grouped_reducescatter_async(
                             views, {.name = what.name, .op = what.op})
                       : job_.grouped_allreduce_async(views, options_of(i));
  }

  Bytes collect(std::size_t i) {
    InFlight& now = in_flight_[i];
    Bytes bytes;
    if (now.in_place) {
      EXPECT_EQ(now.in_place->wait(), absl::OkStatus());
      append(now.in_arena.data(), now.in_arena.size() * sizeof(float), bytes);
      now.in_place.reset();
      return bytes;
    }
    const auto results = now.results->wait();
    EXPECT_EQ(results.status(), absl::OkStatus());
    if (!results.ok()) return bytes;
    for (const Buffer& result : *results) {
      append(result.view().data(), result.view().bytes(), bytes);
    }
    return bytes;
  }

  Runtime& job_;
  const std::vector<What>& all_;
  std::vector<std::vector<Buffer>> inputs_;
  std::vector<InFlight> in_flight_;
};

struct Layout {
  const char* name;
  int size;
  int ranks_per_node;
  bool hierarchical = true;
};

class Determinism : public ::testing::TestWithParam<Layout> {};

INSTANTIATE_TEST_SUITE_P(
    Threads, Determinism,
    ::testing::Values(Layout{"OneNodeOfFour", 4, 0},
                      Layout{"ThreeNodesOfOne", 3, 1},
                      Layout{"FourNodesOfOne", 4, 1},
                      Layout{"ThreeNodesOfTwo", 6, 2},
                      Layout{"NodesOfThreeAndOne", 4, 3},
                      Layout{"RingThroughTwoNodesOfTwo", 4, 2, false}),
    [](const auto& chosen) { return std::string(chosen.param.name); });

TEST_P(Determinism, NoBitDependsOnTheTimeOfSubmissionOrOnOtherTensors) {
  const Layout& layout = GetParam();
  const std::vector<What> all = everything();
  WorldOptions options = {.size = layout.size,
                          .ranks_per_node = layout.ranks_per_node};
  options.config.hierarchical_allreduce = layout.hierarchical;
  std::atomic<int> compared = 0;
  std::atomic<int> different = 0;
  run_world(options, [&](Runtime& job, transport::LoopbackWorld&) {
    Submitter mine(job, all);
    const std::vector<Bytes> alone = mine.one_by_one();
    std::mt19937 plan(3);  // Equal on all ranks.
    std::mt19937 own(static_cast<unsigned>(job.topology().rank()));  // Differs.
    for (int run = 0; run < runs(); ++run) {
      // The same tensors for several runs, so that they become a cycle; only a
      // few long tensors.
      const bool has_long = run % 10 == 0;
      std::vector<std::size_t> some;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const bool is_long = all[i].counts[0] > 20'000;
        if (run / 8 % 2 == 0 ? !is_long || has_long : plan() % 3 == 0) {
          some.push_back(i);
        }
      }
      const std::vector<Bytes> together = mine.at_random(some, own);
      for (std::size_t i = 0; i < some.size(); ++i) {
        ++compared;
        if (together[i] == alone[some[i]]) continue;
        ++different;
        ADD_FAILURE_AT(__FILE__, __LINE__)
            << all[some[i]].name << " of " << all[some[i]].counts[0] << " "
            << name_of(all[some[i]].dtype) << ", " << name_of(all[some[i]].op)
            << ", in run " << run << " on rank " << job.topology().rank();
      }
    }
  });
  EXPECT_EQ(different, 0) << "of " << compared;
  RecordProperty("results", compared);
}

}  // namespace
}  // namespace hvd
