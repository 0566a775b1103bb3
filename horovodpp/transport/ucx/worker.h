// SPDX-License-Identifier: Apache-2.0
// A UcxWorker is one rank's place in UCX: its address, and an endpoint to each
// rank of the job. UCX neither finds ranks nor judges whether they live.
//
//   HVD_ASSIGN_OR_RETURN(auto worker, UcxWorker::start());
//   ...                                 // ranks exchange worker->address()
//   HVD_RETURN_IF_ERROR(worker->connect(addresses));
//
// One thread at a time drives it, except for distrust().
#pragma once

#include <ucp/api/ucp.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hvd::transport {

class UcxWorker {
 public:
  //   Internal  UCX cannot run here
  static absl::StatusOr<std::unique_ptr<UcxWorker>> start();
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  absl::StatusOr<std::string> address() const;
  // Makes an endpoint to each rank. Connections come about when they are used.
  absl::Status connect(const std::vector<std::string>& addresses);

  // Closes the endpoints. Waits a second at most until sent data has left this
  // rank, and not at all if the worker is distrusted.
  void leave();

  ucp_worker_h get() const { return worker_; }
  ucp_ep_h endpoint(int rank) const { return at(rank).endpoint; }
  void progress() { ucp_worker_progress(worker_); }

  // The failure of an endpoint. UCX may report none for a dead rank.
  struct Failure {
    ucs_status_t status = UCS_OK;
    std::chrono::steady_clock::time_point noticed{};
  };
  const std::optional<Failure>& failure(int rank) const {
    return at(rank).failure;
  }

  void note_failure(int rank, ucs_status_t status);

  // Ranks may be gone: nothing waits for one any more. Thread-safe.
  void distrust() { distrusted_ = true; }

 private:
  struct Connection {
    ucp_ep_h endpoint = nullptr;
    std::optional<Failure> failure{};

    void fail(ucs_status_t status);
  };

  UcxWorker() = default;
  absl::Status open();
  void flush();
  void close();
  Connection& at(int rank) const {
    return *connections_[static_cast<std::size_t>(rank)];
  }

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::vector<std::unique_ptr<Connection>> connections_;  // By rank.
  std::atomic<bool> distrusted_ = false;
};

}  // namespace hvd::transport
