// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/error.h"

#include "horovodpp/core/printable.h"

namespace hvd {

Error::Error(const Status& status)
    : std::runtime_error(printable(status.message())),
      status_(status.code(), what()) {}

void internal::throw_status(const Status& status) { throw Error(status); }

void throw_if_error(const Status& status) {
  if (!status.ok()) throw Error(status);
}

}  // namespace hvd
