// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi/calls.h"

#include <array>
#include <thread>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "horovodpp/core/status.h"

namespace hvd::transport {
namespace {

constexpr char kPeerPayload[] = "horovodpp/peer";

bool is_set(int (*call)(int*)) {
  int flag = 0;
  return call(&flag) == MPI_SUCCESS && flag != 0;
}

}  // namespace

absl::Status mpi_status(int code, const char* call, std::optional<int> peer) {
  if (code == MPI_SUCCESS) return absl::OkStatus();
  std::array<char, MPI_MAX_ERROR_STRING> text = {};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  absl::Status status =
      absl::InternalError(absl::StrCat(call, ": ", text.data()));
  if (peer) status.SetPayload(kPeerPayload, absl::Cord(absl::StrCat(*peer)));
  return status;
}

std::optional<int> peer_of(const absl::Status& status) {
  const auto text = status.GetPayload(kPeerPayload);
  int peer = 0;
  if (!text || !absl::SimpleAtoi(std::string(*text), &peer)) {
    return std::nullopt;
  }
  return peer;
}

bool mpi_was_initialized() { return is_set(MPI_Initialized); }

bool mpi_was_finalized() { return is_set(MPI_Finalized); }

bool mpi_runs() { return mpi_was_initialized() && !mpi_was_finalized(); }

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text = {};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string version(text.data());
  return absl::StrReplaceAll(version.substr(0, version.find_first_of(",\n")),
                             {{"\t", " "}, {"Version:", ""}, {"  ", " "}});
}

absl::Status mpi_await(MPI_Request& request, const std::string& what,
                       std::chrono::steady_clock::time_point deadline,
                       const std::function<absl::Status()>& check) {
  int polls = 0;
  while (true) {
    int done = 0;
    HVD_RETURN_IF_ERROR(
        mpi_status(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test"));
    if (done != 0) return absl::OkStatus();
    HVD_RETURN_IF_ERROR(check());
    if (std::chrono::steady_clock::now() >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat(what, ": not all ranks came in time"));
    }
    if (++polls < 1000) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
}

}  // namespace hvd::transport
