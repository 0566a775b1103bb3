// SPDX-License-Identifier: Apache-2.0
// Runs all cases, or the named ones, in a job of any size. With --peak-memory
// it prints the peak memory instead.
#include <algorithm>

#include "test/libtorch/checks.h"
#include "test/libtorch/memory.h"

int main(int argc, char** argv) {
  const std::vector<std::string> named(argv + 1, argv + argc);
  if (named == std::vector<std::string>{"--peak-memory"}) {
    test::print_peak_memory();
    return 0;
  }
  hvd::libtorch::init();
  torch::set_num_threads(1);
  int count = 0;
  for (const test::Case& each : test::cases()) {
    if (!named.empty() &&
        std::find(named.begin(), named.end(), each.name) == named.end()) {
      continue;
    }
    ++count;
    torch::manual_seed(7);
    const int before = test::failures;
    try {
      each.run();
      hvd::libtorch::barrier();
    } catch (const std::exception& error) {
      test::fail(0, std::string(each.name) + " threw " + test::text_of(error));
      hvd_abort(each.name);
      return 1;
    }
    if (test::failures > before) std::cerr << "  in " << each.name << "\n";
  }
  if (hvd::libtorch::rank() == 0) std::cout << count << " cases ran\n";
  return test::failures > 0 || count == 0;
}
