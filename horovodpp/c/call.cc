// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/c/call.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/error.h"

namespace hvd::c {
namespace {

// Plain memory: a thread that ends has nothing to destroy.
struct LastError {
  std::int32_t code;
  char text[2048];
};
thread_local LastError last_error = {HVD_OK, ""};

std::int32_t keep(StatusCode code, std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), sizeof(last_error.text) - 1);
  last_error.code = static_cast<std::int32_t>(code);
  std::memcpy(last_error.text, text.data(), length);
  last_error.text[length] = '\0';
  return last_error.code;
}

}  // namespace

std::int32_t note(const Status& status) noexcept {
  return status.ok() ? HVD_OK : keep(status.code(), status.message());
}

std::int32_t note_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return note(error.status());
  } catch (const std::bad_alloc&) {
    return keep(StatusCode::kResourceExhausted, "there is not enough memory");
  } catch (const std::exception& error) {
    return keep(StatusCode::kInternal, error.what());
  } catch (...) {
    return keep(StatusCode::kInternal, "an exception of no known class");
  }
}

Status check_not_null(const void* pointer, const char* what) {
  if (pointer != nullptr) return {};
  return absl::InvalidArgumentError(absl::StrCat(what, " is NULL"));
}

}  // namespace hvd::c

std::int32_t hvd_last_error_code() { return hvd::c::last_error.code; }

const char* hvd_last_error_text() { return hvd::c::last_error.text; }

const char* hvd_code_name(std::int32_t code) {
  if (code < HVD_OK || code > HVD_UNAUTHENTICATED) code = HVD_UNKNOWN;
  return hvd::name_of(static_cast<hvd::StatusCode>(code));
}
