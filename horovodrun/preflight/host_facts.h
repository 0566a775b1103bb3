// SPDX-License-Identifier: Apache-2.0
// HostFacts are a host's report about itself before a job starts. They travel
// as lines of text, among which a login shell may print lines of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hvd::launcher {

// An IPv4 network; host bits are zero.
struct Network {
  std::uint32_t address = 0;  // In host byte order.
  int prefix = 32;            // Bits of the network's part.

  // NOLINTNEXTLINE(modernize-use-nullptr): of the comparison with 0.
  auto operator<=>(const Network&) const = default;
};

struct Interface {
  std::string name{};
  std::uint32_t address = 0;
  int prefix = 32;

  Network network() const;
  bool is_loopback() const { return address >> 24 == 127; }
  friend bool operator==(const Interface&, const Interface&) = default;
};

std::string address_text(std::uint32_t address);  // "10.0.0.1"
std::optional<std::uint32_t> parse_address(const std::string& text);
std::string to_text(const Network& network);      // "10.0.0.0/24"
std::string to_text(const Interface& interface);  // "eth0 (10.0.0.1/24)"

struct HostFacts {
  std::string version{};  // Of horovodrun.
  std::string host{};
  std::vector<Interface> interfaces{};  // That are up and have IPv4 addresses.
  // Where it answers other hosts (reach.h), and with which bytes; 0: nowhere.
  int port = 0;
  std::string id{};
  std::string problem{};  // Why it cannot take part; empty: none.
  // For doctor.h; empty or 0: unknown.
  std::string mpi{};  // The first line of `mpirun --version`; "none".
  int cores = 0;
  std::int64_t memory = 0;         // Bytes.
  std::int64_t shared_memory = 0;  // Free bytes in /dev/shm.
  std::int64_t open_files = 0;     // The limit of a process.
  std::int64_t clock = 0;          // Microseconds since 1970.
};

// This host's, without port and id.
HostFacts own_facts();
// Adds the part for doctor.h. Runs mpirun.
void add_details(HostFacts* facts);
// Microseconds since 1970.
std::int64_t clock_now();

// Lines begin with this word; the last line is kFactsEnd.
inline constexpr char kFactsWord[] = "horovodrun-facts ";
inline constexpr char kFactsEnd[] = "horovodrun-facts end";

std::string to_lines(const HostFacts& facts);
// Reads one line into `facts`. Ignores any line that to_lines() does not write.
void read_line(absl::string_view line, HostFacts* facts);

}  // namespace hvd::launcher
