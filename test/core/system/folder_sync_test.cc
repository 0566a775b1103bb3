// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/system/folder_sync.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "test/support/temporary_folder.h"

namespace hvd {
namespace {

TEST(FolderSync, WorksOnARenamedFolder) {
  const TemporaryFolder parent;
  const std::string folder = parent.path() + "/a";
  std::filesystem::create_directory(folder);
  const FolderSync opened(folder);
  std::filesystem::rename(folder, parent.path() + "/b");
  EXPECT_EQ(opened.sync(), 0);
}

TEST(FolderSync, ReportsAMissingFolder) {
  const TemporaryFolder parent;
  EXPECT_EQ(FolderSync(parent.path() + "/a").sync(), ENOENT);
}

}  // namespace
}  // namespace hvd
