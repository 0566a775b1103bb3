// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/ucx/calls.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace hvd::transport {

absl::Status ucx_status(ucs_status_t code, const char* call) {
  if (code == UCS_OK) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call, ": ", ucs_status_string(code)));
}

UcxRequest::UcxRequest(ucs_status_ptr_t answer) {
  if (UCS_PTR_IS_PTR(answer)) {
    status_ = UCS_INPROGRESS;
    request_ = answer;
  } else {
    status_ = UCS_PTR_STATUS(answer);
  }
}

UcxRequest::UcxRequest(UcxRequest&& other) noexcept
    : status_(other.status_),
      request_(std::exchange(other.request_, nullptr)) {}

UcxRequest& UcxRequest::operator=(UcxRequest&& other) noexcept {
  std::swap(status_, other.status_);
  std::swap(request_, other.request_);
  return *this;
}

UcxRequest::~UcxRequest() {
  if (request_ != nullptr) ucp_request_free(request_);
}

ucs_status_t UcxRequest::status() {
  if (request_ == nullptr) return status_;
  status_ = ucp_request_check_status(request_);
  if (status_ != UCS_INPROGRESS) {
    ucp_request_free(std::exchange(request_, nullptr));
  }
  return status_;
}

std::string ucx_library() {
  return absl::StrCat("UCX ", ucp_get_version_string());
}

}  // namespace hvd::transport
