// SPDX-License-Identifier: Apache-2.0
// While a region is recomputed, the gradients of the region behind it are
// reduced.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "horovodpp/autograd.h"
#include "horovodpp/checkpoint/checkpoint.h"
#include "horovodpp/nn.h"
#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "test/runtime/world.h"

namespace hvd::optim {
namespace {

using transport::LoopbackWorld;

constexpr int kBlocks = 4;

// A block of a small GPT.
struct GptBlock {
  GptBlock() : norm({8}), attention(8, 2), widen(8, 32), narrow(32, 8) {}

  Tensor operator()(const Tensor& x) {
    const Tensor h = x + attention(norm(x));
    return h + narrow(gelu(widen(h)));
  }

  void add_to(std::vector<nn::NamedTensor>& named, const std::string& prefix) {
    const auto add = [&](const char* name, nn::Module& module) {
      for (auto& [key, tensor] : module.named_parameters()) {
        named.push_back({prefix + "." + name + "." + key, tensor});
      }
    };
    add("norm", norm);
    add("attention", attention);
    add("widen", widen);
    add("narrow", narrow);
  }

  nn::LayerNorm norm;
  nn::MultiheadAttention attention;
  nn::Linear widen;
  nn::Linear narrow;
};

// The events on both ranks, in order.
class OverlapTrace {
 public:
  void note(const std::string& event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.push_back(event);
    noted_.insert(event);
    changed_.notify_all();
  }
  bool wait_for(const std::set<std::string>& events) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] {
      for (const std::string& event : events) {
        if (noted_.count(event) == 0) return false;
      }
      return true;
    });
  }
  std::size_t place_of(const std::string& event) const {
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (events_[i] == event) return i;
    }
    ADD_FAILURE() << event << " did not happen";
    return 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
  std::set<std::string> noted_;
};

class TraceObserver : public replica::GradientObserver {
 public:
  explicit TraceObserver(OverlapTrace& trace) : trace_(trace) {}
  void sent(const std::string& key) override { trace_.note("sent " + key); }
  void reduced(const std::string& key) override {
    trace_.note("reduced " + key);
  }

 private:
  OverlapTrace& trace_;
};

// Rank 1 adds nothing to the gradients of block k + 1 until rank 0 recomputes
// block k, so their reduction cannot end earlier. That recomputation goes on
// only after the reduction has ended. Item 213.
TEST(Overlap, GradientsOfABlockAreReducedWhileTheOneBeforeIsRecomputed) {
  OverlapTrace trace;
  std::vector<std::set<std::string>> keys(kBlocks);
  std::mutex mutex;
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const int rank = job.topology().rank();
    manual_seed(3);
    std::vector<std::unique_ptr<GptBlock>> blocks;
    std::vector<nn::NamedTensor> named;
    std::vector<autograd::HookHandle> hooks;
    for (int k = 0; k < kBlocks; ++k) {
      blocks.push_back(std::make_unique<GptBlock>());
      const std::size_t first = named.size();
      blocks.back()->add_to(named, std::to_string(k));
      for (std::size_t i = first; i < named.size(); ++i) {
        if (rank == 0) {
          const std::lock_guard<std::mutex> lock(mutex);
          keys[static_cast<std::size_t>(k)].insert("reduced " + named[i].name);
        } else if (k > 0) {
          hooks.push_back(named[i].tensor.register_hook([&, k](const Tensor&) {
            EXPECT_TRUE(
                trace.wait_for({"recomputes " + std::to_string(k - 1)}));
          }));
        }
      }
    }
    // Independent of the number of cores.
    DistributedOptions options = {.bucket_bytes = 0, .runtime = &job};
    if (rank == 0) {
      options.observer = std::make_shared<TraceObserver>(trace);
    }
    DistributedOptimizer optimizer(
        std::make_unique<AdamW>(named, AdamWOptions{}), options);
    std::vector<int> runs(kBlocks);
    Tensor x = rand({2, 5, 8}).set_requires_grad(true);
    for (int k = 0; k < kBlocks; ++k) {
      const auto at = static_cast<std::size_t>(k);
      x = checkpoint(
          [&, k, at](const Tensor& in) {
            if (++runs[at] == 2 && rank == 0) {
              trace.note("recomputes " + std::to_string(k));
              if (k + 1 < kBlocks) {
                EXPECT_TRUE(trace.wait_for(keys[at + 1])) << "block " << k;
              }
              trace.note("goes on with " + std::to_string(k));
            }
            return (*blocks[at])(in);
          },
          x);
    }
    (x * x).mean().backward();
    optimizer.step();
    EXPECT_EQ(runs, std::vector<int>(kBlocks, 2));
  });
  for (int k = 0; k + 1 < kBlocks; ++k) {
    const std::string number = std::to_string(k);
    for (const std::string& reduced : keys[static_cast<std::size_t>(k) + 1]) {
      const std::string key = reduced.substr(std::string("reduced ").size());
      EXPECT_LT(trace.place_of("sent " + key),
                trace.place_of("recomputes " + number));
      EXPECT_GT(trace.place_of(reduced),
                trace.place_of("recomputes " + number));
      EXPECT_LT(trace.place_of(reduced),
                trace.place_of("goes on with " + number));
    }
  }
}

}  // namespace
}  // namespace hvd::optim
