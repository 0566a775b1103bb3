// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/direct/remote_hosts.h"

#include <sys/wait.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::launcher {

absl::Status RemoteHosts::start(const std::string& name,
                                const HostOrder& order) {
  const auto known =
      std::find_if(hosts_.begin(), hosts_.end(),
                   [&](const RemoteHost& host) { return host.name() == name; });
  if (known != hosts_.end()) {
    known->send({.kind = ControlMessage::Kind::kOrder, .order = order});
    return absl::OkStatus();
  }
  if (shell_.empty()) {
    return absl::InternalError(
        absl::StrCat("there is no ssh on the PATH, by which ranks start on "
                     "host '",
                     name, "'"));
  }
  RemoteHost host(name);
  HVD_RETURN_IF_ERROR(host.start(shell_, order));
  hosts_.push_back(std::move(host));
  if (order.first_rank == 0) reader_ = &hosts_.back();
  return absl::OkStatus();
}

void RemoteHosts::send_to_all(const ControlMessage& message) {
  for (RemoteHost& host : hosts_) host.send(message);
}

void RemoteHosts::ping() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_ping_) return;
  next_ping_ = now + kPingInterval;
  for (RemoteHost& host : hosts_) {
    // Unwritten messages are a sign of life, too.
    if (host.control().unwritten() == 0) {
      host.send({.kind = ControlMessage::Kind::kPing});
    }
  }
}

std::optional<RemoteHosts::Lost> RemoteHosts::shell_ended(pid_t pid,
                                                          int wait_status) {
  const auto host =
      std::find_if(hosts_.begin(), hosts_.end(),
                   [&](const RemoteHost& one) { return one.shell() == pid; });
  if (host == hosts_.end()) return std::nullopt;
  if (reader_ == &*host) reader_ = nullptr;
  Lost lost = {.name = host->name(),
               .code = WIFSIGNALED(wait_status) ? -WTERMSIG(wait_status)
                                                : WEXITSTATUS(wait_status)};
  hosts_.erase(host);
  return lost;
}

std::size_t RemoteHosts::unsent_input() const {
  return reader_ == nullptr ? 0 : reader_->control().unwritten();
}

void RemoteHosts::send_input(const std::string& bytes) {
  if (reader_ == nullptr) return;
  reader_->send({.kind = ControlMessage::Kind::kInput, .input = bytes});
  if (bytes.empty()) reader_ = nullptr;
}

void RemoteHosts::add_awaited(std::vector<pollfd>& fds) const {
  for (const RemoteHost& host : hosts_) {
    fds.push_back({host.control().awaited(), POLLOUT, 0});
  }
}

void RemoteHosts::write_some() {
  for (const RemoteHost& host : hosts_) host.control().write_some();
}

}  // namespace hvd::launcher
