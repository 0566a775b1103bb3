// SPDX-License-Identifier: Apache-2.0
// A Compressor sends gradients in fewer bytes than they have. A reducer gives
// it batches of gradients. It keeps its own state of each gradient, by key: its
// errors, which are added to the next gradient, or a basis.
//
//   class Halved : public hvd::compression::Compressor {
//     std::string name() const override { return "halved"; }
//     std::unique_ptr<Exchange> start(Runtime& job, std::vector<Gradient> batch,
//                                     ExchangeOptions options) override;
//     double traffic(int ranks) const override { … }
//   };
//
// All ranks end with the same bits. A result that would not be finite without
// compression is not finite with it, so that a GradScaler sees it. Such
// gradients do not damage the kept state.
//
// A Compressor belongs to one reducer. Several threads may call start() at
// once, each with other keys; only one thread may call the other functions.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace HVD_EXPORT hvd {
class Runtime;
}

namespace HVD_EXPORT hvd {
namespace compression {

// A float32 gradient of this rank; replaced by the reduced one.
struct Gradient {
  std::string key;
  TensorView view;
};

struct ExchangeOptions {
  // The collectives' name, or the prefix of their names.
  std::string name;
  // See AllreduceOptions. Average, or sum.
  ReduceOp op = ReduceOp::kAverage;
  double prescale_factor = 1.0;
  double postscale_factor = 1.0;
  ProcessSet process_set = ProcessSet::global();
  int num_ranks = 1;

  // The factor of the sum of all ranks' gradients.
  double factor() const {
    const double scales = prescale_factor * postscale_factor;
    return op == ReduceOp::kAverage ? scales / num_ranks : scales;
  }
};

// A batch in flight. The gradients are borrowed until it is destroyed.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Begins the second round, if any, when the first has ended. All batches of a
  // step are advanced before one is finished.
  virtual Status advance() { return Status(); }

  // Waits, and writes the reduced gradients.
  virtual Status finish() = 0;
};

// State of one gradient; "<key>.<what>".
struct RememberedValues {
  std::string name;
  std::vector<float> values;
};

struct CompressionStats {
  std::uint64_t gradient_bytes = 0;  // The gradients' size.
  std::uint64_t sent_bytes = 0;      // Bytes that this rank submitted instead.
  // Total time of the start() calls; the caller measures it.
  std::uint64_t start_nanoseconds = 0;
};

class Compressor {
 public:
  virtual ~Compressor() = default;

  virtual std::string name() const = 0;

  // Starts to reduce `batch`, whose keys, sizes and order are equal on all
  // ranks.
  virtual std::unique_ptr<Exchange> start(Runtime& job,
                                          std::vector<Gradient> batch,
                                          ExchangeOptions options) = 0;

  // Received bytes per byte of large gradients, among `ranks` ranks. Without
  // compression: 2 (n - 1) / n.
  virtual double traffic(int ranks) const = 0;

  // Saves and loads the state, which differs between ranks.
  virtual std::vector<RememberedValues> state() const { return {}; }
  virtual void load_state(const std::vector<RememberedValues>&) {}

  CompressionStats stats() const {
    return {gradient_bytes_, sent_bytes_, start_nanoseconds_};
  }
  void count_start(std::uint64_t nanoseconds) {
    start_nanoseconds_ += nanoseconds;
  }

 protected:
  void count(std::uint64_t gradient_bytes, std::uint64_t sent_bytes) {
    gradient_bytes_ += gradient_bytes;
    sent_bytes_ += sent_bytes;
  }

 private:
  std::atomic<std::uint64_t> gradient_bytes_ = 0;
  std::atomic<std::uint64_t> sent_bytes_ = 0;
  std::atomic<std::uint64_t> start_nanoseconds_ = 0;
};

// Received bytes per byte without compression.
inline double plain_traffic(int ranks) { return 2.0 * (ranks - 1) / ranks; }

}  // namespace compression
}  // namespace hvd
