// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/ucx/messages.h"

#include <ucs/debug/log_def.h>

#include <array>
#include <cstdarg>
#include <cstdio>

namespace hvd::transport {
namespace {

// Called for the levels of UCX_LOG_LEVEL only.
ucs_log_func_rc_t write_message(const char* /*file*/, unsigned /*line*/,
                                const char* /*function*/, ucs_log_level_t level,
                                const ucs_log_component_config_t* /*component*/,
                                const char* message, va_list arguments) {
  std::array<char, 1024> text;
  std::vsnprintf(text.data(), text.size(), message, arguments);
  std::fprintf(stderr, "UCX %s: %s\n", ucs_log_level_names[level], text.data());
  return UCS_LOG_FUNC_RC_STOP;
}

}  // namespace

void send_ucx_messages_to_stderr() {
  static const bool once = [] {
    ucs_log_push_handler(write_message);
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace hvd::transport
