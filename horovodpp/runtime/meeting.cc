// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/meeting.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/transport/tcp/served_meeting.h"

namespace hvd {

struct Meeting::Server {
  std::unique_ptr<transport::ServedMeeting> served;
};

Meeting::Meeting() : server_(std::make_unique<Server>()) {}
Meeting::Meeting(Meeting&& other) noexcept = default;
Meeting& Meeting::operator=(Meeting&& other) noexcept = default;
Meeting::~Meeting() = default;

StatusOr<Meeting> Meeting::open(int size) {
  if (size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a meeting of ", size, " ranks: a job has one at least"));
  }
  HVD_ASSIGN_OR_RETURN(const Config config, Config::from_env());
  HVD_ASSIGN_OR_RETURN(const transport::JobKey key,
                       transport::JobKey::random());
  Meeting meeting;
  meeting.key_ = key.to_hex();
  HVD_ASSIGN_OR_RETURN(
      meeting.server_->served,
      transport::ServedMeeting::start(
          {.key = key, .size = size, .interfaces = config.interfaces}));
  return meeting;
}

std::string Meeting::place() const {
  return absl::StrCat("launcher:", server_->served->endpoints());
}

}  // namespace hvd
