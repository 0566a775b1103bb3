// A program outside the project, built against what is installed.
#include <cstdio>

#include "horovodpp/core/buffer.h"
#include "horovodpp/core/future.h"

int main() {
  hvd::Promise<hvd::Buffer> promise;
  promise.set(hvd::Buffer::allocate(hvd::DType::kF32, {2, 3}));
  const absl::StatusOr<hvd::Buffer> buffer = promise.future().wait();
  if (!buffer.ok() || buffer->view().to_string() != "float32[2,3]") return 1;
  std::puts("an outside program ran");
  return 0;
}
