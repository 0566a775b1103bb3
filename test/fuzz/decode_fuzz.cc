// SPDX-License-Identifier: Apache-2.0
// For any bytes, the decoder of control messages returns. A decoded message
// encodes to the same bytes.
#include <cstdint>
#include <string_view>

#include "horovodpp/coordinator/protocol/message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace hvd::coordinator;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<Envelope> envelope = decode(bytes);
  if (!envelope.ok()) return 0;
  if (encode(envelope->epoch, envelope->message) != bytes) __builtin_trap();
  return 0;
}
