// SPDX-License-Identifier: Apache-2.0
// Runs programs of the differential test, one per line of standard input, and
// writes the outcomes of each as one line. See README.md.
#include <iostream>
#include <string>

#include "horovodpp/autograd/warning.h"
#include "operations.h"
#include "session.h"

int main(int argc, char** argv) {
  // Lists the known operations, for the comparing program.
  if (argc > 1 && std::string(argv[1]) == "--list") {
    for (const auto& [name, _] : hvd::differential::all_operations()) {
      std::cout << name << '\n';
    }
    return 0;
  }
  const hvd::autograd::Warnings silent([](const std::string&) {});
  std::string line;
  while (std::getline(std::cin, line)) {
    hvd::differential::Session session;
    std::cout << session.run(nlohmann::json::parse(line))
                     .dump(-1, ' ', true,
                           nlohmann::json::error_handler_t::replace)
              << std::endl;
  }
}
