// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi/world.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/mail_exchange.h"
#include "horovodpp/transport/mpi/finalize_barrier.h"
#include "horovodpp/transport/mpi/mailbox.h"
#include "horovodpp/transport/system/host.h"
#include "horovodpp/transport/watched_post.h"

namespace hvd::transport {
namespace {

constexpr int kCutOffCode = 1;

template <std::size_t N>
void assign(char (&field)[N], const std::string& text) {
  std::strncpy(field, text.c_str(), N - 1);
}

std::string level_name(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    default:
      return absl::StrCat("thread level ", level);
  }
}

}  // namespace

MpiWorld& MpiWorld::instance() {
  static auto* world = new MpiWorld;
  return *world;
}

absl::Status MpiWorld::enter(int expected_size,
                             std::chrono::steady_clock::time_point deadline) {
  MutexLock lock(mutex_);
  if (in_use_) {
    return absl::FailedPreconditionError(
        "this process has an MPI communicator already; shut it down before "
        "making another");
  }
  if (joined_.has_value() && self_.pid != ::getpid()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "process ", ::getpid(), " was forked from process ", self_.pid,
        ", whose MPI it cannot use; fork before hvd::init(), or run a program "
        "anew (exec)"));
  }
  HVD_RETURN_IF_ERROR(start_or_adopt());
  HVD_RETURN_IF_ERROR(check_size(expected_size));
  // Joining involves all ranks, once: its outcome is final.
  if (!joined_.has_value()) {
    self_.pid = ::getpid();
    joined_ = join(deadline);
  }
  if (!joined_->ok()) {
    distrust();
    return *joined_;
  }
  ++generation_;
  in_use_ = true;
  return absl::OkStatus();
}

absl::Status MpiWorld::start_or_adopt() {
  if (mpi_was_finalized()) {
    return absl::FailedPreconditionError(
        "MPI is finalized in this process, and cannot start again; initialize "
        "horovodpp before MPI_Finalize");
  }
  int level = MPI_THREAD_SINGLE;
  if (mpi_was_initialized()) {
    HVD_RETURN_IF_ERROR(
        mpi_status(MPI_Query_thread(&level), "MPI_Query_thread"));
    if (level >= MPI_THREAD_SERIALIZED) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "the program initialized MPI with ", level_name(level),
        ", and horovodpp calls it from a thread of its own; use "
        "MPI_Init_thread with MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE"));
  }
  {
    const FinalizeWithoutWaiting finalize_does_not_wait;
    HVD_RETURN_IF_ERROR(mpi_status(
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level),
        "MPI_Init_thread"));
  }
  started_by_ = ::getpid();
  std::atexit([] { instance().at_exit(); });
  if (level >= MPI_THREAD_SERIALIZED) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(mpi_library(), " offers no more than ", level_name(level),
                   "; horovodpp needs MPI_THREAD_SERIALIZED"));
}

absl::Status MpiWorld::check_size(int expected_size) const {
  int size = 0;
  HVD_RETURN_IF_ERROR(
      mpi_status(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size"));
  if (expected_size == 0 || expected_size == size) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the launcher promised ", expected_size,
                   expected_size == 1 ? " rank" : " ranks", " but MPI (",
                   mpi_library(), ") says its world has ", size,
                   "; is the program linked with the MPI that started it?"));
}

// The ranks first exchange identities by mail. Unlike an MPI collective, that
// finds out which ranks are missing.
absl::Status MpiWorld::join(std::chrono::steady_clock::time_point deadline) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  void* bound = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
  if (found != 0) tag_upper_bound_ = *static_cast<int*>(bound);
  HVD_RETURN_IF_ERROR(meet_members(deadline));

  std::vector<PeerWatch::Process> neighbours;
  for (int peer = 0; peer < size_; ++peer) {
    const Member& member = members_[static_cast<std::size_t>(peer)];
    if (peer != rank_ && std::strcmp(member.machine, self_.machine) == 0) {
      neighbours.push_back({.rank = peer, .pid = member.pid});
    }
  }
  watch_ = std::make_unique<PeerWatch>(
      neighbours, WatchedProcess::open,
      size_ > 1 ? std::optional(rank_) : std::nullopt);
  const bool spans_machines =
      neighbours.size() + 1 < static_cast<std::size_t>(size_);
  if (spans_machines) {
    ignore_broken_pipes();
  } else {
    beats_.reset();
  }

  // Writes to this object, which outlives the call even if the deadline passes.
  MPI_Request request = MPI_REQUEST_NULL;
  HVD_RETURN_IF_ERROR(mpi_status(
      MPI_Comm_idup(MPI_COMM_WORLD, &comm_, &request), "MPI_Comm_idup"));
  HVD_RETURN_IF_ERROR(await_duplicate(request, deadline));
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  return absl::OkStatus();
}

