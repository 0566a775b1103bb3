// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/node/stacks.h"

#include <gtest/gtest.h>

namespace hvd::launcher {
namespace {

TEST(Stacks, AreWithoutTheDebuggersRemarks) {
  EXPECT_EQ(without_remarks("[New LWP 7]\nwarning: no\n\n"
                            "Thread 1 (LWP 6):\n#0 main ()\n\n"),
            "Thread 1 (LWP 6):\n#0 main ()\n");
  EXPECT_EQ(without_remarks("PID 6 - process\nTID 6:\n#0 0x1 main\n"),
            "TID 6:\n#0 0x1 main\n");
}

TEST(Stacks, AreNotThereIfTheDebuggerSaysWhy) {
  const std::string refused = "ptrace: Operation not permitted.\n";
  EXPECT_EQ(without_remarks(refused), refused);
}

TEST(Stacks, NeedADebugger) {
  EXPECT_TRUE(debugger_command("6", {{"PATH", "/nowhere"}}).empty());
}

}  // namespace
}  // namespace hvd::launcher
