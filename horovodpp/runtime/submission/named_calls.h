// SPDX-License-Identifier: Apache-2.0
// The NamedCalls cache this rank's allreduces by name, one for each name. A
// call that differs from the previous one of its name only in its tensor's
// address is neither checked nor looked up again.
//
// A failed call is not repeated. Names that are not used again are dropped as
// others come. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "horovodpp/coordinator/protocol/name_table.h"
#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/core/memory/slab.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/thread/promise.h"
#include "horovodpp/runtime/execution/set_table.h"
#include "horovodpp/runtime/settings/options.h"
#include "horovodpp/runtime/submission/submission_sink.h"

namespace hvd::runtime {

class NamedCalls {
 public:
  // `sets` and `sink` outlive this object; `key` gives access to the sink while
  // it takes submissions.
  NamedCalls(SetTable& sets, SubmissionSink& sink,
             std::weak_ptr<SubmissionSink> key)
      : sets_(sets), sink_(sink), key_(std::move(key)) {}
  NamedCalls(const NamedCalls&) = delete;
  NamedCalls& operator=(const NamedCalls&) = delete;

  // The number of calls that are kept even if unused: about 50 MiB.
  static constexpr std::size_t kLeast = std::size_t{1} << 15;

  // Repeats a call, in-place on `tensor`. nullopt, with `options` unchanged, if
  // no such call is cached or it is in flight.
  std::optional<Future<void>> repeat(const TensorView& tensor,
                                     AllreduceOptions& options);

  // As repeat(), and waits for the outcome.
  std::optional<Status> run(const TensorView& tensor,
                            AllreduceOptions& options);

  // Makes a call for the first time, and caches it. `built` is checked, works
  // in-place on `tensor`, and belongs to `set`.
  Future<void> make(coordinator::Submission&& built, const ProcessSet& set,
                    const TensorView& tensor);

  // The number of cached calls.
  std::size_t size() const {
    MutexLock lock(mutex_);
    return calls_.size();
  }

 private:
  class Call;

  // A call of the table.
  class Kept {
   public:
    explicit Kept(std::shared_ptr<Call> call);
    const std::shared_ptr<Call>& call() const { return call_; }
    const coordinator::Key& key() const;
    std::size_t hash() const { return hash_; }

   private:
    std::shared_ptr<Call> call_;
    std::size_t hash_;
  };

  std::shared_ptr<Call> claim(const TensorView& tensor,
                              AllreduceOptions& options);
  absl::Status admit(Call& call);
  Call* find(AllreduceOptions& options) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void keep(const std::shared_ptr<Call>& call);
  void forget_order() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void drop_unused() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Future<void> start(std::shared_ptr<Call> call, const TensorView& tensor,
                     std::shared_ptr<const void> keep_alive);

  SetTable& sets_;
  SubmissionSink& sink_;
  const std::weak_ptr<SubmissionSink> key_;
  const std::shared_ptr<Slab> slab_ = std::make_shared<Slab>();
  mutable Mutex mutex_;
  // Lookups usually hit, and then need the whole key.
  struct KeyEqual {
    using is_transparent = void;
    bool operator()(const Kept& kept, const auto& other) const;
  };

  absl::flat_hash_set<Kept, coordinator::KeyHash, KeyEqual> calls_
      ABSL_GUARDED_BY(mutex_);
  // The limit before a search for unused calls.
  std::size_t most_ ABSL_GUARDED_BY(mutex_) = kLeast;
  Call* last_ ABSL_GUARDED_BY(mutex_) = nullptr;  // The call found last.
  // Number of times that calls were dropped.
  std::uint64_t drops_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace hvd::runtime
