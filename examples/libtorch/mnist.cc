// SPDX-License-Identifier: Apache-2.0
// Trains a small convolutional network on Fashion-MNIST, with libtorch.
//
//   ./mnist [BATCH [STEPS [FOLDER]]]
#include <torch/torch.h>
#include <zlib.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <horovodpp/libtorch.h>

namespace {

using torch::optim::SGD;

// The bytes of a file in the IDX format after its header, which has 4 bytes and
// 4 more for each dimension.
torch::Tensor read_idx(const std::string& path, int dimensions) {
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error("cannot open " + path);
  unsigned char header[16];
  gzread(file, header, 4 + 4 * static_cast<unsigned>(dimensions));
  std::vector<std::int64_t> shape;
  for (int i = 1; i <= dimensions; ++i) {
    const unsigned char* const size = header + 4 * i;
    shape.push_back(size[0] << 24 | size[1] << 16 | size[2] << 8 | size[3]);
  }
  torch::Tensor bytes = torch::empty(shape, torch::kByte);
  const int count =
      gzread(file, bytes.data_ptr(), static_cast<unsigned>(bytes.numel()));
  gzclose(file);
  if (count != bytes.numel()) throw std::runtime_error(path + " is too short");
  return bytes;
}

struct Images {
  explicit Images(const std::string& prefix)
      : pixels(read_idx(prefix + "-images-idx3-ubyte.gz", 3).unsqueeze(1)),
        labels(read_idx(prefix + "-labels-idx1-ubyte.gz", 1)) {}

  torch::Tensor inputs(std::int64_t first, std::int64_t count) const {
    return pixels.narrow(0, first, count).to(torch::kFloat) / 255 - 0.286;
  }
  torch::Tensor targets(std::int64_t first, std::int64_t count) const {
    return labels.narrow(0, first, count).to(torch::kLong);
  }

  torch::Tensor pixels, labels;
};

torch::nn::Sequential make_model() {
  using namespace torch::nn;
  return Sequential(Conv2d(Conv2dOptions(1, 16, 5).padding(2)), ReLU(),
                    MaxPool2d(2), Conv2d(Conv2dOptions(16, 32, 5).padding(2)),
                    ReLU(), MaxPool2d(2), Flatten(), Linear(32 * 7 * 7, 128),
                    ReLU(), Linear(128, 10));
}

}  // namespace

int main(int argc, char** argv) {
  const int batch = argc > 1 ? std::atoi(argv[1]) : 64;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 200;
  const std::string folder =
      argc > 3 ? argv[3] : "/usr/share/datasets/fashion-mnist";
  hvd::libtorch::init();
  torch::manual_seed(1);
  torch::set_num_threads(1);
  const Images train(folder + "/train"), test(folder + "/t10k");
  torch::nn::Sequential model = make_model();
  hvd::libtorch::broadcast_parameters(*model, 0);
  const std::vector<torch::Tensor> parameters = model->parameters();
  hvd::libtorch::DistributedOptimizer optimizer(SGD(parameters, 0.05));

  double seconds = 0;
  for (int step = 0; step < steps; ++step) {
    const int part = step * hvd::libtorch::size() + hvd::libtorch::rank();
    const auto start = std::chrono::steady_clock::now();
    optimizer.zero_grad();
    const torch::Tensor scores =
        model->forward(train.inputs(part * batch, batch));
    torch::cross_entropy_loss(scores, train.targets(part * batch, batch))
        .backward();
    optimizer.step();
    seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();

    const torch::NoGradGuard no_grad;
    const torch::Tensor unseen = model->forward(test.inputs(0, 256));
    const torch::Tensor loss =
        torch::cross_entropy_loss(unseen, test.targets(0, 256));
    std::printf("step %d: loss %.7f\n", step, loss.item<double>());
  }
  std::fprintf(stderr, "%.3f ms a step\n", 1e3 * seconds / steps);
}
