// SPDX-License-Identifier: Apache-2.0
// For any text, the launcher's parsers return. They parse words, hosts, a
// hostfile, discovered hosts, a file of options, mpirun's arguments, lists of Slurm, and lines
// and messages of processes of the launcher. The first byte chooses one.
// Anything that is read is written and read again without a change.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "horovodpp/core/job/rank_status.h"
#include "horovodrun/command_line/hidden_streams.h"
#include "horovodrun/command_line/hosts.h"
#include "horovodrun/command_line/words.h"
#include "horovodrun/discovery/discovered_hosts.h"
#include "horovodrun/engines/direct/control.h"
#include "horovodrun/engines/rank_order.h"
#include "horovodrun/options/config_file.h"
#include "horovodrun/output/report.h"
#include "horovodrun/preflight/host_facts.h"
#include "horovodrun/schedulers/slurm.h"

namespace hvd::launcher {
namespace {

void check(bool condition) {
  if (!condition) __builtin_trap();
}

void check_facts(const std::string& text) {
  HostFacts facts;
  for (const auto line : absl::StrSplit(text, '\n')) read_line(line, &facts);
  const std::string lines = to_lines(facts);
  HostFacts again;
  for (const auto line : absl::StrSplit(lines, '\n')) read_line(line, &again);
  check(to_lines(again) == lines);
}

void check_report(const std::string& text) {
  const auto report = parse_report(text);
  if (!report) return;
  const std::string line = to_line(*report, "token");
  check(line.size() <= kMaxReportBytes && line.back() == '\n');
  const std::size_t marker = report_marker("token").size();
  const auto again =
      parse_report(line.substr(marker, line.size() - marker - 1));
  check(again && to_line(*again, "token") == line);
}

void check_rank_status(const std::string& text) {
  const auto status = parse_rank_status(text);
  if (!status) return;
  const std::string line = to_text(*status);
  check(line.size() <= kMaxRankStatusBytes);
  const auto again = parse_rank_status(line);
  check(again && to_text(*again) == line);
}

// Pieces of any size make the same messages.
void check_control(const std::string& bytes) {
  ControlReader whole;
  whole.add(bytes.data(), bytes.size());
  ControlReader pieces;
  std::size_t given = 0;
  while (true) {
    const auto message = whole.next();
    auto same = pieces.next();
    while (same.ok() && !same->has_value() && given < bytes.size()) {
      const std::size_t count = std::min(bytes.size() - given, given % 7 + 1);
      pieces.add(bytes.data() + given, count);
      given += count;
      same = pieces.next();
    }
    check(message.ok() == same.ok());
    if (!message.ok()) return;
    check(*message == *same);
    if (!message->has_value()) return;
    const std::string written = to_bytes(**message);
    ControlReader again;
    again.add(written.data(), written.size());
    const auto read = again.next();
    check(read.ok() && *read == *message);
  }
}

void check_rank_orders(std::string text) {
  while (const auto order = take_rank_order(text)) {
    std::string line = to_line(*order);
    check(take_rank_order(line) == order && line.empty());
  }
}

void parse(unsigned parser, const std::string& text) {
  switch (parser % 14) {
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
    case 5: {
      const auto nodes = expand_nodes(text);
      check(!nodes.ok() || !nodes->empty());
      break;
    }
    case 6: {
      const auto counts = expand_counts(text);
      check(!counts.ok() || counts->front() > 0);
      break;
    }
    case 7:
      check_facts(text);
      break;
    case 8:
      check_report(text);
      break;
    case 9:
      check_rank_status(text);
      break;
    case 10:
      check_control(text);
      break;
    case 12: {
      const auto hosts = parse_discovered(text, 3);
      check(!hosts.ok() || hosts->empty() || slots_of(*hosts) > 0);
      break;
    }
    case 13:
      check_rank_orders(text);
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
