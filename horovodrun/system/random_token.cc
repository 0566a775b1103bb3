// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/random_token.h"

#include <random>

#include "absl/strings/str_format.h"

namespace hvd::launcher {

std::string random_token() {
  std::random_device device;
  std::string token;
  for (int i = 0; i < 4; ++i) absl::StrAppendFormat(&token, "%08x", device());
  return token;
}

}  // namespace hvd::launcher
