// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/c/call.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/error.h"

namespace hvd::c {
namespace {

// This thread's last error. Its text is allocated at its first use: a library
// that is loaded late gets little thread-local memory.
struct LastError {
  ~LastError() { delete[] std::exchange(text, nullptr); }
  std::int32_t code = HVD_OK;
  char* text = nullptr;
};
thread_local LastError last_error;
constexpr std::size_t kTextBytes = 2048;
constexpr char kNoMemory[] = "there is not enough memory";

std::int32_t keep(StatusCode code, std::string_view text) noexcept {
  last_error.code = static_cast<std::int32_t>(code);
  if (last_error.text == nullptr) {
    last_error.text = new (std::nothrow) char[kTextBytes];
  }
  if (last_error.text == nullptr) return last_error.code;
  const std::size_t length = std::min(text.size(), kTextBytes - 1);
  std::memcpy(last_error.text, text.data(), length);
  last_error.text[length] = '\0';
  return last_error.code;
}

const char* last_text() {
  if (last_error.text != nullptr) return last_error.text;
  return last_error.code == HVD_OK ? "" : kNoMemory;
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
    return keep(StatusCode::kResourceExhausted, kNoMemory);
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

const char* hvd_last_error_text() { return hvd::c::last_text(); }

const char* hvd_code_name(std::int32_t code) {
  if (code < HVD_OK || code > HVD_UNAUTHENTICATED) code = HVD_UNKNOWN;
  return hvd::name_of(static_cast<hvd::StatusCode>(code));
}
