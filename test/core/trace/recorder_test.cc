// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/trace/recorder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/core/trace/ticks.h"

namespace hvd::trace {
namespace {

using ::testing::ElementsAre;

std::vector<Event> all_of(const RingReader& reader) {
  std::vector<Event> events;
  const std::uint64_t end = reader.written();
  for (std::uint64_t i = end < kSlots ? 0 : end - kSlots; i < end; ++i) {
    if (const auto event = reader.read(i)) events.push_back(*event);
  }
  return events;
}

TEST(Recorder, KeepsWhatWasWritten) {
  const auto recorder = Recorder::open();
  const Event event = {.ticks = 5,
                       .kind = EventKind::kBatchEntry,
                       .detail = 3,
                       .label = 0xfedc,
                       .name = 0xfedcba98,
                       .value = 0xfedcba9876543210};
  recorder->write(event.kind,
                  {.detail = event.detail,
                   .label = event.label,
                   .name = event.name,
                   .value = event.value},
                  event.ticks);
  EXPECT_THAT(all_of(recorder->reader()), ElementsAre(event));
  EXPECT_EQ(recorder->reader().read(1), std::nullopt);
}

TEST(Recorder, OverwritesTheOldestEvents) {
  const auto recorder = Recorder::open();
  for (std::uint64_t i = 0; i < kSlots + 10; ++i) {
    recorder->write(EventKind::kSubmitted, {.value = i});
  }
  const RingReader reader = recorder->reader();
  EXPECT_EQ(reader.written(), kSlots + 10);
  EXPECT_EQ(reader.read(9), std::nullopt);
  for (std::uint64_t i = 10; i < kSlots + 10; ++i) {
    ASSERT_TRUE(reader.read(i)) << i;
    EXPECT_EQ(reader.read(i)->value, i);
  }
}

TEST(Recorder, NamesAreKeptOnce) {
  const auto recorder = Recorder::open();
  const std::uint32_t one = recorder->name("allreduce", "fc1.weight");
  const std::uint32_t other = recorder->name("broadcast", "fc1.weight");
  EXPECT_NE(one, kNoName);
  EXPECT_NE(one, other);
  EXPECT_EQ(recorder->name("allreduce", "fc1.weight"), one);
  EXPECT_EQ(recorder->reader().name(one), (Name{"allreduce", "fc1.weight"}));
  EXPECT_EQ(recorder->reader().name(other), (Name{"broadcast", "fc1.weight"}));
  const std::uint16_t label = recorder->label("shm");
  EXPECT_EQ(recorder->reader().name(label), (Name{"", "shm"}));
}

TEST(Recorder, NamesWithoutRoomAreUnknown) {
  const auto recorder = Recorder::open();
  const std::string text(1000, 'x');
  const std::uint32_t first = recorder->name("allreduce", "first");
  std::uint32_t number = first;
  for (int i = 0; i < 2000 && number != kNoName; ++i) {
    number = recorder->name("allreduce", text + std::to_string(i));
  }
  EXPECT_EQ(number, kNoName);
  EXPECT_EQ(recorder->reader().name(number), (Name{"", "…"}));
  EXPECT_EQ(recorder->name("allreduce", text), kNoName);
  EXPECT_EQ(recorder->label("of a plane that comes late"), kNoName);
  EXPECT_EQ(recorder->name("allreduce", "first"), first);
}

TEST(Recorder, AReaderSurvivesNumbersThatAreNoNames) {
  const auto recorder = Recorder::open();
  recorder->name("", std::string(64, '\xff'));
  for (const std::uint32_t number : {2u, 5u, 9u, 100u, 0xffffffffu}) {
    EXPECT_EQ(recorder->reader().name(number), (Name{"", "…"})) << number;
  }
}

TEST(Recorder, TimesAreThoseOfTheSteadyClock) {
  const auto recorder = Recorder::open();
  const std::uint64_t before = steady_nanoseconds();
  const std::uint64_t ticks = recorder->now();
  const std::uint64_t after = steady_nanoseconds();
  // A millisecond later, the two moments tell the rate of the counter.
  while (steady_nanoseconds() < after + 1'000'000) {
  }
  const RingReader reader = recorder->reader();
  const SteadyTime clock(reader.began(), Moment::now(reader.by_counter()));
  const std::uint64_t time = clock.at(ticks);
  // The machine may have stopped this thread between two readings.
  const std::uint64_t slack = 10'000 + (after - before);
  EXPECT_GE(time + slack, before);
  EXPECT_LE(time, after + slack);
}

// Every event holds one number three times, so that a mixed one shows. The
// writers go on until the reader has seen enough.
TEST(Recorder, AReaderSeesWholeEventsOfSeveralWriters) {
  constexpr unsigned kWriters = 3;
  constexpr int kEnough = 20'000;
  const auto recorder = Recorder::open();
  std::atomic<bool> has_seen_enough{false};
  std::atomic<std::uint64_t> written{0};
  std::vector<std::thread> writers;
  for (unsigned w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      std::uint64_t i = 0;
      for (; i < kSlots || !has_seen_enough.load(); ++i) {
        const std::uint64_t number = i * kWriters + w;
        recorder->write(
            EventKind::kSubmitted,
            {.name = static_cast<std::uint32_t>(number), .value = number},
            number);
      }
      written.fetch_add(i);
    });
  }
  const RingReader reader = recorder->reader();
  int seen = 0;
  int mixed = 0;
  while (seen < kEnough) {
    const std::uint64_t end = reader.written();
    for (std::uint64_t i = end < 64 ? 0 : end - 64; i < end; ++i) {
      const auto event = reader.read(i);
      if (!event) continue;
      ++seen;
      if (event->kind != EventKind::kSubmitted ||
          event->value != event->ticks ||
          event->name != static_cast<std::uint32_t>(event->value)) {
        ++mixed;
      }
    }
  }
  has_seen_enough.store(true);
  for (std::thread& writer : writers) writer.join();
  // A writer that is suspended for a round of the ring may spoil one.
  EXPECT_LE(mixed, static_cast<int>(kWriters));
  EXPECT_EQ(reader.written(), written.load());
  EXPECT_GE(all_of(reader).size(), kSlots - kWriters);
}

