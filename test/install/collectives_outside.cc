// SPDX-License-Identifier: Apache-2.0
// An outside program in C++17: building against the library must not require
// more.
#include <horovodpp/collectives.h>

static_assert(__cplusplus == 201703L, "built as another C++ than C++17");

int main() {
  if (!hvd::init().ok()) return 1;
  float value = 2;
  const hvd::Status status =
      hvd::allreduce_async_(hvd::TensorView::of(&value, {}), {}).wait();
  return status.ok() && value == 2 && hvd::shutdown().ok() ? 0 : 2;
}
