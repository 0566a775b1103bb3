// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi/finalize_barrier.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <list>
#include <string>
#include <thread>

#include "horovodpp/transport/mpi/calls.h"

namespace hvd::transport {

namespace {

using std::chrono::steady_clock;

constexpr char kAlone[] = "OMPI_MCA_async_mpi_finalize";

// Sleep while waiting: other ranks may come hours later.
constexpr std::chrono::microseconds kShortestSleep(100);
constexpr std::chrono::microseconds kLongestSleep(2000);

// If a rank is gone at the second meeting, it may have completed the meeting
// and left. The remaining ranks then complete it, too, at once unless the
// machine is very busy. If MPI_Finalize does not wait, a longer timeout does no
// harm.
constexpr std::chrono::milliseconds kToFollow(300);
constexpr std::chrono::milliseconds kToFollowOrFail(3000);

// How long the message about a loss may take to leave this rank.
constexpr std::chrono::milliseconds kLossReportTime(50);

bool has_heard_of_loss(const FinalizeBarrier& barrier) {
  int found = 0;
  return MPI_Iprobe(MPI_ANY_SOURCE, barrier.tag, barrier.comm, &found,
                    MPI_STATUS_IGNORE) == MPI_SUCCESS &&
         found != 0;
}

// On failure the request outlives this call, and MPI keeps it.
template <typename GivesUp>
bool meet(const FinalizeBarrier& barrier, GivesUp gives_up) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Ibarrier(barrier.comm, &request) != MPI_SUCCESS) return false;
  auto pause = kShortestSleep;
  while (true) {
    int done = 0;
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
      return false;
    }
    if (done != 0) return true;
    if (gives_up()) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestSleep);
  }
}

void report_loss(const FinalizeBarrier& barrier) {
  std::list<MPI_Request> requests;
  for (const int rank : barrier.remote) {
    MPI_Isend(nullptr, 0, MPI_BYTE, rank, barrier.tag, barrier.comm,
              &requests.emplace_back(MPI_REQUEST_NULL));
  }
  const auto end = steady_clock::now() + kLossReportTime;
  while (!requests.empty() && steady_clock::now() < end) {
    has_heard_of_loss(barrier);  // Any MPI call progresses the messages.
    std::this_thread::sleep_for(kShortestSleep);
  }
}

}  // namespace

bool FinalizeWithoutWaiting::is_possible() {
  return mpi_library().rfind("Open MPI", 0) == 0;
}

FinalizeWithoutWaiting::FinalizeWithoutWaiting() { ::setenv(kAlone, "1", 1); }

// Child processes may run other MPI programs.
FinalizeWithoutWaiting::~FinalizeWithoutWaiting() { ::unsetenv(kAlone); }

// The ranks meet twice. A rank that reaches the second meeting has received
// everything sent in the first, so all connections exist. And a rank that
// leaves the second meeting is not taken for lost by ranks in the first.
bool wait_at_finalize_barrier(const FinalizeBarrier& barrier,
                              const std::atomic<bool>& lost) {
  const bool all_came =
      meet(barrier, [&] { return lost || has_heard_of_loss(barrier); });
  if (!all_came) {
    if (lost) report_loss(barrier);
    return false;
  }
  const auto timeout =
      barrier.finalize_does_not_wait ? kToFollow : kToFollowOrFail;
  steady_clock::time_point end = steady_clock::time_point::max();
  const bool all_followed = meet(barrier, [&] {
    const auto now = steady_clock::now();
    if (lost) end = std::min(end, now + timeout);
    return now >= end;
  });
  return all_followed || barrier.finalize_does_not_wait;
}

void remove_names_of_shared_memory() {
  constexpr char kName[] = "/dev/shm/mpich_shm_";
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find(kName);
    // Files already unlinked end in "(deleted)" and do not match.
    if (at != std::string::npos) ::unlink(line.c_str() + at);
  }
}

}  // namespace hvd::transport
