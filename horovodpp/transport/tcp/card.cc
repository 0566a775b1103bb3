// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/card.h"

#include <algorithm>

#include "horovodpp/core/memory/wire.h"

namespace hvd::transport {
namespace {

constexpr std::uint32_t kMaxEndpoints = 32;

void write(WireWriter& writer, const InternetAddress& address) {
  for (const std::uint8_t byte : address) writer.u8(byte);
}

InternetAddress read_address(WireReader& reader) {
  InternetAddress address;
  for (std::uint8_t& byte : address) byte = reader.u8();
  return address;
}

void write(WireWriter& writer, const Card& card) {
  writer.u32(static_cast<std::uint32_t>(card.rank));
  writer.u32(static_cast<std::uint32_t>(card.size));
  writer.text(card.peer.host);
  writer.i64(card.peer.pid);
  writer.text(card.peer.node);
  const std::size_t endpoints =
      std::min<std::size_t>(card.endpoints.size(), kMaxEndpoints);
  writer.u32(static_cast<std::uint32_t>(endpoints));
  for (std::size_t i = 0; i < endpoints; ++i) {
    write(writer, card.endpoints[i].address);
    writer.u32(card.endpoints[i].port);
  }
  writer.u64(card.contact.token);
  writer.u32(card.contact.port);
  writer.u32(card.contact.addresses);
  for (std::uint16_t i = 0; i < card.contact.addresses; ++i) {
    write(writer, card.contact.address[i]);
  }
}

std::uint16_t read_port(WireReader& reader) {
  const std::uint32_t port = reader.u32();
  if (port > 65535) reader.fail();
  return static_cast<std::uint16_t>(port);
}

Card read_card(WireReader& reader) {
  Card card;
  card.rank = static_cast<int>(reader.u32());
  card.size = static_cast<int>(reader.u32());
  card.peer.host = reader.text();
  card.peer.pid = reader.i64();
  card.peer.node = reader.text();
  const std::uint32_t endpoints = reader.count(sizeof(InternetAddress) + 4);
  for (std::uint32_t i = 0; i < endpoints; ++i) {
    Endpoint& endpoint = card.endpoints.emplace_back();
    endpoint.address = read_address(reader);
    endpoint.port = read_port(reader);
  }
  card.contact.token = reader.u64();
  card.contact.port = read_port(reader);
  const std::uint32_t contacts = reader.count(sizeof(InternetAddress));
  if (contacts > DatagramBeats::Contact::kMaxAddresses) reader.fail();
  if (!reader.ok()) return card;
  card.contact.addresses = static_cast<std::uint16_t>(contacts);
  for (std::uint32_t i = 0; i < contacts; ++i) {
    card.contact.address[i] = read_address(reader);
  }
  return card;
}

// A reader after the message's kind, which has failed if it is another.
WireReader reader_of(std::string_view message, MeetingMessage kind) {
  WireReader reader(message);
  if (reader.u8() != static_cast<std::uint8_t>(kind)) reader.fail();
  return reader;
}

WireWriter writer_of(MeetingMessage kind) {
  WireWriter writer;
  writer.u8(static_cast<std::uint8_t>(kind));
  return writer;
}

absl::Status malformed() {
  return absl::InvalidArgumentError(
      "a message of the meeting is malformed; do all ranks and the launcher "
      "run the same version of horovodpp?");
}

}  // namespace

std::string message_of(const Card& card) {
  WireWriter writer = writer_of(MeetingMessage::kCard);
  write(writer, card);
  return writer.take();
}

std::string message_of(const std::vector<Card>& table) {
  WireWriter writer = writer_of(MeetingMessage::kTable);
  writer.u32(static_cast<std::uint32_t>(table.size()));
  for (const Card& card : table) write(writer, card);
  return writer.take();
}

std::string message_of(MeetingMessage kind, const std::string& text) {
  WireWriter writer = writer_of(kind);
  writer.text(text);
  return writer.take();
}

std::string numbers_of(MeetingMessage kind,
                       const std::vector<std::uint32_t>& numbers) {
  WireWriter writer = writer_of(kind);
  for (const std::uint32_t number : numbers) writer.u32(number);
  return writer.take();
}

MeetingMessage kind_of(std::string_view message) {
  return static_cast<MeetingMessage>(WireReader(message).u8());
}

absl::StatusOr<Card> card_in(std::string_view message) {
  WireReader reader = reader_of(message, MeetingMessage::kCard);
  Card card = read_card(reader);
  if (!reader.finished()) return malformed();
  return card;
}

absl::StatusOr<std::vector<Card>> table_in(std::string_view message) {
  WireReader reader = reader_of(message, MeetingMessage::kTable);
  constexpr std::size_t kShortestCard = 40;
  const std::uint32_t cards = reader.count(kShortestCard);
  std::vector<Card> table;
  for (std::uint32_t i = 0; i < cards && reader.ok(); ++i) {
    table.push_back(read_card(reader));
  }
  if (!reader.finished()) return malformed();
  return table;
}

std::string text_in(std::string_view message) {
  WireReader reader(message);
  reader.u8();
  return reader.text();
}

absl::StatusOr<std::vector<std::uint32_t>> numbers_in(std::string_view message,
                                                      std::size_t count) {
  WireReader reader(message);
  reader.u8();
  std::vector<std::uint32_t> numbers(count);
  for (std::uint32_t& number : numbers) number = reader.u32();
  if (!reader.finished()) return malformed();
  return numbers;
}

}  // namespace hvd::transport
