// SPDX-License-Identifier: Apache-2.0
// Device is the place of a tensor's memory: the CPU or one GPU.
#pragma once

#include <cstdint>
#include <string>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

enum class DeviceKind : std::uint8_t { kCpu = 0, kCuda = 1 };

struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;  // Among the devices of its kind; 0 for the CPU.

  static Device cpu() { return {}; }
  static Device cuda(int index) { return {DeviceKind::kCuda, index}; }
  bool is_cpu() const { return kind == DeviceKind::kCpu; }

  // "cpu", "cuda:1".
  std::string to_string() const {
    return is_cpu() ? "cpu" : "cuda:" + std::to_string(index);
  }

  friend bool operator==(const Device& a, const Device& b) {
    return a.kind == b.kind && a.index == b.index;
  }
};

}  // namespace hvd
