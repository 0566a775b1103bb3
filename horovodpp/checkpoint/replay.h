// SPDX-License-Identifier: Apache-2.0
// A Replay observes the second run of a region's function. It collects the
// tensors that operations save, in the order of forward, and compares each with
// its description from forward.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "horovodpp/autograd/graph/operation_observer.h"
#include "horovodpp/autograd/record/captured_tensors.h"
#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/checkpoint/recording.h"

namespace hvd::autograd {

// Thrown through the function once its replay has all wanted tensors. Not
// derived from std::exception: it is no error, and only the region catches it.
struct ReplayIsComplete {};

class Replay final : public SavedTensorStore, public OperationObserver {
 public:
  // For one run, which `recording` outlives. `again`: another run may follow.
  // `outer`: the enclosing observer, or null.
  Replay(const Recording& recording, bool again, OperationObserver* outer);

  // The tensor of `place`, which `node` needs; releases it.
  //   CheckpointError  it was taken before
  //   VersionError     the function wrote to it after it was saved
  Tensor take(std::uint32_t place, const Node& node);

  // Call after a run that returned.
  //   CheckpointError  a different number of tensors was saved than in forward
  void check_complete();

  Kept keep(const Tensor& tensor) override;
  void reads(const Tensor& tensor) override;
  void records(const Node& node) override;
  bool recalls(const char* operation, OperationResults& results) override;
  void made(const char* operation, const OperationResults& results) override;
  void named(const Tensor& tensor, std::string_view name) override;
  void retain() override { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() override {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  struct Value {
    Tensor tensor;
    std::uint32_t version = 0;
  };

  ~Replay() = default;
  void check_same(const Tensor& tensor, std::size_t place) const;
  void check_operation(const char* operation) const;
  [[noreturn]] void fail(const std::string& what) const;

  const Recording* recording_;  // Valid while the function runs.
  OperationObserver* outer_;    // Likewise.
  const bool again_;
  // This is a backward within the function: forward will save more tensors.
  const bool forward_goes_on_;
  CapturedTensors::Check captured_;
  const std::vector<bool> wanted_;
  std::vector<Value> values_;
  std::size_t saved_ = 0;  // Tensors saved so far, wanted or not.
  std::size_t next_operation_ = 0;
  const char* operation_ = "";  // The last recorded operation.
  bool runs_ = true;            // Until the function returns.
  OperationLog log_;
  std::atomic<std::uint32_t> owners_{1};
};

}  // namespace hvd::autograd
