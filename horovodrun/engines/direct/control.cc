// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/direct/control.h"

#include <csignal>
#include <string_view>
#include <utility>

#include "horovodpp/core/memory/wire.h"

namespace hvd::launcher {
namespace {

constexpr std::size_t kLengthBytes = 4;
// The environment and the command of a rank are shorter: Linux's own limit.
constexpr std::uint32_t kMaxMessageBytes = 16 << 20;
constexpr std::size_t kTextBytes = 4;  // At least, on the wire.

void write_order(const HostOrder& order, WireWriter& writer) {
  writer.u32(static_cast<std::uint32_t>(order.first_rank));
  writer.u32(static_cast<std::uint32_t>(order.ranks));
  writer.flag(order.are_newcomers);
  writer.flag(order.takes_more);
  writer.u32(static_cast<std::uint32_t>(order.longest_silence.count()));
  writer.text(order.folder);
  writer.u32(static_cast<std::uint32_t>(order.agent.size()));
  for (const std::string& word : order.agent) writer.text(word);
  writer.u32(static_cast<std::uint32_t>(order.environment.size()));
  for (const auto& [name, value] : order.environment) {
    writer.text(name);
    writer.text(value);
  }
}

HostOrder read_order(WireReader& reader) {
  HostOrder order;
  order.first_rank = static_cast<int>(reader.u32());
  order.ranks = static_cast<int>(reader.u32());
  if (order.first_rank < 0 || order.ranks < 1) reader.fail();
  order.are_newcomers = reader.flag();
  order.takes_more = reader.flag();
  order.longest_silence = std::chrono::milliseconds(reader.u32());
  order.folder = reader.text();
  for (std::uint32_t left = reader.count(kTextBytes); left > 0; --left) {
    order.agent.push_back(reader.text());
  }
  if (order.agent.empty()) reader.fail();
  for (std::uint32_t left = reader.count(2 * kTextBytes); left > 0; --left) {
    std::string name = reader.text();
    order.environment[std::move(name)] = reader.text();
  }
  return order;
}

absl::StatusOr<ControlMessage> read_message(std::string_view bytes) {
  WireReader reader(bytes);
  ControlMessage message = {.kind =
                                static_cast<ControlMessage::Kind>(reader.u8())};
  switch (message.kind) {
    case ControlMessage::Kind::kOrder:
      message.order = read_order(reader);
      break;
    case ControlMessage::Kind::kSignal:
      message.signal = reader.u8();
      if (message.signal < 1 || message.signal >= NSIG) reader.fail();
      message.rank = static_cast<int>(reader.u32());
      if (message.rank < -1) reader.fail();
      break;
    case ControlMessage::Kind::kInput:
      message.input = reader.text();
      break;
    case ControlMessage::Kind::kPing:
      break;
    default:
      reader.fail();
  }
  if (reader.finished()) return message;
  return absl::InvalidArgumentError("a control message is malformed");
}

}  // namespace

std::string to_bytes(const ControlMessage& message) {
  WireWriter body;
  body.u8(static_cast<std::uint8_t>(message.kind));
  switch (message.kind) {
    case ControlMessage::Kind::kOrder:
      write_order(message.order, body);
      break;
    case ControlMessage::Kind::kSignal:
      body.u8(static_cast<std::uint8_t>(message.signal));
      body.u32(static_cast<std::uint32_t>(message.rank));
      break;
    case ControlMessage::Kind::kInput:
      body.text(message.input);
      break;
    case ControlMessage::Kind::kPing:
      break;
  }
  WireWriter framed;
  framed.text(body.take());
  return framed.take();
}

absl::StatusOr<std::optional<ControlMessage>> ControlReader::next() {
  if (unread_.size() < kLengthBytes) return std::nullopt;
  const std::uint32_t bytes = WireReader(unread_).u32();
  if (bytes > kMaxMessageBytes) {
    return absl::InvalidArgumentError("a control message is too long");
  }
  if (unread_.size() - kLengthBytes < bytes) return std::nullopt;
  auto message =
      read_message(std::string_view(unread_).substr(kLengthBytes, bytes));
  if (!message.ok()) return message.status();
  unread_.erase(0, kLengthBytes + bytes);
  return *std::move(message);
}

}  // namespace hvd::launcher
