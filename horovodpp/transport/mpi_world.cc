#include "horovodpp/transport/mpi_world.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::transport {
namespace {

template <std::size_t N>
void assign(char (&field)[N], const std::string& text) {
  std::strncpy(field, text.c_str(), N - 1);
}

std::string host_name() {
  std::array<char, 128> name = {};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

// Host, boot and PID namespace: containers of one machine that cannot see each
// other's processes are nodes of their own.
std::string machine_id(const std::string& host) {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> processes = {};
  if (::readlink("/proc/self/ns/pid", processes.data(), processes.size() - 1) <
      0) {
    processes[0] = '\0';
  }
  return absl::StrCat(host, "/", boot, "/", processes.data());
}

bool has_happened(int (*call)(int*)) {
  int flag = 0;
  return call(&flag) == MPI_SUCCESS && flag != 0;
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

bool mpi_is_built() { return true; }

bool mpi_is_running() {
  return has_happened(MPI_Initialized) && !has_happened(MPI_Finalized);
}

MpiWorld& MpiWorld::instance() {
  static auto* world = new MpiWorld;
  return *world;
}

absl::Status MpiWorld::enter(const MpiOptions& options) {
  MutexLock lock(mutex_);
  if (in_use_) {
    return absl::FailedPreconditionError(
        "this process has an MPI communicator already; shut it down before "
        "making another");
  }
  HVD_RETURN_IF_ERROR(start_or_adopt());
  HVD_RETURN_IF_ERROR(check_size(options.expected_size));
  // Joining involves all ranks, once: its outcome stands.
  if (!joined_.has_value()) joined_ = join(options.deadline);
  if (!joined_->ok()) {
    distrust();
    return *joined_;
  }
  ++generation_;
  in_use_ = true;
  return absl::OkStatus();
}

absl::Status MpiWorld::start_or_adopt() {
  if (has_happened(MPI_Finalized)) {
    return absl::FailedPreconditionError(
        "MPI is finalized in this process, and cannot start again; initialize "
        "horovodpp before MPI_Finalize");
  }
  int level = MPI_THREAD_SINGLE;
  if (has_happened(MPI_Initialized)) {
    HVD_RETURN_IF_ERROR(
        mpi_status(MPI_Query_thread(&level), "MPI_Query_thread"));
    if (level >= MPI_THREAD_SERIALIZED) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "the program initialized MPI with ", level_name(level),
        ", and horovodpp calls it from a thread of its own; use "
        "MPI_Init_thread with MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE"));
  }
  HVD_RETURN_IF_ERROR(
      mpi_status(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level),
                 "MPI_Init_thread"));
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

// What the non-blocking calls write to lies in this object, which outlives
// them even if the deadline passes.
absl::Status MpiWorld::join(std::chrono::steady_clock::time_point deadline) {
  MPI_Request request = MPI_REQUEST_NULL;
  HVD_RETURN_IF_ERROR(mpi_status(
      MPI_Comm_idup(MPI_COMM_WORLD, &comm_, &request), "MPI_Comm_idup"));
  HVD_RETURN_IF_ERROR(mpi_await(request, "joining the MPI world", deadline));
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  void* bound = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
  if (found != 0) tag_upper_bound_ = *static_cast<int*>(bound);

  const std::string host = host_name();
  self_.pid = ::getpid();
  assign(self_.host, host);
  assign(self_.machine, machine_id(host));
  members_.resize(static_cast<std::size_t>(size_));
  HVD_RETURN_IF_ERROR(mpi_status(
      MPI_Iallgather(&self_, sizeof(Member), MPI_BYTE, members_.data(),
                     sizeof(Member), MPI_BYTE, comm_, &request),
      "MPI_Iallgather"));
  HVD_RETURN_IF_ERROR(mpi_await(request, "joining the MPI world", deadline));

  std::vector<PeerWatch::Process> neighbours;
  for (int peer = 0; peer < size_; ++peer) {
    Member& member = members_[static_cast<std::size_t>(peer)];
    member.host[sizeof(member.host) - 1] = '\0';
    member.machine[sizeof(member.machine) - 1] = '\0';
    if (peer != rank_ && std::strcmp(member.machine, self_.machine) == 0) {
      neighbours.push_back({.rank = peer, .pid = member.pid});
    }
  }
  watch_ = std::make_unique<PeerWatch>(neighbours);
  return absl::OkStatus();
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
  // Held by a thread that still waits to join: there is nothing to end.
  if (!mutex_.try_lock()) return;
  exiting_ = true;
  // A communicator that dies later, with other objects of static life, ends it.
  if (!in_use_) finalize();
  mutex_.unlock();
}

void MpiWorld::finalize() {
  // Not in a forked child, and not where a dead peer would be waited for:
  // leaving without MPI_Finalize tells the launcher that the job failed.
  if (started_by_ != ::getpid() || !trusted_ || !mpi_is_running()) return;
  watch_.reset();
  MPI_Finalize();
}

}  // namespace hvd::transport
