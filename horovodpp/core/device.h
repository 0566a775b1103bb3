// Where memory lives.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace hvd {

enum class DeviceKind : std::uint8_t { kCpu = 0, kCuda = 1 };

struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;  // Among the devices of its kind; 0 for the CPU.

  static Device cpu() { return {}; }
  static Device cuda(int index) { return {DeviceKind::kCuda, index}; }
  bool is_cpu() const { return kind == DeviceKind::kCpu; }

  // "cpu", "cuda:1".
  std::string to_string() const {
    return is_cpu() ? "cpu" : absl::StrCat("cuda:", index);
  }

  friend bool operator==(const Device&, const Device&) = default;
};

}  // namespace hvd
