// SPDX-License-Identifier: Apache-2.0
// A MetricsServer answers Prometheus over HTTP: GET /metrics.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace hvd::telemetry {

// Serves until it is destroyed. It answers one request after the other, and
// gives each client a second to send its request and to take the answer.
class MetricsServer {
 public:
  // `address` is numeric, of IPv4 or IPv6. `text` is called by the server's
  // thread, for each request.
  //   Unavailable  the address or the port cannot be used; names both
  static absl::StatusOr<std::unique_ptr<MetricsServer>> start(
      const std::string& address, int port, std::function<std::string()> text);

  virtual ~MetricsServer() = default;
};

}  // namespace hvd::telemetry
