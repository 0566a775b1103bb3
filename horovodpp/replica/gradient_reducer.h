// SPDX-License-Identifier: Apache-2.0
// A GradientReducer turns one rank's gradients into the job's gradients: add
// each one when it is final, and call finish() before the optimizer's step.
//
//   hvd::replica::GradientReducer reducer(hvd::current_runtime());
//   reducer.add("fc1.weight", view);      // during backward; returns at once
//   reducer.add("fc1.bias", other);
//   reducer.finish();                     // now they are the ranks' means
//
// Add each gradient exactly once per step, after its last contribution, on
// every rank. Too early would average a partial sum. Twice would use a stale
// mean. Never would make the other ranks wait. The reducer knows no framework,
// only names and memory. If a gradient has several contributions, for instance
// of several backward passes, the reducer counts them:
//
//   const hvd::replica::GradientSlot weight = reducer.expect("fc1.weight", 4);  // Once.
//   if (reducer.contribute(weight)) reducer.add(weight, view);
//
// Functions that take a key also take its slot, which saves the lookup.
//
// If all gradients lie in one buffer, pass a list of its pieces:
//
//   reducer.add(buffer, {{"fc1.weight", 0, 7840}, {"fc1.bias", 7840, 10}});
//
// The gradients of a group are sent together: when the last of them has been
// added or, if some were not, by finish().
//
// A gradient's memory is borrowed until finish() has returned, and the
// destructor of a reducer waits for borrowed memory. If a framework may free a
// gradient earlier, as libtorch does with a gradient passed to a hook, pass its
// owner, too:
//
//   reducer.add("fc1.weight", view, std::make_shared<torch::Tensor>(gradient));
//
// A reducer may outlive its job; it then returns FailedPrecondition.
//
// Thread-safe; but finish() waits only for gradients that were added before.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/replica/reducer_options.h"

namespace HVD_EXPORT hvd {
class Runtime;
}  // namespace hvd

namespace HVD_EXPORT hvd {
namespace replica {

struct HandedGradient;

// A handle of a gradient in a reducer, valid only for that reducer and its
// lifetime.
class GradientSlot {
 public:
  GradientSlot() = default;  // Empty: must not be used.

 private:
  friend class GradientReducer;
  explicit GradientSlot(HandedGradient& gradient) : gradient_(&gradient) {}
  HandedGradient* gradient_ = nullptr;
};

// The best ReducerOptions::bucket_bytes if each rank computes with `threads`
// threads. Reducing a gradient as soon as it is complete overlaps with backward
// if the reduction has a free core. If all cores compute, each reduction
// interrupts the computation.
std::size_t best_bucket_bytes(const Runtime& job, int threads);

class GradientReducer {
 public:
  //   hvd::Error (InvalidArgument)     the predivide factor is not a positive
  //                                    finite number, or is set without average;
  //                                    the scale is not such a number; the op is
  //                                    unknown; a key is in two groups; the
  //                                    compressor does not support the op; this
  //                                    rank is not in the process set
  //   hvd::Error (FailedPrecondition)  this rank has left the job
  explicit GradientReducer(Runtime& runtime, ReducerOptions options = {});
  // Waits for operations in flight in memory without a `keep_alive`.
  ~GradientReducer();

  // Declares that the gradient of `key` has `contributions` contributions in
  // every step. Other keys have one.
  //   hvd::Error (InvalidArgument)  `contributions` is less than one
  GradientSlot expect(const std::string& key, int contributions);
  // The slot of a key.
  GradientSlot slot(const std::string& key);
  // Counts a contribution. Returns whether it was the last one; then add() the
  // gradient.
  //   hvd::Error (FailedPrecondition)  one contribution too many; says of how many
  bool contribute(GradientSlot slot);
  bool contribute(const std::string& key);
  // The number of contributions still to come in this step; 0 once it was
  // added.
  int owed(GradientSlot slot) const;
  int owed(const std::string& key) const;

  // Starts to reduce `gradient` in-place. Its memory is borrowed until finish()
  // has returned. Alternatively `keep_alive` owns it, and is released later, on
  // any thread.
  //   hvd::Error (AlreadyExists)       `key` was added since the last finish()
  //   hvd::Error (FailedPrecondition)  this rank has left the job
  void add(GradientSlot slot, const TensorView& gradient,
           std::shared_ptr<const void> keep_alive = nullptr);
  void add(const std::string& key, const TensorView& gradient,
           std::shared_ptr<const void> keep_alive = nullptr);

  // Adds all gradients in a flat buffer, or none. Each piece is a gradient of
  // its own: ranks may cut their buffers differently, and add pieces in several
  // calls. Gaps between the pieces stay unchanged.
  //   hvd::Error (InvalidArgument)  a piece does not lie within the buffer,
  //                                 overlaps another, or has the key of another
  //   (others)                      as above
  void add(const TensorView& buffer, const std::vector<GradientPiece>& pieces,
           const std::shared_ptr<const void>& keep_alive = nullptr);

  // Adds a sparse gradient: `rows`, int64[n], and their `values`, [n, ...]; n
  // may differ between ranks. Copies both; finish() fills `result`. It is never
  // compressed or sent with others, whatever the groups are.
  //   hvd::Error (InvalidArgument)  the op is neither average nor sum; `rows` is
  //                                 not int64[n], or n is not that of `values`
  //   (others)                      as above
  void add_rows(const std::string& key, const ConstTensorView& rows,
                const ConstTensorView& values,
                std::shared_ptr<GatheredRows> result,
                std::shared_ptr<const void> keep_alive = nullptr);

  // The job that the reducer was created in.
  //   FailedPrecondition  this rank has left it
  StatusOr<std::shared_ptr<Runtime>> job() const;
  // The options that the reducer was created with.
  const ReducerOptions& options() const;

  // Whether `key` was added since the last finish().
  bool has(GradientSlot slot) const;
  bool has(const std::string& key) const;
  // Whether any gradient was added since then.
  bool is_pending() const;

  // The positions of those of `slots` that were not added since then: add them
  // before finish(), as zeros if they do not exist. If `exist` is not empty, it
  // has a 0 for each missing gradient, and the ranks agree on which of them
  // exist on no rank: these are left out. All ranks then call it alike.
  //   hvd::Error  they could not agree
  std::vector<std::size_t> rest(const std::vector<GradientSlot>& slots,
                                const std::vector<std::uint8_t>& exist);

  // Sums some numbers, for instance losses or counts, over the ranks of the
  // set, in one small allreduce that is waited for. All ranks call it, with the
  // same key and as many numbers.
  //   hvd::Error  it failed
  std::vector<double> sum(const std::string& key,
                          std::vector<double> values) const;

  // The numbers of all ranks of the set, in rank order; joined ranks have none.
  // Otherwise as sum().
  std::vector<std::int64_t> gather(
      const std::string& key, const std::vector<std::int64_t>& numbers) const;

  // The position of this rank in the set, and the number of its ranks.
  int rank() const;
  int num_ranks() const;

  ReducerStats stats() const;

  // Waits until all added gradients are reduced, and returns their
  // `keep_alive`s, in the order of adding. Afterwards all contributions are
  // owed again, and the same keys may be added, even if it threw.
  //   hvd::Error  the first failure, in the order of adding; names the tensor
  std::vector<std::shared_ptr<const void>> finish();

  // Ends a step without finishing it: waits for sent gradients, and forgets the
  // others.
  void discard();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace replica
}  // namespace hvd
