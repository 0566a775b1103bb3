#include "horovodpp/transport/doorbell.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <thread>

#include "test/transport/child_process.h"

namespace hvd::transport {
namespace {

constexpr std::chrono::nanoseconds kForEver(-1);

// What the two sides of a bell share.
struct Shared {
  Doorbell ping;
  Doorbell pong;
  std::atomic<int> pings{0};
  std::atomic<int> pongs{0};
};

void wait_for(std::atomic<int>& count, int goal, Doorbell& bell) {
  while (count.load() < goal) {
    const auto ticket = bell.listen();
    if (count.load() < goal) bell.sleep(ticket, kForEver);
    bell.leave();
  }
}

void serve(Shared& shared, int rounds) {
  for (int i = 1; i <= rounds; ++i) {
    wait_for(shared.pings, i, shared.ping);
    shared.pongs.store(i);
    shared.pong.ring();
  }
}

void play(Shared& shared, int rounds) {
  for (int i = 1; i <= rounds; ++i) {
    shared.pings.store(i);
    shared.ping.ring();
    wait_for(shared.pongs, i, shared.pong);
  }
}

TEST(Doorbell, LosesNoRingBetweenThreads) {
  Shared shared;
  std::thread server([&] { serve(shared, 5000); });
  play(shared, 5000);
  server.join();
  EXPECT_EQ(shared.pongs.load(), 5000);
}

TEST(Doorbell, LosesNoRingBetweenProcesses) {
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  // Zeros are a silent bell: nobody constructs it.
  Shared& shared = *static_cast<Shared*>(memory);
  ChildProcess child([&] {
    serve(shared, 5000);
    return 0;
  });
  play(shared, 5000);
  EXPECT_EQ(child.exit_code(), 0);
  ::munmap(memory, sizeof(Shared));
}

TEST(Doorbell, WakesEverySleeper) {
  Doorbell bell;
  std::atomic<int> flag = 0;
  std::vector<std::thread> sleepers;
  for (int i = 0; i < 4; ++i) {
    sleepers.emplace_back([&] { wait_for(flag, 1, bell); });
  }
  flag.store(1);
  bell.ring();
  for (std::thread& sleeper : sleepers) sleeper.join();
}

TEST(Doorbell, ARingAfterListeningEndsTheSleepBeforeItBegins) {
  Doorbell bell;
  const auto ticket = bell.listen();
  bell.ring();
  bell.sleep(ticket, kForEver);
  bell.leave();
}

TEST(Doorbell, PatienceEnds) {
  Doorbell bell;
  const auto ticket = bell.listen();
  bell.sleep(ticket, std::chrono::milliseconds(1));
  bell.sleep(ticket, std::chrono::nanoseconds(0));
  bell.leave();
}

TEST(Doorbell, ZerosAreASilentBell) {
  alignas(Doorbell) unsigned char memory[sizeof(Doorbell)] = {};
  Doorbell fresh;
  EXPECT_EQ(std::memcmp(memory, &fresh, 8), 0);
}

}  // namespace
}  // namespace hvd::transport
