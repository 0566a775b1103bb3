// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/host_facts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

#include <bit>
#include <chrono>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "horovodpp/core/job/host_name.h"
#include "horovodrun/command_line/check_build.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

constexpr int kMaxPrefix = 32;
constexpr std::size_t kMaxInterfaces = 1024;
constexpr std::size_t kMaxProblem = 1024;
constexpr char kProblemWord[] = "problem ";
constexpr char kMpiWord[] = "mpi ";

std::string one_line(absl::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  return line;
}

std::uint32_t address_of(const sockaddr* address) {
  return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr);
}

std::uint32_t mask_of(int prefix) {
  return prefix <= 0 ? 0 : ~std::uint32_t{0} << (kMaxPrefix - prefix);
}

std::optional<Interface> parse_interface(absl::string_view name,
                                         absl::string_view place) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(place, absl::MaxSplits('/', 1));
  Interface interface = {.name = std::string(name)};
  const auto address = parse_address(parts.first);
  if (!address || !absl::SimpleAtoi(parts.second, &interface.prefix) ||
      interface.prefix < 0 || interface.prefix > kMaxPrefix) {
    return std::nullopt;
  }
  interface.address = *address;
  return interface;
}

std::vector<Interface> own_interfaces() {
  std::vector<Interface> interfaces;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return interfaces;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if ((one->ifa_flags & IFF_UP) == 0 || one->ifa_addr == nullptr ||
        one->ifa_netmask == nullptr || one->ifa_addr->sa_family != AF_INET) {
      continue;
    }
    interfaces.push_back({one->ifa_name, address_of(one->ifa_addr),
                          std::popcount(address_of(one->ifa_netmask))});
  }
  freeifaddrs(all);
  return interfaces;
}

}  // namespace

Network Interface::network() const {
  return {address & mask_of(prefix), prefix};
}

std::string address_text(std::uint32_t address) {
  return absl::StrCat(address >> 24, ".", address >> 16 & 255, ".",
                      address >> 8 & 255, ".", address & 255);
}

std::optional<std::uint32_t> parse_address(const std::string& text) {
  in_addr address = {};
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) return std::nullopt;
  return ntohl(address.s_addr);
}

std::string to_text(const Network& network) {
  return absl::StrCat(address_text(network.address), "/", network.prefix);
}

std::string to_text(const Interface& interface) {
  return absl::StrCat(interface.name, " (", address_text(interface.address),
                      "/", interface.prefix, ")");
}

HostFacts own_facts() {
  return {.version = described_version(),
          .host = host_name(),
          .interfaces = own_interfaces()};
}

void add_details(HostFacts* facts) {
  const Captured mpi = capture({"mpirun", "--version"});
  facts->mpi =
      mpi.error == 0 ? mpi.text.substr(0, mpi.text.find('\n')) : "none";
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) {
    facts->cores = CPU_COUNT(&cores);
  }
  struct sysinfo memory = {};
  if (sysinfo(&memory) == 0) {
    facts->memory = static_cast<std::int64_t>(memory.totalram) *
                    static_cast<std::int64_t>(memory.mem_unit);
  }
  struct statvfs shared = {};
  if (statvfs("/dev/shm", &shared) == 0) {
    facts->shared_memory = static_cast<std::int64_t>(shared.f_bavail) *
                           static_cast<std::int64_t>(shared.f_frsize);
  }
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    facts->open_files = files.rlim_cur == RLIM_INFINITY
                            ? std::numeric_limits<std::int64_t>::max()
                            : static_cast<std::int64_t>(files.rlim_cur);
  }
  facts->clock = clock_now();
}

std::int64_t clock_now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string to_lines(const HostFacts& facts) {
  std::string text = absl::StrCat(kFactsWord, "version ", facts.version, "\n",
                                  kFactsWord, "host ", facts.host, "\n");
  for (const Interface& one : facts.interfaces) {
    absl::StrAppend(&text, kFactsWord, "interface ", one.name, " ",
                    address_text(one.address), "/", one.prefix, "\n");
  }
  if (facts.port != 0) {
    absl::StrAppend(&text, kFactsWord, "listens ", facts.port, " ", facts.id,
                    "\n");
  }
  if (!facts.mpi.empty()) {
    absl::StrAppend(&text, kFactsWord, kMpiWord, one_line(facts.mpi), "\n");
    absl::StrAppend(&text, kFactsWord, "details ", facts.cores, " ",
                    facts.memory, " ", facts.shared_memory, " ",
                    facts.open_files, " ", facts.clock, "\n");
  }
  if (!facts.problem.empty()) {
    absl::StrAppend(&text, kFactsWord, kProblemWord, one_line(facts.problem),
                    "\n");
  }
  return absl::StrCat(text, kFactsEnd, "\n");
}

void read_line(absl::string_view line, HostFacts* facts) {
  if (!absl::ConsumePrefix(&line, kFactsWord)) return;
  if (absl::ConsumePrefix(&line, kProblemWord)) {
    facts->problem = one_line(line.substr(0, kMaxProblem));
    return;
  }
  if (absl::ConsumePrefix(&line, kMpiWord)) {
    facts->mpi = one_line(line.substr(0, kMaxProblem));
    return;
  }
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \r"), absl::SkipEmpty());
  if (words.size() == 6 && words[0] == "details") {
    HostFacts read = *facts;
    if (absl::SimpleAtoi(words[1], &read.cores) &&
        absl::SimpleAtoi(words[2], &read.memory) &&
        absl::SimpleAtoi(words[3], &read.shared_memory) &&
        absl::SimpleAtoi(words[4], &read.open_files) &&
        absl::SimpleAtoi(words[5], &read.clock)) {
      *facts = std::move(read);
    }
    return;
  }
  if (words.size() == 2 && words[0] == "version") {
    facts->version = std::string(words[1]);
  } else if (words.size() == 2 && words[0] == "host") {
    facts->host = std::string(words[1]);
  } else if (words.size() == 3 && words[0] == "listens") {
    int port = 0;
    if (!absl::SimpleAtoi(words[1], &port) || port < 1 || port > 65535) return;
    facts->port = port;
    facts->id = std::string(words[2]);
  } else if (words.size() == 3 && words[0] == "interface") {
    const auto interface = parse_interface(words[1], words[2]);
    if (interface && facts->interfaces.size() < kMaxInterfaces) {
      facts->interfaces.push_back(*interface);
    }
  }
}

}  // namespace hvd::launcher
