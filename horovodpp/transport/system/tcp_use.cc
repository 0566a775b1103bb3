// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/tcp_use.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hvd::transport {
namespace {

// Places in the kernel's tcp_info. <linux/tcp.h>, which declares it whole,
// cannot be included beside <netinet/tcp.h>.
constexpr std::size_t kBytesAcked = 120;
constexpr std::size_t kBusyTime = 168;
constexpr std::size_t kReceiverLimited = 176;
constexpr std::size_t kKnown = kReceiverLimited + sizeof(std::uint64_t);
constexpr int kTcpInfo = 11;  // TCP_INFO

using Info = std::array<std::byte, kKnown>;

std::uint64_t number_at(const Info& info, std::size_t at) {
  std::uint64_t number = 0;
  std::memcpy(&number, info.data() + at, sizeof(number));
  return number;
}

}  // namespace

std::optional<LinkUse> tcp_use(int to, int descriptor) {
  Info info{};
  socklen_t size = info.size();
  if (::getsockopt(descriptor, IPPROTO_TCP, kTcpInfo, info.data(), &size) !=
          0 ||
      size < info.size()) {
    return std::nullopt;
  }
  return LinkUse{.to = to,
                 .bytes = number_at(info, kBytesAcked),
                 .busy_microseconds = number_at(info, kBusyTime) -
                                      number_at(info, kReceiverLimited)};
}

}  // namespace hvd::transport
