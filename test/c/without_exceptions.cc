// SPDX-License-Identifier: Apache-2.0
// A C++ program compiled without exceptions and run-time type information.
#include "horovodpp/c/horovodpp.h"

int main() {
  if (hvd_init(HVD_C_VERSION) != HVD_OK) return 1;
  hvd_allreduce_options options = HVD_ALLREDUCE_OPTIONS;
  options.op = HVD_SUM;
  float value = 2;
  if (hvd_allreduce(&value, 1, HVD_FLOAT32, &options) != HVD_OK) return 2;
  // Exceptions within the library stay there.
  if (hvd_broadcast(nullptr, 1, HVD_FLOAT32, 0, nullptr) == HVD_OK) return 3;
  hvd_reducer reducer = 0;
  hvd_reducer_options reducing = HVD_REDUCER_OPTIONS;
  reducing.gradient_predivide_factor = -1;
  if (hvd_reducer_create(&reducing, &reducer) != HVD_INVALID_ARGUMENT) return 4;
  if (hvd_shutdown() != HVD_OK) return 5;
  return value == 2.0f * 1 ? 0 : 6;
}
