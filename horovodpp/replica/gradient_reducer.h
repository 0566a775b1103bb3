// SPDX-License-Identifier: Apache-2.0
// A GradientReducer turns the gradients of one rank into the gradients of the
// job: add each one when it is final, finish before the step.
//
//   hvd::replica::GradientReducer reducer(hvd::current_runtime());
//   reducer.add("fc1.weight", view);      // during backward; returns at once
//   reducer.add("fc1.bias", other);
//   reducer.finish();                     // now they are the ranks' means
//
// A gradient is handed over once per step, after its last contribution, on
// every rank: never before (a partial sum would be averaged), never twice (the
// step would use a stale mean) and never not at all (the other ranks would
// wait). It knows no framework, only names and memory. Where a gradient is made of
// several contributions, as of several backward passes, it counts them:
//
//   const hvd::replica::GradientSlot weight = reducer.expect("fc1.weight", 4);  // Once.
//   if (reducer.contribute(weight)) reducer.add(weight, view);
//
// What takes a key takes its slot as well, which need not be looked up.
//
// Where all gradients lie in one buffer, an index of its pieces will do:
//
//   reducer.add(buffer, {{"fc1.weight", 0, 7840}, {"fc1.bias", 7840, 10}});
//
// Gradients of a group travel together: they are sent when the last of them has
// been added or, those that have been by then, by finish().
//
// The memory of a gradient is borrowed until finish() has returned, and the end
// of a reducer waits for what it has borrowed. Where somebody else's engine may
// free a gradient meanwhile, as libtorch does with what it shows to a hook, its
// owner is handed over, too:
//
//   reducer.add("fc1.weight", view, std::make_shared<torch::Tensor>(gradient));
//
// A reducer may outlive its job; it then answers FailedPrecondition.
//
// Thread-safe; but a finish() waits only for what was added before it.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/replica/gathered_rows.h"
#include "horovodpp/replica/reducer_options.h"

namespace HVD_EXPORT hvd {
class Runtime;
}  // namespace hvd

namespace HVD_EXPORT hvd {
namespace replica {

struct GradientRecord;

// Where a reducer keeps what it knows of a gradient. Of that reducer alone, and as
// long as it lives.
class GradientSlot {
 public:
  GradientSlot() = default;  // Of none: not to be used.

 private:
  friend class GradientReducer;
  explicit GradientSlot(GradientRecord& record) : record_(&record) {}
  GradientRecord* record_ = nullptr;
};

class GradientReducer {
 public:
  //   hvd::Error (InvalidArgument)     the predivide factor is no positive
  //                                    finite number, or goes with no average;
  //                                    nor is the scale; there is no such op; a
  //                                    key is in two groups; a compressor goes
  //                                    with no such op; this rank is not in the
  //                                    process set
  //   hvd::Error (FailedPrecondition)  this rank has left the job
  explicit GradientReducer(Runtime& runtime, ReducerOptions options = {});
  // Waits for what is under way in memory that has no `keep_alive`.
  ~GradientReducer();

  // Says that the gradient of `key` is made of so many contributions in every
  // step; of keys that were not expected, of one.
  //   hvd::Error (InvalidArgument)  there is less than one
  GradientSlot expect(const std::string& key, int contributions);
  // Counts a contribution. Whether it was the last one, so that the gradient is
  // to be add()ed now.
  //   hvd::Error (FailedPrecondition)  it is one too many; says of how many
  bool contribute(GradientSlot slot);
  bool contribute(const std::string& key);
  // How many contributions are still to come in this step: none once it was
  // added.
  int owed(GradientSlot slot) const;
  int owed(const std::string& key) const;

  // Starts to reduce `gradient` in place. Its memory is borrowed until finish()
  // has returned; or `keep_alive` is what it belongs to, and is let go later on,
  // on any thread.
  //   hvd::Error (AlreadyExists)       `key` was added since the last finish()
  //   hvd::Error (FailedPrecondition)  this rank has left the job
  void add(GradientSlot slot, const TensorView& gradient,
           std::shared_ptr<const void> keep_alive = nullptr);
  void add(const std::string& key, const TensorView& gradient,
           std::shared_ptr<const void> keep_alive = nullptr);

  // The same of all gradients in a flat buffer, or none. Each is a gradient of its
  // own: ranks need not cut their buffers alike, nor add all pieces at once. What
  // lies between the pieces stays as it is.
  //   hvd::Error (InvalidArgument)  a piece does not lie within the buffer, shares
  //                                 elements with another, or has the key of
  //                                 another
  //   (others)                      as above
  void add(const TensorView& buffer, const std::vector<GradientPiece>& pieces,
           const std::shared_ptr<const void>& keep_alive = nullptr);

  // The same of a sparse gradient: `rows`, int64[n], and their `values`, [n, ...],
  // which ranks may have any number of. Both are copied; finish() fills `result`.
  // Neither compressed nor, whatever the groups are, sent with others.
  //   hvd::Error (InvalidArgument)  the op is neither average nor sum; the rows are
  //                                 no int64[n], or not as many as values
  //   (others)                      as above
  void add_rows(const std::string& key, const ConstTensorView& rows,
                const ConstTensorView& values,
                std::shared_ptr<GatheredRows> result,
                std::shared_ptr<const void> keep_alive = nullptr);

  // The job that it was made in.
  //   FailedPrecondition  this rank has left it
  StatusOr<std::shared_ptr<Runtime>> job() const;
  // What it was made with.
  const ReducerOptions& options() const;

  // Whether `key` was added since the last finish().
  bool has(GradientSlot slot) const;
  bool has(const std::string& key) const;
  // Whether anything was.
  bool is_pending() const;

  // The sums over the ranks of the set of some numbers, as of losses or counts,
  // in one small allreduce that is waited for. All ranks call it, with the same
  // key and as many numbers.
  //   hvd::Error  it failed
  std::vector<double> sum(const std::string& key,
                          std::vector<double> values) const;

  // The numbers of all ranks of the set, one rank's after the other's; of those
  // that have joined, none. Otherwise as sum().
  std::vector<std::int64_t> gather(
      const std::string& key, const std::vector<std::int64_t>& numbers) const;

  // The place of this rank in the set, and the number of its ranks.
  int rank() const;
  int num_ranks() const;

  ReducerStats stats() const;

  // Waits until everything that was added is reduced, and returns what it was
  // added with, as `keep_alive`, in the order of adding. Afterwards all
  // contributions are owed again, and the same keys may be added, also if it threw.
  //   hvd::Error  the first failure, in the order of adding; names the tensor
  std::vector<std::shared_ptr<const void>> finish();

  // Ends a step that will not be finished: waits for what has been sent, and
  // forgets what has not.
  void discard();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace replica
}  // namespace hvd
