// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/base/memory_ledger.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/tensor/base/storage.h"

namespace hvd::autograd {
namespace {

constexpr std::size_t kBytes = 1000;

TEST(MemoryLedger, ListsWhatLivedAtThePeak) {
  const Ref<Storage> before = Storage::allocate(kBytes);
  MemoryLedger ledger;
  ledger.set_phase("rise");
  const Ref<Storage> stays = Storage::allocate(10 * kBytes);
  Ref<Storage> goes = Storage::allocate(20 * kBytes);
  goes = nullptr;
  ledger.set_phase("fall");
  const Ref<Storage> later = Storage::allocate(5 * kBytes);
  const MemoryLedger::Peak peak = ledger.peak();
  ASSERT_EQ(peak.entries.size(), 2u);
  EXPECT_EQ(peak.entries[0].bytes + peak.entries[1].bytes, 30'000);
  EXPECT_EQ(peak.phase, "rise");
  EXPECT_GE(peak.older_bytes, 1000);
  EXPECT_EQ(peak.bytes, 30'000 + peak.older_bytes);
}

TEST(MemoryLedger, AddsAnOlderStorageWithoutCountingItTwice) {
  const Ref<Storage> before = Storage::allocate(kBytes);
  MemoryLedger ledger;
  const std::uint64_t id = ledger.id_of(before->block());
  EXPECT_EQ(ledger.id_of(before->block()), id);
  const Ref<Storage> more = Storage::allocate(10 * kBytes);
  const MemoryLedger::Peak peak = ledger.peak();
  EXPECT_EQ(peak.entries.size(), 2u);
  EXPECT_EQ(peak.bytes, 11'000 + peak.older_bytes);
}

TEST(MemoryLedger, CountsBorrowedMemoryThatIsAdded) {
  std::vector<char> memory(kBytes);
  MemoryLedger ledger;
  Ref<Storage> borrowed =
      Storage::borrow(memory.data(), kBytes, Device::cpu(), {});
  const std::int64_t before = ledger.peak().bytes;
  ledger.id_of(borrowed->block());
  EXPECT_EQ(ledger.peak().bytes, before + 1000);
  borrowed = nullptr;
  const Ref<Storage> less = Storage::allocate(kBytes / 2);
  EXPECT_EQ(ledger.peak().bytes, before + 1000);
}

TEST(MemoryLedger, KnowsWhoHoldsAStorageForBackward) {
  MemoryLedger ledger;
  const Ref<Storage> storage = Storage::allocate(kBytes);
  MemoryLedger::saved(storage->block(), "first");
  MemoryLedger::saved(storage->block(), "second");
  MemoryLedger::unsaved(storage->block());
  const Ref<Storage> more = Storage::allocate(kBytes);
  for (const MemoryLedger::Entry& entry : ledger.peak().entries) {
    if (entry.id != ledger.id_of(storage->block())) continue;
    EXPECT_EQ(entry.saved, 1);
    EXPECT_EQ(entry.maker, "first");
  }
  MemoryLedger::unsaved(storage->block());
  MemoryLedger::unsaved(storage->block());  // Saved before the ledger began.
}

TEST(MemoryLedger, FollowsAllThreadsAndExistsOnce) {
  std::optional<MemoryLedger> ledger(std::in_place);
  EXPECT_THROW(MemoryLedger(), Error);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([] {
      for (int j = 0; j < 200; ++j) {
        const Ref<Storage> storage = Storage::allocate(kBytes);
        MemoryLedger::saved(storage->block(), "x");
        MemoryLedger::unsaved(storage->block());
      }
    });
  }
  ledger.reset();  // While threads allocate.
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(MemoryLedger::exists());
  const MemoryLedger next;
}

}  // namespace
}  // namespace hvd::autograd
