// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/loading/ucx_exchange.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "horovodpp/core/status.h"

namespace hvd::transport {
namespace {

// A rank without UCX takes these texts for settings, and names this one.
constexpr char kSetting[] = "HOROVODPP_TRANSPORT=ucx\n";
constexpr char kText[] = "text:";
constexpr char kError[] = "error:";

}  // namespace

absl::StatusOr<std::vector<std::string>> exchange_for_ucx(
    Communicator& wires, const absl::StatusOr<std::string>& mine,
    std::chrono::steady_clock::time_point deadline) {
  HVD_ASSIGN_OR_RETURN(
      std::vector<std::string> all,
      wires.exchange(
          mine.ok() ? absl::StrCat(kSetting, kText, *mine)
                    : absl::StrCat(kSetting, kError, mine.status().message()),
          deadline));
  HVD_RETURN_IF_ERROR(mine.status());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    absl::string_view text = all[rank];
    const std::string who =
        wires.peers()[rank].to_string(static_cast<int>(rank));
    if (!absl::ConsumePrefix(&text, kSetting)) {
      return absl::InvalidArgumentError(absl::StrCat(
          who, " is without HOROVODPP_TRANSPORT=ucx, which rank ", wires.rank(),
          " has; set it to the same value on every rank"));
    }
    if (absl::ConsumePrefix(&text, kError)) {
      return absl::FailedPreconditionError(
          absl::StrCat(who, " cannot use UCX: ", text));
    }
    absl::ConsumePrefix(&text, kText);
    all[rank] = std::string(text);
  }
  return all;
}

}  // namespace hvd::transport
