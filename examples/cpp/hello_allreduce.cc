// SPDX-License-Identifier: Apache-2.0
// The shortest job: every rank contributes a number, and all get the sum.
//
//   horovodrun -np 4 build/release/examples/cpp/hello_allreduce
#include <horovodpp/collectives.h>

#include <cstdio>
#include <exception>
#include <string>

int main(int argc, char** argv) try {
  if (argc > 1) {
    const std::string argument = argv[1];
    const bool asks = argument == "--help" || argument == "-h";
    std::fprintf(asks ? stdout : stderr,
                 "usage: [horovodrun -np N] hello_allreduce\n"
                 "Adds up one number of each rank. Takes no arguments.\n");
    return asks ? 0 : 2;
  }
  hvd::throw_if_error(hvd::init());
  float number = static_cast<float>(hvd::rank() + 1);
  hvd::throw_if_error(
      hvd::allreduce_(hvd::TensorView::of(&number, {1}),
                      {.name = "number", .op = hvd::ReduceOp::kSum}));
  std::printf("rank %d of %d: the sum is %g\n", hvd::rank(), hvd::size(),
              static_cast<double>(number));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "hello_allreduce: %s\n", error.what());
  return 1;
}
