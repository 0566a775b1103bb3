// SPDX-License-Identifier: Apache-2.0
// A Replay watches the second run of a region's function: it collects the
// tensors that operations save, in the places of those they saved in forward,
// and holds each to what forward saw there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "horovodpp/autograd/captured_tensors.h"
#include "horovodpp/autograd/operation_observer.h"
#include "horovodpp/autograd/saved_tensor.h"
#include "horovodpp/checkpoint/operation_log.h"
#include "horovodpp/checkpoint/recording.h"

namespace hvd::autograd {

// Thrown through the function when its replay has all that is wanted. No child
// of std::exception: it is no failure, and is for the region alone to catch.
struct ReplayIsComplete {};

class Replay final : public SavedTensorKeeper, public OperationObserver {
 public:
  // For one run, during which `recording` lives. `again`: there may be another
  // one. `outer`: who watches around it, or null.
  Replay(const Recording& recording, bool again, OperationObserver* outer);

  // The tensor of `place`, which `node` needs; it is let go of.
  //   CheckpointError  it was asked for before
  //   VersionError     the function wrote to it after it was saved
  Tensor take(std::uint32_t place, const Node& node);

  // After a run that returned.
  //   CheckpointError  fewer tensors were saved than in forward
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

  const Recording* recording_;  // While the function runs,
  OperationObserver* outer_;    // likewise.
  const bool again_;
  // A backward within the function: forward will save more.
  const bool forward_goes_on_;
  CapturedTensors::Check captured_;
  const std::vector<bool> wanted_;
  std::vector<Value> values_;
  std::size_t saved_ = 0;  // So far, wanted or not.
  std::size_t next_operation_ = 0;
  const char* operation_ = "";  // Recorded last.
  bool runs_ = true;            // The function has not returned.
  OperationLog log_;
  std::atomic<std::uint32_t> owners_{1};
};

}  // namespace hvd::autograd
