// SPDX-License-Identifier: Apache-2.0
// Ranks of an elastic training as threads, some of which die.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "horovodpp/nn.h"
#include "horovodpp/ops.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/transport/loopback/loopback.h"
#include "test/runtime/mortal.h"
#include "test/support/rank_thread.h"

namespace hvd::elastic {

// Thrown by the body of a rank: it dies here.
class Dies : public std::exception {};

// The job of a rank's thread, which follows the survivors.
class JobOfThread {
 public:
  explicit JobOfThread(std::unique_ptr<Runtime> job) { enter(std::move(job)); }

  // As hvd::reform(), and if the job is not broken as hvd::grow().
  void reset() {
    const std::shared_ptr<Runtime> before = job_;
    auto next = before->status().ok() ? before->grow() : before->reform();
    if (next.status().code() == StatusCode::kUnavailable) return;
    scope_.reset();
    enter(value_or_throw(std::move(next)));
  }
  Runtime& operator*() const { return *job_; }
  Runtime* operator->() const { return job_.get(); }

 private:
  void enter(std::unique_ptr<Runtime> job) {
    job_ = std::move(job);
    scope_.emplace(job_);
  }

  std::shared_ptr<Runtime> job_;
  std::optional<ThreadRuntime> scope_;
};

// Calls `body` as each of `size` ranks, of which `deaths` throw Dies.
inline void run_mortal_ranks(int size, int deaths,
                             const std::function<void(JobOfThread&)>& body) {
  transport::LoopbackWorld world(size, {});
  std::latch survivors_done(size - deaths);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      name_thread_of_rank(rank);
      auto wires = std::make_unique<Mortal>(world, rank, Mortal::Options());
      Mortal& mortal = *wires;
      auto started = Runtime::start({}, std::move(wires));
      ASSERT_EQ(started.status(), absl::OkStatus());
      JobOfThread job(*std::move(started));
      bool is_dead = false;
      try {
        body(job);
        EXPECT_TRUE(job->stop().ok());
      } catch (const Dies&) {
        is_dead = true;
        mortal.die();
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
        job->abort("has failed");
      }
      if (!is_dead) survivors_done.count_down();
      // Dead ranks do not shut down.
      survivors_done.wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A model with buffers and random numbers.
struct Net : nn::Module {
  Tensor forward(const Tensor& images) override {
    const Tensor x = (*norm)(images).reshape({images.shape()[0], 18});
    return (*fc)((*dropout)(x));
  }
  std::shared_ptr<nn::BatchNorm2d> norm =
      register_module("norm", std::make_shared<nn::BatchNorm2d>(2));
  std::shared_ptr<nn::Dropout> dropout =
      register_module("dropout", std::make_shared<nn::Dropout>(0.25));
  std::shared_ptr<nn::Linear> fc =
      register_module("fc", std::make_shared<nn::Linear>(18, 3));

  Tensor loss(std::uint64_t seed) {
    autograd::Generator generator(seed);
    std::vector<float> pixels(4 * 18);
    generator.normal(pixels);
    const Tensor y = (*this)(from_vector(pixels, {4, 2, 3, 3}));
    return (y * y).mean();
  }
  std::vector<float> values() const {
    std::vector<float> all;
    for (const auto& [name, tensor] : state_dict()) {
      if (tensor.dtype() != DType::kF32) continue;
      for (const float x : tensor.detach().to_vector<float>()) all.push_back(x);
    }
    return all;
  }
};

}  // namespace hvd::elastic
