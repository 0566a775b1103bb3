// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/messages/letter.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/memory/wire.h"

namespace hvd::runtime {
namespace {

constexpr std::uint32_t kLetterMagic = 0x6d645648;  // "HVdm"
constexpr std::uint8_t kLetterVersion = 1;

}  // namespace

std::string encode(const Letter& letter) {
  WireWriter writer;
  writer.u32(kLetterMagic);
  writer.u8(kLetterVersion);
  writer.u8(static_cast<std::uint8_t>(letter.kind));
  writer.u32(letter.number);
  writer.u32(letter.process_set);
  writer.u32(static_cast<std::uint32_t>(letter.tag));
  writer.u8(static_cast<std::uint8_t>(letter.dtype));
  writer.u64(letter.bytes);
  writer.u64(letter.offset);
  writer.u8(static_cast<std::uint8_t>(letter.at));
  writer.u32(letter.place.extent);
  writer.u64(letter.place.offset);
  std::string bytes = writer.take();
  bytes.append(letter.text);
  return bytes;
}

bool is_letter(std::string_view mail) {
  WireReader reader(mail);
  return reader.u32() == kLetterMagic && reader.ok();
}

absl::StatusOr<Letter> decode_letter(std::string_view bytes) {
  WireReader reader(bytes);
  Letter letter;
  const bool is_one =
      reader.u32() == kLetterMagic && reader.u8() == kLetterVersion;
  if (!is_one) reader.fail();
  const std::uint8_t kind = reader.u8();
  if (kind > static_cast<std::uint8_t>(LetterKind::kAll)) reader.fail();
  letter.number = reader.u32();
  letter.process_set = reader.u32();
  letter.tag = static_cast<int>(reader.u32());
  const auto dtype = dtype_from_wire(reader.u8());
  if (!dtype) reader.fail();
  letter.bytes = reader.u64();
  letter.offset = reader.u64();
  const std::uint8_t at = reader.u8();
  if (at > static_cast<std::uint8_t>(DataPlace::kInArena)) reader.fail();
  letter.place.extent = reader.u32();
  letter.place.offset = reader.u64();
  letter.text = reader.rest();
  if (!reader.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a letter of ", bytes.size(), " bytes about a message is malformed"));
  }
  letter.kind = static_cast<LetterKind>(kind);
  letter.dtype = *dtype;
  letter.at = static_cast<DataPlace>(at);
  const bool has_data =
      letter.kind == LetterKind::kOffer || letter.kind == LetterKind::kData;
  if (has_data && letter.at == DataPlace::kHere &&
      letter.text.size() != letter.bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a letter brings ", letter.text.size(), " bytes, not ", letter.bytes));
  }
  if (letter.kind == LetterKind::kData && letter.at == DataPlace::kLater) {
    return absl::InvalidArgumentError("a letter brings no data");
  }
  return letter;
}

}  // namespace hvd::runtime
