// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/job_key.h"

#include <sodium.h>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::transport {

static_assert(JobKey::kBytes == crypto_auth_hmacsha256_KEYBYTES);
static_assert(JobKey::kBytes == crypto_auth_hmacsha256_BYTES);

namespace {

absl::Status start_sodium() {
  static const bool started = ::sodium_init() >= 0;
  return started ? absl::OkStatus()
                 : absl::InternalError(
                       "the system has no random numbers for the job's key");
}

}  // namespace

absl::StatusOr<JobKey> JobKey::random() {
  HVD_RETURN_IF_ERROR(start_sodium());
  JobKey key;
  ::randombytes_buf(key.bytes_.data(), kBytes);
  return key;
}

absl::StatusOr<JobKey> JobKey::from_hex(std::string_view hex) {
  HVD_RETURN_IF_ERROR(start_sodium());
  JobKey key;
  std::size_t bytes = 0;
  const char* end = nullptr;
  if (::sodium_hex2bin(key.bytes_.data(), kBytes, hex.data(), hex.size(),
                       nullptr, &bytes, &end) != 0 ||
      bytes != kBytes || end != hex.data() + hex.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the key of a job has ", 2 * kBytes,
                     " hexadecimal digits; this text has ", hex.size(),
                     " characters, or others than digits"));
  }
  return key;
}

std::string JobKey::to_hex() const {
  std::string hex(2 * kBytes + 1, '\0');
  ::sodium_bin2hex(hex.data(), hex.size(), bytes_.data(), kBytes);
  hex.pop_back();
  return hex;
}

JobKey::Proof JobKey::prove(std::string_view message) const {
  Proof proof;
  ::crypto_auth_hmacsha256(
      proof.data(), reinterpret_cast<const unsigned char*>(message.data()),
      message.size(), bytes_.data());
  return proof;
}

bool JobKey::verify(std::string_view message,
                    std::span<const unsigned char> proof) const {
  return proof.size() == kBytes &&
         ::crypto_auth_hmacsha256_verify(
             proof.data(),
             reinterpret_cast<const unsigned char*>(message.data()),
             message.size(), bytes_.data()) == 0;
}

}  // namespace hvd::transport
