// SPDX-License-Identifier: Apache-2.0
// The corpus of decode_fuzz: a file for every sample message of the tests.
//
//   fuzz_corpus <folder>           fails if the folder lacks a type of message,
//                                  as after a change of the format
//   fuzz_corpus --write <folder>   writes the corpus
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <variant>

#include "horovodpp/coordinator/protocol/message.h"
#include "test/coordinator/protocol/sample_messages.h"

namespace hvd::coordinator {
namespace {

namespace fs = std::filesystem;

int write(const fs::path& folder) {
  constexpr std::uint32_t kEpoch = 7;
  fs::create_directories(folder);
  int number = 0;
  for (const Message& message : sample_messages()) {
    const std::string name = "message_" + std::to_string(number++);
    std::ofstream(folder / name, std::ios::binary) << encode(kEpoch, message);
  }
  return 0;
}

int check(const fs::path& folder) {
  std::set<std::size_t> types;
  for (const auto& file : fs::directory_iterator(folder)) {
    std::ifstream in(file.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const auto envelope = decode(bytes);
    if (envelope.ok()) types.insert(envelope->message.index());
  }
  if (types.size() == std::variant_size_v<Message>) return 0;
  std::cerr
      << folder << " has " << types.size() << " of "
      << std::variant_size_v<
             Message> << " types of messages; write it anew with fuzz_corpus --write\n";
  return 1;
}

}  // namespace
}  // namespace hvd::coordinator

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--write") {
    return hvd::coordinator::write(argv[2]);
  }
  if (argc == 2) return hvd::coordinator::check(argv[1]);
  std::cerr << "usage: fuzz_corpus [--write] <folder>\n";
  return 2;
}
