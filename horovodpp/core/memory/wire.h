// SPDX-License-Identifier: Apache-2.0
// Writer and reader for the bytes of control messages: little-endian,
// length-prefixed, every read checked.
//
//   WireWriter writer;
//   writer.u32(id);
//   writer.text(name);
//   const std::string bytes = writer.take();
//   WireReader reader(bytes);
//   const std::uint32_t id = reader.u32();
//   const std::string name = reader.text();
//   if (!reader.finished()) ...            // one check at the end is enough
//
// After a read past the end, or an impossible length, a reader returns zeros
// and stays failed. Decoding never reads outside its message and never
// allocates more than the message holds.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace hvd {

class WireWriter {
 public:
  WireWriter() : bytes_(kUsual, '\0') {}

  void u8(std::uint8_t value) { put(value); }
  void u32(std::uint32_t value) { put(value); }
  void u64(std::uint64_t value) { put(value); }
  void i64(std::int64_t value) { put(static_cast<std::uint64_t>(value)); }
  void f64(double value) { put(std::bit_cast<std::uint64_t>(value)); }
  void flag(bool value) { u8(value ? 1 : 0); }
  void text(const std::string& value) {
    u32(static_cast<std::uint32_t>(value.size()));
    value.copy(room_for(value.size()), value.size());
  }
  std::string take() {
    bytes_.resize(written_);
    return std::move(bytes_);
  }
  // view() returns the bytes written so far, until the next write. clear()
  // starts again in the same memory.
  std::string_view view() const { return {bytes_.data(), written_}; }
  void clear() { written_ = 0; }

 private:
  static constexpr std::size_t kUsual = 160;  // Bytes of a typical message.

  template <std::unsigned_integral T>
  void put(T value) {
    char* const at = room_for(sizeof(T));
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(at, &value, sizeof(T));
      return;
    }
    for (unsigned i = 0; i < sizeof(T); ++i) {
      at[i] = static_cast<char>((value >> (8 * i)) & 0xffu);
    }
  }

  // Reserves the next `count` bytes.
  char* room_for(std::size_t count) {
    const std::size_t at = written_;
    written_ += count;
    if (written_ > bytes_.size()) bytes_.resize(2 * written_);
    return bytes_.data() + at;
  }

  std::string bytes_;  // Longer than the written bytes.
  std::size_t written_ = 0;
};

class WireReader {
 public:
  // `bytes` outlive the reader.
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t u8() { return get<std::uint8_t>(); }
  std::uint32_t u32() { return get<std::uint32_t>(); }
  std::uint64_t u64() { return get<std::uint64_t>(); }
  std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
  double f64() { return std::bit_cast<double>(u64()); }
  bool flag() {
    const std::uint8_t value = u8();
    if (value > 1) fail();
    return value == 1;
  }
  std::string text() { return raw(u32()); }

  // A count of items that take at least `item_bytes` each; fails if the message
  // is too short to hold them.
  std::uint32_t count(std::size_t item_bytes) {
    const std::uint32_t value = u32();
    if (value > left() / item_bytes) fail();
    return failed_ ? 0 : value;
  }

  // Fails the reader; `why` names the impossible value.
  void fail(const std::string& why = "") {
    if (!failed_) why_ = why;
    failed_ = true;
  }
  // Reason of the first failure; "" for missing or surplus bytes.
  const std::string& why() const { return why_; }
  // Whether every read succeeded.
  bool ok() const { return !failed_; }
  // Whether every read succeeded and no bytes are left.
  bool finished() const { return ok() && left() == 0; }
  // The unread bytes.
  std::string_view rest() const { return bytes_.substr(position_); }

 private:
  std::size_t left() const { return bytes_.size() - position_; }

  template <std::unsigned_integral T>
  T get() {
    if (failed_ || left() < sizeof(T)) {
      fail();
      return 0;
    }
    const char* const at = bytes_.data() + position_;
    position_ += sizeof(T);
    T value = 0;
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(&value, at, sizeof(T));
      return value;
    }
    for (unsigned i = 0; i < sizeof(T); ++i) {
      value |= static_cast<T>(T{static_cast<std::uint8_t>(at[i])} << (8 * i));
    }
    return value;
  }

  std::string raw(std::size_t length) {
    if (failed_ || left() < length) {
      fail();
      return "";
    }
    position_ += length;
    return std::string(bytes_.substr(position_ - length, length));
  }

  std::string_view bytes_;
  std::size_t position_ = 0;
  bool failed_ = false;
  std::string why_;
};

}  // namespace hvd
