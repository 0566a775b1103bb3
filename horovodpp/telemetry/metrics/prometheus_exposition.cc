// SPDX-License-Identifier: Apache-2.0
#include <netdb.h>
#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/thread/thread_start.h"
#include "horovodpp/telemetry/metrics/exposition.h"

namespace hvd::telemetry {
namespace {

prometheus::MetricType type_of(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricType::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

prometheus::ClientMetric client_metric(const Metric& metric) {
  prometheus::ClientMetric client;
  for (const auto& [name, value] : metric.labels) {
    client.label.push_back({name, value});
  }
  client.counter.value = metric.value;
  client.gauge.value = metric.value;
  client.histogram.sample_sum = metric.value;
  for (const MetricBucket& bucket : metric.buckets) {
    client.histogram.bucket.push_back({bucket.count, bucket.bound});
    client.histogram.sample_count = bucket.count;
  }
  return client;
}

std::vector<prometheus::MetricFamily> families(
    const std::vector<Metric>& metrics) {
  std::vector<prometheus::MetricFamily> all;
  for (const Metric& metric : metrics) {
    if (all.empty() || all.back().name != metric.name) {
      all.push_back({metric.name, metric.help, type_of(metric.type), {}});
    }
    all.back().metric.push_back(client_metric(metric));
  }
  return all;
}

class Collected : public prometheus::Collectable {
 public:
  explicit Collected(std::function<std::vector<Metric>()> collect)
      : collect_(std::move(collect)) {}
  std::vector<prometheus::MetricFamily> Collect() const override {
    return families(collect_());
  }

 private:
  const std::function<std::vector<Metric>()> collect_;
};

// Connects, and closes the connection.
void touch(const std::string& address, int port) {
  addrinfo* found = nullptr;
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(address.c_str(), absl::StrCat(port).c_str(), &wanted,
                    &found) != 0) {
    return;
  }
  const int fd =
      ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0) {
    static_cast<void>(::connect(fd, found->ai_addr, found->ai_addrlen));
    ::close(fd);
  }
  ::freeaddrinfo(found);
}

class HttpServer : public MetricsServer {
 public:
  HttpServer(const std::string& address, int port,
             std::function<std::vector<Metric>()> collect)
      : address_(address),
        port_(port),
        collected_(std::make_shared<Collected>(std::move(collect))),
        exposer_(std::in_place,
                 std::vector<std::string>{"listening_ports",
                                          absl::StrCat(address, ":", port),
                                          "num_threads", "1"}) {
    exposer_->RegisterCollectable(collected_);
  }

  // The server notices its end after two seconds, or after a connection.
  ~HttpServer() override {
    std::atomic<bool> has_ended{false};
    auto waker = start_thread("wakes the server of metrics", [&] {
      while (!has_ended.load()) {
        touch(address_, port_);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
    exposer_.reset();
    has_ended.store(true);
    if (waker.ok()) waker->join();
  }

 private:
  const std::string address_;
  const int port_;
  const std::shared_ptr<Collected> collected_;  // The exposer has a weak one.
  std::optional<prometheus::Exposer> exposer_;
};

}  // namespace

bool has_prometheus() { return true; }

absl::StatusOr<std::string> prometheus_text(
    const std::vector<Metric>& metrics) {
  return prometheus::TextSerializer().Serialize(families(metrics));
}

absl::StatusOr<std::unique_ptr<MetricsServer>> serve_metrics(
    const std::string& address, int port,
    std::function<std::vector<Metric>()> collect) {
  std::unique_ptr<MetricsServer> server;
  std::string failure;
  // The server's threads inherit this thread's blocked signals.
  auto thread = start_thread("starts the server of metrics", [&] {
    try {
      server = std::make_unique<HttpServer>(address, port, std::move(collect));
    } catch (const std::exception& error) {
      failure = error.what();
    }
  });
  if (!thread.ok()) return thread.status();
  thread->join();
  if (server != nullptr) return server;
  return absl::UnavailableError(absl::StrCat(
      "cannot listen at ", address, ":", port, " (", failure,
      "); another program may use the port, or the address is not this "
      "host's"));
}

}  // namespace hvd::telemetry
