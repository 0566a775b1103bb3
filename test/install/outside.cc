// A program of somebody else's: it knows horovodpp by its installed headers
// only.
#include <horovodpp/horovodpp.h>

#include <cstdio>
#include <exception>

int main() try {
  hvd::throw_if_error(hvd::init());
  hvd::Tensor weight = hvd::ones({3}, {.requires_grad = true});
  (weight * 2).sum().backward();
  const hvd::Tensor gradient = weight.grad();
  hvd::throw_if_error(
      hvd::allreduce_(gradient.tensor_view(), {.name = "weight"}));
  hvd::throw_if_error(hvd::shutdown());
  return gradient.to_vector<float>() == std::vector<float>(3, 2) ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "outside: %s\n", error.what());
  return 1;
}
