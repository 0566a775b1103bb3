// SPDX-License-Identifier: Apache-2.0
// Collectives of several threads. With an argument, two threads write one
// variable without a lock.
#include <horovodpp/horovodpp.h>

#include <cstdio>
#include <thread>
#include <vector>

int main(int argc, char**) {
  hvd::throw_if_error(hvd::init());
  std::vector<float> a(1000, 1.0f);
  std::vector<float> b(100000, 2.0f);
  const auto view_a = hvd::TensorView::of(a.data(), {1000});
  const auto view_b = hvd::TensorView::of(b.data(), {100000});
  for (int i = 0; i < 50; ++i) {
    auto first = hvd::allreduce_async_(view_a, {.name = "a"});
    auto second = hvd::allreduce_async_(view_b, {.name = "b"});
    hvd::throw_if_error(first.wait());
    hvd::throw_if_error(second.wait());
  }
  int written = 0;
  std::thread other([&] {
    if (argc > 1) ++written;
    hvd::throw_if_error(hvd::allreduce_(view_a, {.name = "c"}));
  });
  if (argc > 1) ++written;
  hvd::throw_if_error(hvd::allreduce_(view_b, {.name = "d"}));
  other.join();
  hvd::throw_if_error(hvd::shutdown());
  if (hvd::zeros({2}).num_elements() == 2) std::puts("done");
}