// Stops waiting if a rank dies meanwhile. The death of a rank that had done its
// part before does not matter here.
absl::Status MpiWorld::await_duplicate(
    MPI_Request& request, std::chrono::steady_clock::time_point deadline) {
  Mutex mutex;
  absl::Status loss;
  watch_->watch([&](int rank, const std::string& how) {
    MutexLock lock(mutex);
    const Member& member = members_[static_cast<std::size_t>(rank)];
    loss.Update(absl::AbortedError(absl::StrCat(
        Peer{.host = member.host, .pid = member.pid, .node = ""}.to_string(
            rank),
        " ", how)));
  });
  int polls_after_loss = 0;
  const absl::Status joined =
      mpi_await(request, "joining the MPI world", deadline, [&] {
        MutexLock lock(mutex);
        if (loss.ok() || ++polls_after_loss <= kPollsAfterDeath) {
          return absl::OkStatus();
        }
        return loss;
      });
  watch_->watch({});
  return joined;
}

absl::Status MpiWorld::meet_members(
    std::chrono::steady_clock::time_point deadline) {
  const std::string host = host_name();
  assign(self_.host, host);
  assign(self_.machine, machine_id(host));
  self_.contact = beats_.emplace().contact();
  // The program's own messages, if any, are unlikely to use the last tag.
  const std::vector<Peer> unknown(static_cast<std::size_t>(size_));
  MpiExchangePost post({.comm = MPI_COMM_WORLD,
                        .rank = rank_,
                        .tag = tag_upper_bound_,
                        .generation = 0},
                       unknown);
  const auto all = exchange_by_mail(
      post, 0,
      std::string(reinterpret_cast<const char*>(&self_), sizeof(self_)),
      deadline);
  post.give_up(leftovers_);
  HVD_RETURN_IF_ERROR(annotate(all.status(), "joining the MPI world"));
  for (const std::string& bytes : *all) {
    Member& member = members_.emplace_back();
    if (bytes.size() != sizeof(member)) {
      return absl::InvalidArgumentError(
          "a rank introduced itself in an unknown way; do all ranks run the "
          "same "
          "version of horovodpp?");
    }
    bytes.copy(reinterpret_cast<char*>(&member), sizeof(member));
    member.host[sizeof(member.host) - 1] = '\0';
    member.machine[sizeof(member.machine) - 1] = '\0';
  }
  return absl::OkStatus();
}

void MpiWorld::send_beat(int to) const {
  if (!beats_) return;
  beats_->send(members_[static_cast<std::size_t>(to)].contact, rank_);
}

std::vector<int> MpiWorld::receive_beats() const {
  return beats_ ? beats_->receive() : std::vector<int>();
}

void MpiWorld::leave(MpiMessages leftovers) {
  MutexLock lock(mutex_);
  leftovers_.splice(leftovers_.end(), leftovers);
  for (auto it = leftovers_.begin(); it != leftovers_.end();) {
    int done = 0;
    const int code = MPI_Test(&it->request, &done, MPI_STATUS_IGNORE);
    it = code == MPI_SUCCESS && done != 0 ? leftovers_.erase(it) : ++it;
  }
  in_use_ = false;
  if (exiting_) finalize();
}

void MpiWorld::at_exit() {
  // Held by a thread that is still joining: nothing to finalize.
  if (!mutex_.try_lock()) return;
  exiting_ = true;
  // Otherwise a communicator with static lifetime finalizes MPI when destroyed.
  if (!in_use_) finalize();
  mutex_.unlock();
}

void MpiWorld::finalize() {
  // Not in a forked child.
  if (started_by_ != ::getpid() || mpi_was_finalized()) return;
  if (!distrusted_ && watch_ != nullptr && !watch_->has_open_descriptors()) {
    exit_without_finalize();
  }
  // Leaving without MPI_Finalize tells the launcher that the job failed.
  if (may_finalize()) {
    MPI_Finalize();
  } else {
    remove_names_of_shared_memory();
  }
}

// MPI's connections were closed with the other descriptors of the process. MPI
// would retry them forever while the other ranks wait.
void MpiWorld::exit_without_finalize() {
  const Peer self{.host = self_.host, .pid = self_.pid, .node = ""};
  std::fprintf(
      stderr,
      "horovodpp: %s cannot leave MPI, and ends: all descriptors of its "
      "process were closed, also MPI's connections; programs, and libraries "
      "that make them daemons, must close only their own descriptors\n",
      self.to_string(rank_).c_str());
  std::fflush(nullptr);
  ::_exit(kCutOffCode);
}

bool MpiWorld::may_finalize() {
  if (distrusted_) return false;
  if (watch_ == nullptr) return true;  // Never met the other ranks.
  watch_->watch([this](int, const std::string&) { distrust(); });
  const bool met = wait_at_finalize_barrier(
      {.comm = comm_,
       .tag = tags().finalize_barrier(),
       .finalize_does_not_wait = FinalizeWithoutWaiting::is_possible(),
       .remote = one_of_each_other_machine()},
      distrusted_);
  watch_.reset();
  return met;
}

// One rank of each other machine, whose end the ranks beside it detect.
std::vector<int> MpiWorld::one_of_each_other_machine() const {
  std::set<std::string> known = {self_.machine};
  std::vector<int> ranks;
  for (int rank = 0; rank < size_; ++rank) {
    if (known.insert(members_[static_cast<std::size_t>(rank)].machine).second) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

}  // namespace hvd::transport
