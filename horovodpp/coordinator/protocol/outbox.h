// SPDX-License-Identifier: Apache-2.0
// An Outbox gathers a rank's messages into letters, one open letter for each
// receiver. Messages to one receiver keep their order.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/protocol/message.h"
#include "horovodpp/core/memory/wire.h"

namespace hvd::coordinator {

struct Outgoing {
  int to = 0;
  std::string bytes;
};

class Outbox {
 public:
  explicit Outbox(std::uint32_t epoch) : epoch_(epoch) {}

  void send(int to, const Message& message) {
    write(message);
    send_written(to);
  }
  // Encodes a message once, for several receivers.
  void write(const Message& message) {
    written_.clear();
    encode(epoch_, message, written_);
  }
  void send_written(int to);

  bool is_empty() const { return open_.empty(); }
  std::vector<Outgoing> take();

 private:
  // Bytes. A receiver can process a full letter while the sender writes the
  // next.
  static constexpr std::size_t kMaxLetterBytes = std::size_t{16} << 10;

  const std::uint32_t epoch_;
  WireWriter written_;          // The message being sent.
  std::vector<Outgoing> full_;  // Full letters,
  std::vector<Outgoing> open_;  // and one open letter for each receiver.
  std::size_t next_open_ = 0;   // Tried first, as ranks take turns.
};

inline void Outbox::send_written(int to) {
  std::size_t at = next_open_ < open_.size() ? next_open_ : 0;
  if (at == open_.size() || open_[at].to != to) {
    at = 0;
    while (at < open_.size() && open_[at].to != to) ++at;
  }
  if (at == open_.size()) open_.push_back({to, {}});
  next_open_ = at + 1;
  std::string& letter = open_[at].bytes;
  const std::string_view message = written_.view();
  if (!letter.empty() && letter.size() + message.size() > kMaxLetterBytes) {
    full_.push_back({to, std::exchange(letter, {})});
  }
  letter += message;
}

inline std::vector<Outgoing> Outbox::take() {
  std::move(open_.begin(), open_.end(), std::back_inserter(full_));
  open_.clear();
  return std::exchange(full_, {});
}

}  // namespace hvd::coordinator
