// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/run_ranks.h"

#include <condition_variable>
#include <exception>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/thread/thread_start.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/transport/loopback/loopback.h"

namespace hvd::internal {
namespace {

// The shared state of one job's threads.
class RankThreads {
 public:
  RankThreads(int ranks, const Config& config,
              const std::function<void(int)>& body)
      : world_(ranks, {.ranks_per_node = config.ranks_per_node}),
        config_(config),
        body_(body) {
    config_.launcher
        .clear();  // The launcher waits for this process, not for its threads.
  }

  // Lets the threads begin, or end at once if a thread could not be created.
  void open(bool all_there) {
    MutexLock lock(mutex_);
    gate_ = all_there ? Gate::kOpen : Gate::kClosed;
    changed_.notify_all();
  }

  void run(int rank) {
    if (!passes_gate()) return;
    std::shared_ptr<Runtime> job;
    try {
      job = value_or_throw(Runtime::start(config_, world_.communicator(rank)));
      const ThreadRuntime scope(job);
      body_(rank);
      throw_if_error(job->stop());  // The body may have stopped it.
    } catch (const std::exception& error) {
      fail(rank, job.get(), error.what());
    } catch (...) {
      fail(rank, job.get(), "threw an object that is not a std::exception");
    }
  }

  void rethrow_failure() {
    MutexLock lock(mutex_);
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  enum class Gate { kShut, kOpen, kClosed };

  bool passes_gate() {
    MutexLock lock(mutex_);
    while (gate_ == Gate::kShut) changed_.wait(mutex_);
    return gate_ == Gate::kOpen;
  }

  // Called while the exception is handled. Stores it before other ranks can
  // learn of the failure: their exceptions are its consequences.
  void fail(int rank, Runtime* job, const std::string& why) {
    {
      MutexLock lock(mutex_);
      if (failure_ == nullptr) failure_ = std::current_exception();
    }
    if (job == nullptr) {
      world_.kill(rank, absl::StrCat("could not start: ", why));
      return;
    }
    job->abort(absl::StrCat("failed: ", why));
    job->stop().IgnoreError();
  }

  transport::LoopbackWorld world_;
  Config config_;
  const std::function<void(int)>& body_;
  Mutex mutex_;
  CondVar changed_;
  Gate gate_ ABSL_GUARDED_BY(mutex_) = Gate::kShut;
  std::exception_ptr failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void run_rank_threads(int ranks, const Config& config,
                      const std::function<void(int rank)>& body) {
  if (ranks < 1) {
    throw InvalidArgument(
        absl::StrCat("a job of ", ranks, " ranks: it takes at least one"));
  }
  RankThreads job(ranks, config, body);
  std::vector<std::thread> threads;
  Status started;
  for (int rank = 0; rank < ranks && started.ok(); ++rank) {
    auto thread = start_thread(absl::StrCat("is rank ", rank, " of run_ranks"),
                               [&job, rank] { job.run(rank); });
    if (thread.ok()) {
      threads.push_back(*std::move(thread));
    } else {
      started = thread.status();
    }
  }
  job.open(started.ok());
  for (std::thread& thread : threads) thread.join();
  throw_if_error(started);
  job.rethrow_failure();
}

}  // namespace hvd::internal
