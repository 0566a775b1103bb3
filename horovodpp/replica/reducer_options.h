// SPDX-License-Identifier: Apache-2.0
// What a GradientReducer is told, and what it tells.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace HVD_EXPORT hvd {
namespace compression {
class Compressor;
}
namespace replica {

// Gradients that lie in one buffer and of whose reduction each rank gets a part
// only: that of its rows, as of a reducescatter. They are sent together, in the
// group's name, with what lies between them.
struct ScatteredGroup {
  std::string name = {};
  std::vector<std::string> keys = {};
  TensorView buffer = {};
  TensorView share = {};  // Where the part goes: anywhere, or its place there.
};

// Hears of gradients on their way, for traces, but not of those that are compressed:
// when one is sent, and when its reduction has ended. On any thread; does not wait,
// call the reducer, or throw.
class GradientObserver {
 public:
  virtual ~GradientObserver() = default;
  virtual void sent(const std::string& key) = 0;
  virtual void reduced(const std::string& key) = 0;
};

struct ReducerOptions {
  ReduceOp op = ReduceOp::kAverage;
  // Gradients are divided by this before the sum and multiplied by it after, on
  // top of the average's division: moves range from one side to the other in
  // narrow types. Only with an average.
  double gradient_predivide_factor = 1.0;
  // Gradients are multiplied by this before the sum, on top of all that.
  double scale = 1.0;
  // Groups of keys; equal on all ranks.
  std::vector<std::vector<std::string>> groups = {};
  // Gradients that are in no group are held back until so many bytes of them have
  // been added, or for finish(): then they are sent together. 0: none is. Not with a
  // compressor.
  std::size_t bucket_bytes = 0;
  // More groups, likewise. What is added of them lies in their buffers.
  std::vector<ScatteredGroup> scattered = {};
  // How gradients of float32 are sent, by groups, where there is more than one
  // rank. Of no other reducer. Only with average and sum.
  std::shared_ptr<compression::Compressor> compressor = nullptr;
  std::shared_ptr<GradientObserver> observer = nullptr;  // Or null.
  // Before the keys, in the names peers see. Reducers at work at the same time
  // have different ones.
  std::string name = "gradient";
  // The ranks whose gradients are reduced; an average divides by their number.
  // Others have no reducer of this name and set.
  ProcessSet process_set = ProcessSet::global();
};

// A gradient that is part of a flat buffer: `elements` from element `offset` on.
struct GradientPiece {
  std::string key;
  std::int64_t offset = 0;
  std::int64_t elements = 0;
};

// What a reducer has handed over so far.
struct ReducerStats {
  std::uint64_t gradients = 0;   // One for each key and step.
  std::uint64_t bytes = 0;       // Of them,
  std::uint64_t sent_bytes = 0;  // and of what was sent for them.
};

}  // namespace replica
}  // namespace hvd
