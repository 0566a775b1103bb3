// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/memory/slab.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace hvd {
namespace {

constexpr std::size_t kObjectBytes = 1000;

TEST(Slab, GivesEachObjectItsOwnMemory) {
  Slab slab;
  std::vector<char*> objects;
  // Several slabs; the last ones are huge pages.
  for (int i = 0; i < 9000; ++i) {
    objects.push_back(static_cast<char*>(slab.take(kObjectBytes)));
    std::memset(objects.back(), i % 128, kObjectBytes);
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    EXPECT_EQ(objects[i][0], static_cast<char>(i % 128));
    EXPECT_EQ(objects[i][kObjectBytes - 1], static_cast<char>(i % 128));
  }
}

TEST(Slab, ReusesFreedObjects) {
  Slab slab;
  std::set<void*> first;
  for (int i = 0; i < 100; ++i) first.insert(slab.take(kObjectBytes));
  for (void* const object : first) slab.give_back(object, kObjectBytes);
  for (int i = 0; i < 100; ++i) {
    void* const again = slab.take(kObjectBytes);
    EXPECT_EQ(first.erase(again), 1u);
    std::memset(again, 1, kObjectBytes);
  }
}

struct SlabObject {
  explicit SlabObject(int* count) : alive(count) { ++*alive; }
  ~SlabObject() { --*alive; }
  int* const alive;
  char more[200] = {};
};

TEST(Slab, LivesAsLongAsItsObjects) {
  int alive = 0;
  std::vector<std::shared_ptr<SlabObject>> objects;
  {
    const auto slab = std::make_shared<Slab>();
    for (int i = 0; i < 100; ++i) {
      objects.push_back(std::allocate_shared<SlabObject>(
          SlabAllocator<SlabObject>(slab), &alive));
    }
    objects.erase(objects.begin(), objects.begin() + 50);
    EXPECT_EQ(alive, 50);
  }
  for (const auto& object : objects) EXPECT_EQ(object->alive, &alive);
  objects.clear();
  EXPECT_EQ(alive, 0);
}

TEST(Slab, ServesSeveralThreads) {
  const auto slab = std::make_shared<Slab>();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      int alive = 0;
      for (int round = 0; round < 20; ++round) {
        std::vector<std::shared_ptr<SlabObject>> objects;
        for (int i = 0; i < 50; ++i) {
          objects.push_back(std::allocate_shared<SlabObject>(
              SlabAllocator<SlabObject>(slab), &alive));
        }
        EXPECT_EQ(alive, 50);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hvd
