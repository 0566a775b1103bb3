// SPDX-License-Identifier: Apache-2.0
// A Log writes a rank's messages to stderr in Horovod's format:
//   [2026-01-31 12:34:56.789012: W] [3]: text
//
// A Log belongs to one runtime; there is no global logger. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace telemetry {

enum class LogLevel { kTrace, kDebug, kInfo, kWarning, kError, kFatal };

// The level with this name, in any case ("trace" … "fatal"), or nullopt.
std::optional<LogLevel> log_level_from(const std::string& name);

class Log {
 public:
  struct Options {
    LogLevel level = LogLevel::kWarning;  // The lowest level written.
    bool hide_time = false;
  };

  Log(int rank, const Options& options);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Whether texts of that level are written. Check before building a costly
  // text.
  bool writes(LogLevel level) const { return level >= least_; }

  void trace(const std::string& text) { write(LogLevel::kTrace, text); }
  void debug(const std::string& text) { write(LogLevel::kDebug, text); }
  void info(const std::string& text) { write(LogLevel::kInfo, text); }
  void warning(const std::string& text) { write(LogLevel::kWarning, text); }
  void error(const std::string& text) { write(LogLevel::kError, text); }

 private:
  class Sink;
  void write(LogLevel level, const std::string& text);
  const LogLevel least_;
  std::unique_ptr<Sink> sink_;
};

}  // namespace telemetry
}  // namespace hvd
