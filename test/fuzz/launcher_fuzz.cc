// SPDX-License-Identifier: Apache-2.0
// For any text, the launcher's parsers return: of words, hosts, a hostfile, a
// file of options and mpirun's arguments. The first byte chooses one.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "horovodrun/command_line/hidden_streams.h"
#include "horovodrun/command_line/hosts.h"
#include "horovodrun/command_line/words.h"
#include "horovodrun/options/config_file.h"

namespace hvd::launcher {
namespace {

void check(bool condition) {
  if (!condition) __builtin_trap();
}

void parse(unsigned parser, const std::string& text) {
  switch (parser % 6) {
    case 0: {
      const std::vector<std::string> words = absl::StrSplit(text, '\n');
      const auto line = read_words(words);
      check(!line.ok() || line->command.size() <= words.size());
      break;
    }
    case 1: {
      const auto hosts = parse_hosts(text);
      check(!hosts.ok() || slots_of(*hosts) > 0);
      break;
    }
    case 2: {
      const auto hosts = parse_hostfile(text);
      check(!hosts.ok() || !hosts->empty());
      break;
    }
    case 3:
      static_cast<void>(parse_config(text));
      break;
    case 4:
      static_cast<void>(split_words(text, "--mpi-args"));
      break;
    default: {
      const auto streams = redirected_streams(text, 0);
      check(!streams.ok() || (*streams >= 0 && *streams <= 3));
      break;
    }
  }
}

}  // namespace
}  // namespace hvd::launcher

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  hvd::launcher::parse(
      data[0], std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
