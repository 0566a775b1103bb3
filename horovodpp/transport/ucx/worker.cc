// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/ucx/worker.h"

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/ucx/calls.h"
#include "horovodpp/transport/ucx/messages.h"

namespace hvd::transport {
namespace {

using std::chrono::steady_clock;

// Data leaves within microseconds unless a link or a rank is gone.
constexpr std::chrono::milliseconds kLongestFlush(1000);
constexpr std::chrono::milliseconds kLongestClose(1000);

// Progresses the worker until all requests are complete, or the time is over.
void complete(ucp_worker_h worker, std::vector<UcxRequest> requests,
              std::chrono::milliseconds longest) {
  const auto end = steady_clock::now() + longest;
  while (!requests.empty() && steady_clock::now() < end) {
    ucp_worker_progress(worker);
    std::erase_if(requests, [](UcxRequest& request) {
      return request.status() != UCS_INPROGRESS;
    });
    std::this_thread::yield();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<UcxWorker>> UcxWorker::start() {
  std::unique_ptr<UcxWorker> worker(new UcxWorker);
  HVD_RETURN_IF_ERROR(annotate(worker->open(), ucx_library()));
  return worker;
}

absl::Status UcxWorker::open() {
  send_ucx_messages_to_stderr();
  ucp_config_t* config = nullptr;
  HVD_RETURN_IF_ERROR(ucx_status(ucp_config_read(nullptr, nullptr, &config),
                                 "ucp_config_read"));
  ucp_params_t params = {};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM;
  const ucs_status_t started = ucp_init(&params, config, &context_);
  ucp_config_release(config);
  HVD_RETURN_IF_ERROR(ucx_status(started, "ucp_init"));
  ucp_worker_params_t of_worker = {};
  of_worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  of_worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  return ucx_status(ucp_worker_create(context_, &of_worker, &worker_),
                    "ucp_worker_create");
}

UcxWorker::~UcxWorker() {
  leave();
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

absl::StatusOr<std::string> UcxWorker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  HVD_RETURN_IF_ERROR(
      ucx_status(ucp_worker_get_address(worker_, &address, &bytes),
                 "ucp_worker_get_address"));
  std::string text(reinterpret_cast<const char*>(address), bytes);
  ucp_worker_release_address(worker_, address);
  return text;
}

absl::Status UcxWorker::connect(const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) {
    Connection& connection =
        *connections_.emplace_back(std::make_unique<Connection>());
    ucp_ep_params_t params = {};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                        UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    // Without this mode, UCX may wait for a dead rank when an endpoint closes.
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler = {.cb =
                              [](void* failed, ucp_ep_h, ucs_status_t status) {
                                static_cast<Connection*>(failed)->fail(status);
                              },
                          .arg = &connection};
    HVD_RETURN_IF_ERROR(
        ucx_status(ucp_ep_create(worker_, &params, &connection.endpoint),
                   "ucp_ep_create"));
  }
  return absl::OkStatus();
}

void UcxWorker::Connection::fail(ucs_status_t status) {
  if (!failure) failure = {.status = status, .noticed = steady_clock::now()};
}

void UcxWorker::note_failure(int rank, ucs_status_t status) {
  at(rank).fail(status);
}

void UcxWorker::leave() {
  if (!distrusted_) flush();
  close();
}

void UcxWorker::flush() {
  std::vector<UcxRequest> requests;
  const ucp_request_param_t params = {};
  for (const auto& connection : connections_) {
    if (connection->endpoint == nullptr || connection->failure) continue;
    requests.emplace_back(ucp_ep_flush_nbx(connection->endpoint, &params));
  }
  complete(worker_, std::move(requests), kLongestFlush);
}

void UcxWorker::close() {
  std::vector<UcxRequest> requests;
  ucp_request_param_t params = {};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  for (const auto& connection : connections_) {
    if (connection->endpoint == nullptr) continue;
    requests.emplace_back(ucp_ep_close_nbx(
        std::exchange(connection->endpoint, nullptr), &params));
  }
  complete(worker_, std::move(requests), kLongestClose);
}

}  // namespace hvd::transport
