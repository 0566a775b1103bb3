// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/probe_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hvd::launcher {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

ProbeEnd end_with(int code, const std::string& errors) {
  return {.host = "b",
          .shell = "ssh",
          .program = "/opt/horovodrun",
          .code = code,
          .errors = errors};
}

TEST(ProbeEnd, IsExplainedByTheWordsOfSsh) {
  struct Case {
    int code;
    const char* errors;
    const char* explanation;
  };
  const std::vector<Case> cases = {
      {255,
       "No ED25519 host key is known for b\nHost key verification failed.\n",
       "has a key that is not known here"},
      {255,
       "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n"
       "Host key verification failed.\n",
       "ssh-keygen -R b"},
      {255, "root@b: Permission denied (publickey).\n", "ssh-copy-id b"},
      {255, "ssh: Could not resolve hostname b: Name or service not known\n",
       "has no address here"},
      {255, "ssh: connect to host b port 22: Connection refused\n",
       "accepts no ssh connections"},
      {255, "ssh: connect to host b port 22: Connection timed out\n",
       "cannot be reached; check that it is up"},
      {255, "ssh: connect to host b port 22: No route to host\n",
       "cannot be reached; check that it is up"},
      {127, "bash: line 1: /opt/horovodrun: No such file or directory\n",
       "has no /opt/horovodrun; install the same"},
      {127,
       "/opt/horovodrun: error while loading shared libraries: libx.so: "
       "cannot open shared object file\n",
       "cannot execute /opt/horovodrun: /opt/horovodrun: error while"},
      {126, "bash: line 1: /opt/horovodrun: Permission denied\n",
       "cannot execute /opt/horovodrun"},
      {2, "horovodrun: unknown option '--describe-host'\n",
       "has an older horovodrun at /opt/horovodrun"},
      {-9, "", "cannot be reached: ssh was killed by signal 9"},
      {77, "odd\n", "cannot be used: ssh ended with code 77: odd"},
      {255, "", "cannot be used: ssh ended with code 255; check that 'ssh b"}};
  for (const Case& one : cases) {
    EXPECT_THAT(explain(end_with(one.code, one.errors)),
                AllOf(StartsWith("host 'b' "), HasSubstr(one.explanation)));
  }
}

TEST(ProbeEnd, ShowsOnePrintableLineOfIt) {
  EXPECT_THAT(explain(end_with(255, "first\n\x1b[31mlast\r\n\n")),
              AllOf(HasSubstr("[31mlast;"), Not(HasSubstr("first")),
                    Not(HasSubstr("\x1b"))));
}

TEST(ProbeEnd, NamesBothVersions) {
  EXPECT_EQ(explain_version(end_with(0, ""), "0.1.0", "0.2.0"),
            "host 'b' has horovodrun 0.1.0 at /opt/horovodrun, and this host "
            "has 0.2.0; install the same version on all hosts");
}

TEST(ProbeEnd, NamesASilentHost) {
  EXPECT_THAT(explain_silence("b", std::chrono::milliseconds(1500)),
              StartsWith("host 'b' did not answer within 1.5 s"));
}

}  // namespace
}  // namespace hvd::launcher
