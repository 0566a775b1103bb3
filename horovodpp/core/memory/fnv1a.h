// SPDX-License-Identifier: Apache-2.0
// Fnv1a is a hash with the same value in all builds and on all machines, for
// files and for comparison between ranks.
#pragma once

#include <cstdint>
#include <string_view>

namespace hvd {

struct Fnv1a {
  std::uint64_t value = 0xcbf29ce484222325u;

  void add(std::string_view bytes) {
    for (const char c : bytes) add_byte(static_cast<unsigned char>(c));
  }
  // The lowest byte first.
  void add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i, number >>= 8) {
      add_byte(static_cast<unsigned char>(number));
    }
  }

 private:
  void add_byte(unsigned char byte) { value = (value ^ byte) * 0x100000001b3u; }
};

}  // namespace hvd
