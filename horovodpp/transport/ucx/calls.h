// SPDX-License-Identifier: Apache-2.0
// Helpers around UCX calls.
#pragma once

#include <ucp/api/ucp.h>

#include <string>

#include "absl/status/status.h"

namespace hvd::transport {

// Converts the result of a UCX call: Internal "ucp_init: <text>".
absl::Status ucx_status(ucs_status_t code, const char* call);

// An operation that UCX has accepted, until it is complete. It neither copies
// nor cancels: an operation that is under way keeps using its memory.
class UcxRequest {
 public:
  // `answer` is the return value of the call: complete, an error, or under way.
  explicit UcxRequest(ucs_status_ptr_t answer);
  ~UcxRequest();
  UcxRequest(UcxRequest&& other) noexcept;
  UcxRequest& operator=(UcxRequest&& other) noexcept;

  // UCS_INPROGRESS, UCS_OK or an error.
  ucs_status_t status();

 private:
  ucs_status_t status_ = UCS_OK;
  void* request_ = nullptr;
};

// "UCX 1.13.1".
std::string ucx_library();

}  // namespace hvd::transport
