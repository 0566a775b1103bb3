// SPDX-License-Identifier: Apache-2.0
// Work that is recorded from streams instead of being done, and what becomes of it: a
// graph, whose branches are the streams, each done by a thread of its own, out of step
// where nothing that was recorded puts one behind another.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "test/support/fake_cuda/stream.h"

namespace fake_cuda {

// What a stream has recorded: work, or that another branch may go on from here, or has
// come so far.
struct Step {
  enum class Kind { kWork, kTell, kAwait };
  Kind kind = Kind::kWork;
  Stream::Work work = nullptr;
  std::size_t edge = 0;  // Of the other two.
};

struct Branch {
  int device = 0;
  std::vector<Step> steps = {};
};

// Under the lock of the world.
class Capture {
 public:
  // The branch of the stream that the capture begins with is the first.
  Capture(std::thread::id thread, int mode, int device)
      : thread_(thread), mode_(mode), branches_{Branch{.device = device}} {}

  std::thread::id thread() const { return thread_; }
  int mode() const { return mode_; }

  std::size_t join(int device) {
    branches_.push_back({.device = device});
    return branches_.size() - 1;
  }
  void put(std::size_t branch, Stream::Work work) {
    branches_[branch].steps.push_back({.work = std::move(work)});
  }
  std::size_t tell(std::size_t branch);
  void await(std::size_t branch, std::size_t edge) {
    branches_[branch].steps.push_back(
        {.kind = Step::Kind::kAwait, .edge = edge});
  }

  void invalidate() { is_valid_ = false; }
  bool is_valid() const { return is_valid_; }
  // Whether the first branch ends behind all work of the others.
  bool is_joined() const;

  std::vector<Branch> take() { return std::move(branches_); }

 private:
  const std::thread::id thread_;
  const int mode_;
  bool is_valid_ = true;
  std::vector<Branch> branches_;
  std::size_t edges_ = 0;
};

// What can be launched. It goes with the last launch.
class Graph {
 public:
  explicit Graph(std::vector<Branch> branches);

  // Puts all of it into `stream`.
  void launch(Stream& stream);

  std::vector<std::shared_ptr<Stream>> queues() const { return queues_; }

 private:
  const std::shared_ptr<const std::vector<Branch>> branches_;
  std::vector<std::shared_ptr<Stream>> queues_;
};

}  // namespace fake_cuda
