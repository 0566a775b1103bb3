// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/version.h"

namespace hvd {

const char* version() { return HVD_VERSION_STRING; }

bool Headers::go_with_library() const {
  const int kept = HVD_VERSION_MAJOR == 0 ? 100 : 10000;
  return number_ / kept == HVD_VERSION / kept;
}

}  // namespace hvd
