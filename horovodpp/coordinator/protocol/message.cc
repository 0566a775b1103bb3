// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/protocol/message.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hvd::coordinator {
namespace {

constexpr std::uint32_t kMessageMagic = 0x70645648;  // "HVdp"
constexpr std::uint8_t kMessageVersion = 5;

// Writes each type that occurs as a field.
struct Put {
  WireWriter& w;

  void operator()(bool value) const { w.flag(value); }
  void operator()(int value) const { w.u32(static_cast<std::uint32_t>(value)); }
  void operator()(std::uint32_t value) const { w.u32(value); }
  void operator()(std::uint64_t value) const { w.u64(value); }
  void operator()(const std::string& value) const { w.text(value); }
  void operator()(FailureKind kind) const {
    w.u8(static_cast<std::uint8_t>(kind));
  }
  void operator()(const Key& key) const {
    w.u32(key.process_set);
    w.text(key.name);
  }
  void operator()(const RequestPtr& request) const { encode(*request, w); }
  void operator()(const MaybeRequest& request) const {
    w.flag(request != nullptr);
    if (request != nullptr) encode(*request, w);
  }
  void operator()(const Record& record) const {
    w.u8(static_cast<std::uint8_t>(record.kind));
    w.flag(record.ends_batch);
    w.u32(record.id);
    w.u64(record.value);
  }
  template <typename T>
  void operator()(const std::vector<T>& values) const {
    w.u32(static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) (*this)(value);
  }
  template <typename T>
  requires requires(T& t) { T::fields(t); }
  void operator()(const T& value) const {
    std::apply([&](const auto&... field) { ((*this)(field), ...); },
               T::fields(value));
  }
};

// Reads each type that occurs as a field.
struct Get {
  WireReader& r;

  void operator()(bool& value) const { value = r.flag(); }
  void operator()(int& value) const { value = static_cast<int>(r.u32()); }
  void operator()(std::uint32_t& value) const { value = r.u32(); }
  void operator()(std::uint64_t& value) const { value = r.u64(); }
  void operator()(std::string& value) const { value = r.text(); }
  void operator()(FailureKind& kind) const {
    const std::uint8_t value = r.u8();
    if (value > static_cast<std::uint8_t>(kLastFailureKind)) r.fail();
    if (r.ok()) kind = static_cast<FailureKind>(value);
  }
  void operator()(Key& key) const {
    key.process_set = r.u32();
    key.name = r.text();
  }
  void operator()(RequestPtr& request) const {
    request = std::make_shared<const Request>(decode_request(r));
  }
  void operator()(MaybeRequest& request) const {
    if (r.flag()) (*this)(static_cast<RequestPtr&>(request));
  }
  void operator()(Record& record) const {
    const std::uint8_t kind = r.u8();
    if (kind > static_cast<std::uint8_t>(kLastRecordKind)) r.fail();
    record.ends_batch = r.flag();
    record.id = r.u32();
    record.value = r.u64();
    if (r.ok()) record.kind = static_cast<RecordKind>(kind);
  }
  template <typename T>
  void operator()(std::vector<T>& values) const {
    // The smallest field takes 4 bytes, which bounds the count by the bytes
    // left.
    constexpr std::size_t kMinBytes = 4;
    const std::uint32_t count = r.count(kMinBytes);
    for (std::uint32_t i = 0; i < count && r.ok(); ++i) {
      (*this)(values.emplace_back());
    }
  }
  template <typename T>
  requires requires(T& t) { T::fields(t); }
  void operator()(T& value) const {
    std::apply([&](auto&... field) { ((*this)(field), ...); },
               T::fields(value));
  }
};

// The Message alternative with this index, filled from the reader.
template <std::size_t I = 0>
Message read_message(std::size_t index, WireReader& reader) {
  if constexpr (I < std::variant_size_v<Message>) {
    if (I != index) return read_message<I + 1>(index, reader);
    std::variant_alternative_t<I, Message> body;
    Get{reader}(body);
    return body;
  } else {
    reader.fail();
    return Break();
  }
}

template <typename T, typename... Of>
constexpr bool kIsOneOf = (std::is_same_v<T, Of> || ...);

}  // namespace

Direction direction_of(const Message& message) {
  return std::visit(
      []<typename M>(const M&) {
        if constexpr (kIsOneOf<M, Beat, Break>) return Direction::kAny;
        if constexpr (kIsOneOf<M, Define, Reject, Round, Halt, Inspect,
                               Closed>) {
          return Direction::kDown;
        }
        return Direction::kUp;
      },
      message);
}

std::string encode(std::uint32_t epoch, const Message& message) {
  WireWriter writer;
  encode(epoch, message, writer);
  return writer.take();
}

void encode(std::uint32_t epoch, const Message& message, WireWriter& writer) {
  writer.u32(kMessageMagic);
  writer.u8(kMessageVersion);
  writer.u32(epoch);
  writer.u8(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& body) { Put{writer}(body); }, message);
}

absl::StatusOr<Envelope> decode(std::string_view bytes) {
  const std::size_t size = bytes.size();
  absl::StatusOr<Envelope> envelope = decode_first(bytes);
  if (!envelope.ok() || bytes.empty()) return envelope;
  return absl::InvalidArgumentError(absl::StrCat(
      "a message of ", size - bytes.size(), " bytes is followed by others"));
}

absl::StatusOr<Envelope> decode_first(std::string_view& letter) {
  WireReader reader(letter);
  if (reader.u32() != kMessageMagic) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a message of ", letter.size(), " bytes is not one of horovodpp's"));
  }
  const std::uint8_t version = reader.u8();
  if (version != kMessageVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message has format ", static_cast<int>(version),
                     " and not ", static_cast<int>(kMessageVersion),
                     "; run the same version of horovodpp on every rank"));
  }
  Envelope envelope;
  envelope.epoch = reader.u32();
  const std::uint8_t type = reader.u8();
  envelope.message = read_message(type, reader);
  if (!reader.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", letter.size(), " bytes, type ",
                     static_cast<int>(type), ", is malformed",
                     reader.why().empty() ? "" : ": it names ", reader.why()));
  }
  letter = reader.rest();
  return envelope;
}

}  // namespace hvd::coordinator
