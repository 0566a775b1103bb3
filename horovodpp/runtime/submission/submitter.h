// SPDX-License-Identifier: Apache-2.0
// The Submitter gives each submission its future and passes it on to the job;
// the futures tell the job when a thread blocks on them.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/core/thread/futex_word.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/core/thread/promise.h"
#include "horovodpp/runtime/execution/set_table.h"
#include "horovodpp/runtime/settings/options.h"
#include "horovodpp/runtime/submission/barrier_calls.h"
#include "horovodpp/runtime/submission/lifetime_guard.h"
#include "horovodpp/runtime/submission/named_calls.h"
#include "horovodpp/runtime/submission/prepared_call.h"
#include "horovodpp/runtime/submission/submission_sink.h"

namespace hvd::runtime {

class Submitter {
 public:
  // The arguments outlive this object and everything submitted.
  Submitter(SetTable& sets, SubmissionSink& sink)
      : sets_(sets), sink_(sink), lifetime_guard_(&sink) {}
  // Futures may live on, and may be waited for. Returns once no thread waits
  // inside the sink, which has stopped before.
  ~Submitter() { lifetime_guard_.shut(); }
  Submitter(const Submitter&) = delete;
  Submitter& operator=(const Submitter&) = delete;

  // A submission, or an error that becomes the future's outcome.
  using Built = absl::StatusOr<coordinator::SubmissionPtr>;

  // Results go to the caller's memory: one view for each input.
  template <typename T = void>
  Future<T> in_place(Built built, coordinator::Outputs outputs) {
    if (built.ok()) (*built)->outputs = std::move(outputs);
    return submit<T>(std::move(built), taken<T>);
  }
  // Repeats an allreduce of one tensor from the cache; see NamedCalls.
  std::optional<Future<void>> repeat(const TensorView& tensor,
                                     AllreduceOptions& options) {
    return calls_.repeat(tensor, options);
  }
  // As repeat(), and waits for the outcome.
  std::optional<Status> run(const TensorView& tensor,
                            AllreduceOptions& options) {
    return calls_.run(tensor, options);
  }
  Future<void> by_name(Built built, const ProcessSet& set,
                       const TensorView& tensor);
  // See BarrierCalls.
  Future<void> barrier(const ProcessSet& set) { return barriers_.begin(set); }
  std::optional<Status> barrier_at_once(const ProcessSet& set) {
    return barriers_.run_at_once(set);
  }
  // Results are in new memory.
  template <typename T>
  Future<T> in_new_memory(Built built) {
    std::vector<Buffer> outputs = add_outputs(built);
    return submit<T>(std::move(built), [outputs = std::move(outputs)](
                                           coordinator::Results results) {
      if (!outputs.empty()) results.tensors = outputs;
      return taken<T>(std::move(results));
    });
  }

  // Prepares a submission of `set` to be repeated, with results in the caller's
  // memory.
  StatusOr<std::unique_ptr<PreparedCall>> prepare(Built built,
                                                  const ProcessSet& set,
                                                  coordinator::Outputs outputs);

  // `take` makes the outcome from the results.
  template <typename T, typename Take>
  Future<T> submit(Built built, Take take) {
    if (!built.ok()) return Future<T>::ready(built.status());
    const coordinator::SubmissionPtr submission = *std::move(built);
    const bool borrows =
        submission->graph != nullptr ||
        (!submission->inputs.empty() && submission->keep_alive == nullptr);
    Promise<T> promise(waiter_for(key_, submission),
                       borrows ? IfDropped::kWait : IfDropped::kNothing);
    Future<T> future = promise.future();
    if (!submission->request.device.is_cpu()) {
      submission->enqueued = [promise, take](const auto& work, auto results) {
        promise.set_enqueued(work, take(std::move(results)));
      };
    }
    submission->done =
        [promise = std::move(promise), take = std::move(take),
         ended = joiner_of(submission->request), sink = key_,
         owner = std::exchange(submission->keep_alive, nullptr)](
            absl::StatusOr<coordinator::Results> outcome) mutable {
          // Released after the callbacks have run.
          const std::shared_ptr<const void> kept = std::move(owner);
          ended(outcome.ok());
          try {
            promise.set(outcome.ok() ? Outcome<T>(take(*std::move(outcome)))
                                     : Outcome<T>(outcome.status()));
          } catch (const std::exception& e) {
            report(sink, e.what());
          } catch (...) {
            report(sink, "not a std::exception");
          }
          // The owner's destructor is foreign code: flush first.
          if (kept != nullptr) WakeTogether::flush();
        };
    hand_on(submission);
    return future;
  }

 private:
  // The outcome that a caller gets of the results.
  template <typename T>
  static Outcome<T> taken(coordinator::Results results) {
    if constexpr (std::is_same_v<T, Buffer>) {
      return std::move(results.tensors.front());
    } else if constexpr (std::is_same_v<T, std::vector<Buffer>>) {
      return std::move(results.tensors);
    } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
      return std::move(results.received_splits);
    } else if constexpr (std::is_same_v<T, AlltoallResult>) {
      return AlltoallResult{
          .tensor = std::move(results.tensors.front()),
          .received_splits = std::move(results.received_splits)};
    } else {
      static_assert(std::is_void_v<T>);
      return absl::OkStatus();
    }
  }
  // Allocates the results of operations whose results are like the inputs; the
  // others allocate theirs when they are executed.
  static std::vector<Buffer> add_outputs(Built& built);

  // Called when a request ends; tells the table if it was a join.
  struct Joiner {
    SetTable* sets;  // nullptr: it was not a join.
    coordinator::ProcessSetId set;
    void operator()(bool all_have_joined) const;
  };

  // Submits after barriers that were called before.
  void hand_on(const coordinator::SubmissionPtr& submission);
  Joiner joiner_of(const coordinator::Request& request) const;
  // Reports that a callback has thrown, if the sink still exists.
  static void report(const std::weak_ptr<SubmissionSink>& sink,
                     const char* what);

  SetTable& sets_;
  SubmissionSink& sink_;
  LifetimeGuard<SubmissionSink> lifetime_guard_;
  const std::weak_ptr<SubmissionSink> key_ = lifetime_guard_.key();
  NamedCalls calls_{sets_, sink_, key_};
  BarrierCalls barriers_{sets_, key_};
};

}  // namespace hvd::runtime
