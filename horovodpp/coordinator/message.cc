#include "horovodpp/coordinator/message.h"

#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hvd::coordinator {
namespace {

constexpr std::uint32_t kMagic = 0x70645648;  // "HVdp"
constexpr std::uint8_t kVersion = 1;

void write_body(const Propose& m, WireWriter& w) { encode(m.request, w); }
void write_body(const Define& m, WireWriter& w) {
  w.u32(m.id);
  w.u32(m.slot);
  encode(m.request, w);
}
void write_body(const Reject& m, WireWriter& w) {
  w.text(m.name);
  w.text(m.why);
}
void write_body(const Passed& m, WireWriter& w) { w.u32(m.id); }
void write_body(const Ready& m, WireWriter& w) {
  w.u32(static_cast<std::uint32_t>(m.ids.size()));
  for (std::uint32_t id : m.ids) w.u32(id);
}
void write_body(const ReadySeen&, WireWriter&) {}
void write_body(const Round& m, WireWriter& w) {
  w.u32(static_cast<std::uint32_t>(m.records.size()));
  for (const Record& record : m.records) {
    w.u8(static_cast<std::uint8_t>(record.kind));
    w.u8(record.ends_batch ? 1 : 0);
    w.u32(record.id);
  }
}
void write_body(const RoundSeen&, WireWriter&) {}
void write_body(const Leave&, WireWriter&) {}
void write_body(const Closed&, WireWriter&) {}
void write_body(const Break& m, WireWriter& w) { w.text(m.why); }

void read_body(Propose& m, WireReader& r) { m.request = decode_request(r); }
void read_body(Define& m, WireReader& r) {
  m.id = r.u32();
  m.slot = r.u32();
  m.request = decode_request(r);
}
void read_body(Reject& m, WireReader& r) {
  m.name = r.text();
  m.why = r.text();
}
void read_body(Passed& m, WireReader& r) { m.id = r.u32(); }
void read_body(Ready& m, WireReader& r) {
  const std::uint32_t count = r.count(4);
  for (std::uint32_t i = 0; i < count; ++i) m.ids.push_back(r.u32());
}
void read_body(ReadySeen&, WireReader&) {}
void read_body(Round& m, WireReader& r) {
  const std::uint32_t count = r.count(6);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint8_t kind = r.u8();
    if (kind > static_cast<std::uint8_t>(RecordKind::kLeave)) r.fail();
    const bool ends_batch = r.u8() != 0;
    m.records.push_back({static_cast<RecordKind>(kind), r.u32(), ends_batch});
  }
}
void read_body(RoundSeen&, WireReader&) {}
void read_body(Leave&, WireReader&) {}
void read_body(Closed&, WireReader&) {}
void read_body(Break& m, WireReader& r) { m.why = r.text(); }

// The Message alternative with this index, filled from the reader.
template <std::size_t I = 0>
Message read_message(std::size_t index, WireReader& reader) {
  if constexpr (I < std::variant_size_v<Message>) {
    if (I != index) return read_message<I + 1>(index, reader);
    std::variant_alternative_t<I, Message> body;
    read_body(body, reader);
    return body;
  } else {
    reader.fail();
    return Message();
  }
}

}  // namespace

std::string encode(const Envelope& envelope) {
  WireWriter writer;
  writer.u32(kMagic);
  writer.u8(kVersion);
  writer.u32(envelope.epoch);
  writer.u8(static_cast<std::uint8_t>(envelope.message.index()));
  std::visit([&](const auto& body) { write_body(body, writer); },
             envelope.message);
  return writer.take();
}

absl::StatusOr<Envelope> decode(std::string bytes) {
  const std::size_t size = bytes.size();
  WireReader reader(std::move(bytes));
  if (reader.u32() != kMagic) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a message of ", size, " bytes is not one of horovodpp's"));
  }
  const std::uint8_t version = reader.u8();
  if (version != kVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message has format ", static_cast<int>(version),
                     " and not ", static_cast<int>(kVersion),
                     "; run the same version of horovodpp on every rank"));
  }
  Envelope envelope;
  envelope.epoch = reader.u32();
  const std::uint8_t type = reader.u8();
  envelope.message = read_message(type, reader);
  if (!reader.finished()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", size, " bytes, type ",
                     static_cast<int>(type), ", is malformed"));
  }
  return envelope;
}

}  // namespace hvd::coordinator