// --- The launcher's memory ---

// A launcher that has made memory for one rank, and maps it.
class LauncherTest : public ::testing::Test {
 protected:
  LauncherTest() : fd_(Recorder::make_memory()) {
    void* const mapped =
        ::mmap(nullptr, kRingBytes, PROT_READ, MAP_SHARED, fd_, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    memory_ = static_cast<std::byte*>(mapped);
  }
  ~LauncherTest() override {
    ::munmap(memory_, kRingBytes);
    ::close(fd_);
  }

  // Runs `rank` in a process of its own; returns its status as of waitpid().
  template <typename F>
  int run(F rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      rank();
      ::_exit(0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
  }

  RingReader reader() const { return RingReader(memory_); }

  const int fd_;
  std::byte* memory_ = nullptr;
};

TEST_F(LauncherTest, ReadsARankThatWasKilled) {
  ASSERT_GE(fd_, 0);
  EXPECT_FALSE(reader().is_readable());
  const int status = run([this] {
    const auto recorder = Recorder::open(fd_);
    recorder->write(EventKind::kSubmitted,
                    {.name = recorder->name("allreduce", "w"), .value = 8});
    ::kill(::getpid(), SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_TRUE(reader().is_readable());
  const std::vector<Event> events = all_of(reader());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].value, 8u);
  EXPECT_EQ(reader().name(events[0].name), (Name{"allreduce", "w"}));
}

TEST_F(LauncherTest, OneRankOfAProcessHasTheMemory) {
  const int status = run([this] {
    auto first = Recorder::open(fd_);
    first->write(EventKind::kSubmitted, {.value = 1});
    const auto second = Recorder::open(fd_);
    second->write(EventKind::kSubmitted, {.value = 2});
    // The rank's next job goes on in the same memory.
    first.reset();
    const auto next = Recorder::open(fd_);
    next->write(EventKind::kSubmitted, {.value = 3});
    // The process needs the descriptor no longer.
    if (::fcntl(fd_, F_GETFD) >= 0) ::_exit(1);
  });
  EXPECT_EQ(status, 0);
  std::vector<std::uint64_t> values;
  for (const Event& event : all_of(reader())) values.push_back(event.value);
  EXPECT_THAT(values, ElementsAre(1, 3));
}

TEST_F(LauncherTest, AProcessLeavesTheMemoryToALivingOne) {
  const int status = run([this] {
    const auto recorder = Recorder::open(fd_);
    recorder->write(EventKind::kSubmitted, {.value = 1});
    // As a rank's child that has inherited the variable and a descriptor.
    const pid_t child = ::fork();
    if (child == 0) {
      const auto other = Recorder::open(fd_);
      other->write(EventKind::kSubmitted, {.value = 2});
      ::_exit(0);
    }
    int ended = -1;
    ::waitpid(child, &ended, 0);
    if (ended != 0) ::_exit(1);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(all_of(reader()).size(), 1u);
}

TEST_F(LauncherTest, AnotherFileUnderTheNumberIsNotTouched) {
  const int small = ::memfd_create("small", 0);
  ASSERT_EQ(::ftruncate(small, 100), 0);
  const int foreign = ::memfd_create("foreign", 0);
  ASSERT_EQ(::ftruncate(foreign, static_cast<off_t>(kRingBytes)), 0);
  const int file = ::open("/dev/null", O_RDWR);
  for (const int fd : {small, foreign, file, -1, 1 << 20}) {
    const int status = run([fd] {
      const auto recorder = Recorder::open(fd);
      recorder->write(EventKind::kSubmitted, {.value = 1});
      if (all_of(recorder->reader()).size() != 1) ::_exit(1);
      if (fd >= 0 && fd < 1000 && ::fcntl(fd, F_GETFD) < 0) ::_exit(2);
    });
    EXPECT_EQ(status, 0) << fd;
  }
  std::vector<char> bytes(kRingBytes, 'x');
  ASSERT_EQ(::pread(foreign, bytes.data(), kRingBytes, 0),
            static_cast<ssize_t>(kRingBytes));
  EXPECT_EQ(bytes, std::vector<char>(kRingBytes, 0));
  for (const int fd : {small, foreign, file}) ::close(fd);
}

}  // namespace
}  // namespace hvd::trace
