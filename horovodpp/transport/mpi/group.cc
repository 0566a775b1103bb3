// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi/group.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/mpi/calls.h"

namespace hvd {
namespace {

using transport::mpi_status;

// What a rank says that has no communicator, or one that is refused.
constexpr int kNone = -1;
constexpr int kRefused = -2;

class Group {
 public:
  ~Group() {
    if (group_ != MPI_GROUP_NULL) MPI_Group_free(&group_);
  }
  absl::Status take(MPI_Comm comm) {
    return mpi_status(MPI_Comm_group(comm, &group_), "MPI_Comm_group");
  }
  MPI_Group get() const { return group_; }

 private:
  MPI_Group group_ = MPI_GROUP_NULL;
};

// A communicator of our own, whose errors come back.
class Duplicate {
 public:
  ~Duplicate() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  absl::Status take(MPI_Comm comm) {
    HVD_RETURN_IF_ERROR(mpi_status(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup"));
    return mpi_status(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN),
                      "MPI_Comm_set_errhandler");
  }
  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

absl::Status check_mpi() {
  if (transport::mpi_runs()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "MPI does not run in this process; call MPI_Init_thread or hvd::init() "
      "first");
}

absl::Status check_comm(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) {
    return absl::InvalidArgumentError(
        "MPI_COMM_NULL has no ranks; pass a communicator this rank is in");
  }
  int has_two_groups = 0;
  HVD_RETURN_IF_ERROR(mpi_status(MPI_Comm_test_inter(comm, &has_two_groups),
                                 "MPI_Comm_test_inter"));
  if (has_two_groups == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a communicator between two groups is no process set; merge it first "
      "(MPI_Intercomm_merge)");
}

// The groups in everybody's lines of `width` numbers.
absl::StatusOr<std::vector<std::vector<int>>> distinct(
    const std::vector<int>& lines, std::size_t width) {
  std::set<std::vector<int>> groups;
  for (auto line = lines.begin(); line != lines.end();
       line += static_cast<std::ptrdiff_t>(width)) {
    if (*line == kRefused) {
      return absl::InvalidArgumentError(
          absl::StrCat("the communicator of rank ",
                       static_cast<std::size_t>(line - lines.begin()) / width,
                       " is no process set"));
    }
    const auto end = line + static_cast<std::ptrdiff_t>(width);
    std::vector<int> group(line, std::find(line, end, kNone));
    if (!group.empty()) groups.insert(std::move(group));
  }
  return std::vector<std::vector<int>>(groups.begin(), groups.end());
}

}  // namespace

absl::StatusOr<std::vector<int>> ranks_of(MPI_Comm comm) {
  HVD_RETURN_IF_ERROR(check_mpi());
  HVD_RETURN_IF_ERROR(check_comm(comm));
  Group group;
  Group world;
  HVD_RETURN_IF_ERROR(group.take(comm));
  HVD_RETURN_IF_ERROR(world.take(MPI_COMM_WORLD));
  int size = 0;
  HVD_RETURN_IF_ERROR(
      mpi_status(MPI_Group_size(group.get(), &size), "MPI_Group_size"));
  std::vector<int> theirs(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) theirs[static_cast<std::size_t>(i)] = i;
  std::vector<int> ranks(theirs.size());
  HVD_RETURN_IF_ERROR(
      mpi_status(MPI_Group_translate_ranks(group.get(), size, theirs.data(),
                                           world.get(), ranks.data()),
                 "MPI_Group_translate_ranks"));
  if (std::find(ranks.begin(), ranks.end(), MPI_UNDEFINED) != ranks.end()) {
    return absl::InvalidArgumentError(
        "the communicator has processes that are not in MPI_COMM_WORLD; a "
        "process set is of ranks of the job");
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

absl::StatusOr<std::vector<std::vector<int>>> groups_of(MPI_Comm mine) {
  HVD_RETURN_IF_ERROR(check_mpi());
  Duplicate world;
  HVD_RETURN_IF_ERROR(world.take(MPI_COMM_WORLD));
  int size = 0;
  HVD_RETURN_IF_ERROR(
      mpi_status(MPI_Comm_size(world.get(), &size), "MPI_Comm_size"));
  const auto width = static_cast<std::size_t>(size);
  std::vector<int> line(width, kNone);
  absl::Status refused;
  if (mine != MPI_COMM_NULL) {
    const absl::StatusOr<std::vector<int>> ranks = ranks_of(mine);
    // The others wait: they are told, too.
    if (ranks.ok()) std::copy(ranks->begin(), ranks->end(), line.begin());
    if (!ranks.ok()) line.front() = kRefused;
    refused = ranks.status();
  }
  std::vector<int> lines(width * width);
  HVD_RETURN_IF_ERROR(
      mpi_status(MPI_Allgather(line.data(), size, MPI_INT, lines.data(), size,
                               MPI_INT, world.get()),
                 "MPI_Allgather"));
  HVD_RETURN_IF_ERROR(refused);
  return distinct(lines, width);
}

}  // namespace hvd
