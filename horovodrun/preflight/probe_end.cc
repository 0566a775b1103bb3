// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/probe_end.h"

#include <cstddef>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodrun/system/last_line.h"

namespace hvd::launcher {
namespace {

constexpr std::size_t kMaxErrorBytes = 300;
constexpr int kUnknownOption = 2;
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;
constexpr int kShellFailed = 255;

std::string named(const ProbeEnd& end) {
  return absl::StrCat("host '", end.host, "' ");
}

std::string key_problem(const ProbeEnd& end) {
  if (absl::StrContains(end.errors, "IDENTIFICATION HAS CHANGED")) {
    return absl::StrCat(
        named(end),
        "has another key than the one that is known here: it was installed "
        "anew, or another machine answers under its name. If you expect "
        "that, forget the old key by 'ssh-keygen -R ",
        end.host, "', then connect once by 'ssh ", end.host, "'");
  }
  return absl::StrCat(
      named(end), "has a key that is not known here; connect once by 'ssh ",
      end.host, "' and confirm the key, or add it to ~/.ssh/known_hosts");
}

// Why ssh could not connect; empty: unknown.
std::string connection_problem(const ProbeEnd& end) {
  const auto says = [&](const char* text) {
    return absl::StrContains(end.errors, text);
  };
  if (says("Host key verification failed")) return key_problem(end);
  if (says("Permission denied (") || says("Too many authentication failures")) {
    return absl::StrCat(
        named(end), "refuses this user's ssh key; 'ssh ", end.host,
        " true' must work without a password: give it the key by "
        "'ssh-copy-id ",
        end.host, "', or name the right key in ~/.ssh/config (IdentityFile)");
  }
  if (is_unknown_name(end)) {
    return absl::StrCat(named(end),
                        "has no address here; check its spelling, /etc/hosts "
                        "and the name server");
  }
  if (says("Connection refused")) {
    return absl::StrCat(named(end),
                        "accepts no ssh connections: no sshd listens on that "
                        "port; start it there, or give its port in "
                        "~/.ssh/config (Port)");
  }
  if (says("timed out") || says("No route to host") ||
      says("Network is unreachable") || says("Host is down")) {
    return absl::StrCat(named(end),
                        "cannot be reached; check that it is up, and that no "
                        "firewall keeps ssh out");
  }
  return "";
}

}  // namespace

bool is_unknown_name(const ProbeEnd& end) {
  return absl::StrContains(end.errors, "Could not resolve hostname");
}

std::string explain(const ProbeEnd& end) {
  const std::string last = last_line(end.errors, kMaxErrorBytes);
  const std::string said = last.empty() ? "" : absl::StrCat(": ", last);
  if (end.code < 0) {
    return absl::StrCat(named(end), "cannot be reached: ", end.shell,
                        " was killed by signal ", -end.code, " (",
                        strsignal(-end.code), ")");
  }
  if (end.code == kShellFailed) {
    const std::string known = connection_problem(end);
    if (!known.empty()) return absl::StrCat(known, said);
  }
  const bool is_missing =
      end.code == kNotFound && !absl::StrContains(end.errors, "shared librar");
  if (is_missing) {
    return absl::StrCat(named(end), "has no ", end.program,
                        "; install the same horovodpp there, at the same path "
                        "as here",
                        said);
  }
  if (end.code == kNotFound || end.code == kNotExecutable) {
    return absl::StrCat(named(end), "cannot execute ", end.program, said);
  }
  if (end.code == kUnknownOption) {
    return absl::StrCat(named(end), "has an older horovodrun at ", end.program,
                        "; install the same version there as here", said);
  }
  return absl::StrCat(named(end), "cannot be used: ", end.shell,
                      " ended with code ", end.code, said, "; check that '",
                      end.shell, " ", end.host,
                      " true' works without a password");
}

std::string explain_silence(const std::string& host,
                            std::chrono::milliseconds time) {
  return absl::StrCat("host '", host, "' did not answer within ",
                      std::chrono::duration<double>(time).count(),
                      " s; check that 'ssh ", host,
                      " true' works without a question, or raise "
                      "--start-timeout");
}

std::string explain_version(const ProbeEnd& end, const std::string& theirs,
                            const std::string& ours) {
  return absl::StrCat(named(end), "has horovodrun ", theirs, " at ",
                      end.program, ", and this host has ", ours,
                      "; install the same version on all hosts");
}

}  // namespace hvd::launcher
