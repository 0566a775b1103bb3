// SPDX-License-Identifier: Apache-2.0
// The options of a GradientReducer, its observers, results and statistics.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace HVD_EXPORT hvd {
namespace compression {
class Compressor;
}
namespace replica {

// Gradients in one buffer whose reduction is scattered: each rank gets the part
// with its rows, as of a reducescatter. They are sent together, with the gaps
// between them, in the group's name.
struct ScatteredGroup {
  std::string name = {};
  std::vector<std::string> keys = {};
  TensorView buffer = {};
  TensorView share = {};  // This rank's part; may lie in `buffer`.
};

// Observes uncompressed gradients, for traces: when one is sent, and when its
// reduction has ended. Called on any thread; must not wait, call the reducer,
// or throw.
class GradientObserver {
 public:
  virtual ~GradientObserver() = default;
  virtual void sent(const std::string& key) = 0;
  virtual void reduced(const std::string& key) = 0;
};

struct ReducerOptions {
  ReduceOp op = ReduceOp::kAverage;
  // Gradients are divided by this before the sum and multiplied by it after, in
  // addition to the average's division. That shifts the range in narrow types.
  // Only with an average.
  double gradient_predivide_factor = 1.0;
  // Multiplies gradients before the sum, in addition to the above.
  double scale = 1.0;
  // Groups of keys; equal on all ranks.
  std::vector<std::vector<std::string>> groups = {};
  // Gradients without a group are held back until they have this many bytes, or
  // until finish(), and then sent together. 0: never held back. Not with a
  // compressor.
  std::size_t bucket_bytes = 0;
  // More groups, likewise. Their added gradients lie in their buffers.
  std::vector<ScatteredGroup> scattered = {};
  // Compresses gradients of float32, by groups, if there are several ranks.
  // Must not be shared with another reducer. Only with average and sum.
  std::shared_ptr<compression::Compressor> compressor = nullptr;
  std::shared_ptr<GradientObserver> observer = nullptr;  // Or null.
  // Prefix of the keys in names that peers see. Reducers that work at the same
  // time need different names.
  std::string name = "gradient";
  // The ranks whose gradients are reduced; an average divides by their number.
  // Other ranks have no reducer of this name and set.
  ProcessSet process_set = ProcessSet::global();
};

// A gradient that is part of a flat buffer: `elements` from element `offset`
// on.
struct GradientPiece {
  std::string key;
  std::int64_t offset = 0;
  std::int64_t elements = 0;
};

// A sparse gradient on all ranks: the ranks' rows, one rank after the other; row
// numbers may repeat. The reduced gradient is the sum of the rows times the
// factor.
struct GatheredRows {
  Buffer rows = {};    // int64[n]
  Buffer values = {};  // [n, ...]
  double factor = 1.0;
};

// A reducer's totals so far.
struct ReducerStats {
  std::uint64_t gradients = 0;   // One for each key and step.
  std::uint64_t bytes = 0;       // Their size.
  std::uint64_t sent_bytes = 0;  // Bytes submitted for them.
};

}  // namespace replica
}  // namespace hvd
