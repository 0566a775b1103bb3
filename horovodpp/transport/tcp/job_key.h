// SPDX-License-Identifier: Apache-2.0
// The secret of a job. Processes prove to each other that they know it before
// either reads anything else from a connection (handshake.h). It travels in the
// environment, never on a command line.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hvd::transport {

class JobKey {
 public:
  static constexpr std::size_t kBytes = 32;
  using Proof = std::array<unsigned char, kBytes>;

  // A new, random key.
  //   Internal  the system has no random numbers
  static absl::StatusOr<JobKey> random();
  // The key that to_hex() has written.
  //   InvalidArgument  `hex` is no key; does not quote it
  static absl::StatusOr<JobKey> from_hex(std::string_view hex);
  std::string to_hex() const;

  // HMAC-SHA256 of `message` (RFC 2104, FIPS 180-4).
  Proof prove(std::string_view message) const;
  // Whether `proof` is that of `message`, in a time that does not depend on the
  // bytes.
  bool verify(std::string_view message,
              std::span<const unsigned char> proof) const;

 private:
  std::array<unsigned char, kBytes> bytes_ = {};
};

}  // namespace hvd::transport
