// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace hvd::telemetry {
namespace {

constexpr std::pair<const char*, LogLevel> kLevels[] = {
    {"trace", LogLevel::kTrace}, {"debug", LogLevel::kDebug},
    {"info", LogLevel::kInfo},   {"warning", LogLevel::kWarning},
    {"error", LogLevel::kError}, {"fatal", LogLevel::kFatal}};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  return static_cast<spdlog::level::level_enum>(level);
}
static_assert(static_cast<int>(LogLevel::kTrace) == spdlog::level::trace);
static_assert(static_cast<int>(LogLevel::kFatal) == spdlog::level::critical);

}  // namespace

std::optional<LogLevel> log_level_from(const std::string& name) {
  const std::string lower = absl::AsciiStrToLower(name);
  for (const auto& [known, level] : kLevels) {
    if (lower == known) return level;
  }
  return std::nullopt;
}

class Log::Sink {
 public:
  explicit Sink(const std::string& name)
      : logger(name, std::make_shared<spdlog::sinks::stderr_sink_mt>()) {}
  spdlog::logger logger;
};

Log::Log(int rank, const Options& options)
    : least_(options.level), sink_(std::make_unique<Sink>(absl::StrCat(rank))) {
  sink_->logger.set_level(to_spdlog(options.level));
  sink_->logger.set_pattern(options.hide_time
                                ? "[%L] [%n]: %v"
                                : "[%Y-%m-%d %H:%M:%S.%f: %L] [%n]: %v");
}

Log::~Log() = default;

void Log::write(LogLevel level, const std::string& text) {
  sink_->logger.log(to_spdlog(level), spdlog::string_view_t(text));
}

}  // namespace hvd::telemetry
