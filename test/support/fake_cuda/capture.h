// SPDX-License-Identifier: Apache-2.0
// Work that streams record instead of executing, and the resulting graph. The
// branches of a graph are its streams. Each runs on its own thread,
// unsynchronized unless an await orders it behind another.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "test/support/fake_cuda/stream.h"

namespace fake_cuda {

// A recorded step of a stream: work, a point that another branch may await, or
// an await of such a point.
struct Step {
  enum class Kind { kWork, kTell, kAwait };
  Kind kind = Kind::kWork;
  Stream::Work work = nullptr;
  std::size_t edge = 0;  // Of kTell and kAwait.
};

struct Branch {
  int device = 0;
  std::vector<Step> steps = {};
};

// Guarded by the lock of the world.
class Capture {
 public:
  // The first branch is that of the stream that begins the capture.
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
  // Whether the first branch ends after all work of the others.
  bool is_joined() const;

  std::vector<Branch> take() { return std::move(branches_); }

 private:
  const std::thread::id thread_;
  const int mode_;
  bool is_valid_ = true;
  std::vector<Branch> branches_;
  std::size_t edges_ = 0;
};

// A launchable graph. It lives until the last launch ends.
class Graph {
 public:
  explicit Graph(std::vector<Branch> branches);

  // Puts all branches into `stream`.
  void launch(Stream& stream);

  std::vector<std::shared_ptr<Stream>> queues() const { return queues_; }

 private:
  const std::shared_ptr<const std::vector<Branch>> branches_;
  std::vector<std::shared_ptr<Stream>> queues_;
};

}  // namespace fake_cuda
