// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/binary/binary_ops.h"

#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/ops/binary/binary_formulas.h"
#include "horovodpp/ops/binary/binary_loop.h"
#include "horovodpp/ops/binary/logic_ops.h"
#include "horovodpp/ops/binary/recorded_binary.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace autograd {
namespace {

// dz where `condition`, else 0.
Tensor kept(const Tensor& condition, const Tensor& dz) {
  return where(condition, dz, 0.0);
}
// dz where a is chosen, dz / 2 where a equals b, else 0.
Tensor kept_or_shared(const Tensor& beaten, const Tensor& equal,
                      const Tensor& dz) {
  return where(beaten, zeros({}, {.dtype = dz.dtype()}),
               where(equal, mul(dz, 0.5), dz));
}

struct Maximum : formulas::Maximum {
  static constexpr PairId kVector = PairId::kMaximum;
  static constexpr const char* kNode = "MaximumBackward";
  static constexpr unsigned kFirst = kA | kB;
  static constexpr unsigned kSecond = kA | kB;
  static Tensor first(const Tensor& dz, const Saved& x) {
    return kept_or_shared(lt(x.a, x.b), eq(x.a, x.b), dz);
  }
  static Tensor second(const Tensor& dz, const Saved& x) {
    return kept_or_shared(gt(x.a, x.b), eq(x.a, x.b), dz);
  }
};
struct Minimum : formulas::Minimum {
  static constexpr PairId kVector = PairId::kMinimum;
  static constexpr const char* kNode = "MinimumBackward";
  static constexpr unsigned kFirst = kA | kB;
  static constexpr unsigned kSecond = kA | kB;
  static Tensor first(const Tensor& dz, const Saved& x) {
    return kept_or_shared(gt(x.a, x.b), eq(x.a, x.b), dz);
  }
  static Tensor second(const Tensor& dz, const Saved& x) {
    return kept_or_shared(lt(x.a, x.b), eq(x.a, x.b), dz);
  }
};

// Whether a wins: unless b does, which is a number.
struct Fmax : formulas::Fmax {
  static constexpr PairId kVector = PairId::kFmax;
  static constexpr const char* kNode = "FmaxBackward";
  static constexpr unsigned kFirst = kA | kB;
  static constexpr unsigned kSecond = kA | kB;
  static Tensor wins(const Tensor& a, const Tensor& b) {
    return logical_or(ge(a, b), ne(b, b));
  }
  static Tensor first(const Tensor& dz, const Saved& x) {
    return kept(wins(x.a, x.b), dz);
  }
  static Tensor second(const Tensor& dz, const Saved& x) {
    return kept(logical_not(wins(x.a, x.b)), dz);
  }
};
struct Fmin : formulas::Fmin {
  static constexpr PairId kVector = PairId::kFmin;
  static constexpr const char* kNode = "FminBackward";
  static constexpr unsigned kFirst = kA | kB;
  static constexpr unsigned kSecond = kA | kB;
  static Tensor wins(const Tensor& a, const Tensor& b) {
    return logical_or(le(a, b), ne(b, b));
  }
  static Tensor first(const Tensor& dz, const Saved& x) {
    return kept(wins(x.a, x.b), dz);
  }
  static Tensor second(const Tensor& dz, const Saved& x) {
    return kept(logical_not(wins(x.a, x.b)), dz);
  }
};

// z = a - b q, with a constant quotient q:  da = dz,  db = -dz q
struct Remainder : formulas::Remainder {
  static constexpr PairId kVector = PairId::kRemainder;
  static constexpr const char* kNode = "RemainderBackward";
  static constexpr unsigned kFirst = kNothing;
  static constexpr unsigned kSecond = kA | kB;
  static Tensor first(const Tensor& dz, const Saved&) { return dz; }
  static Tensor second(const Tensor& dz, const Saved& x) {
    return neg(mul(dz, floor_divide(x.a, x.b)));
  }
};
struct Fmod : formulas::Fmod {
  static constexpr PairId kVector = PairId::kFmod;
  static constexpr const char* kNode = "FmodBackward";
  static constexpr unsigned kFirst = kNothing;
  static constexpr unsigned kSecond = kA | kB;
  static Tensor first(const Tensor& dz, const Saved&) { return dz; }
  static Tensor second(const Tensor& dz, const Saved& x) {
    return neg(mul(
        dz, computed<formulas::TruncatedQuotient>(x.a.detach(), x.b.detach())));
  }
};

// z = a^b:  da = dz b a^(b-1),  db = dz z ln a; 0 where the power is constant
struct Power : formulas::Power {
  static constexpr const char* kNode = "PowBackward";
  static constexpr unsigned kFirst = kA | kB;
  static constexpr unsigned kSecond = kA | kB | kOut;
  static Tensor first(const Tensor& dz, const Saved& x) {
    const Tensor exponent = to(x.b, dz.dtype());
    return where(eq(exponent, 0.0), zeros({}, {.dtype = dz.dtype()}),
                 mul(dz, mul(exponent, pow(x.a, sub(exponent, 1.0)))));
  }
  static Tensor second(const Tensor& dz, const Saved& x) {
    const Tensor base = to(x.a, dz.dtype());
    return where(logical_and(eq(base, 0.0), ge(x.b, 0.0)),
                 zeros({}, {.dtype = dz.dtype()}),
                 mul(dz, mul(x.out, log(base))));
  }
};

// z = the angle of (b, a):  da = dz b / (a^2 + b^2),  db = -dz a / (a^2 + b^2)
struct Atan2 : formulas::Atan2 {
  static constexpr PairId kVector = PairId::kAtan2;
  static constexpr const char* kNode = "Atan2Backward";
  static constexpr unsigned kFirst = kA | kB;
  static constexpr unsigned kSecond = kA | kB;
  static Tensor over_square(const Tensor& dz, const Tensor& a,
                            const Tensor& b) {
    const Tensor x = to(a, dz.dtype()), y = to(b, dz.dtype());
    const Tensor square = add(mul(x, x), mul(y, y));
    return where(eq(square, 0.0), zeros({}, {.dtype = dz.dtype()}),
                 div(dz, square));
  }
  static Tensor first(const Tensor& dz, const Saved& x) {
    return mul(over_square(dz, x.a, x.b), x.b);
  }
  static Tensor second(const Tensor& dz, const Saved& x) {
    return neg(mul(over_square(dz, x.a, x.b), x.a));
  }
};

// z = sqrt(a^2 + b^2):  da = dz a / z,  db = dz b / z
struct Hypot : formulas::Hypot {
  static constexpr PairId kVector = PairId::kHypot;
  static constexpr const char* kNode = "HypotBackward";
  static constexpr unsigned kFirst = kA | kOut;
  static constexpr unsigned kSecond = kB | kOut;
  static Tensor first(const Tensor& dz, const Saved& x) {
    return mul(dz, div(x.a, x.out));
  }
  static Tensor second(const Tensor& dz, const Saved& x) {
    return mul(dz, div(x.b, x.out));
  }
};

struct Quotient : OfFloated {
  static constexpr OperationName kName = "div";
};

}  // namespace
}  // namespace autograd

using autograd::as_operand;
using autograd::recorded_binary;
using autograd::write_result;

Tensor maximum(const Tensor& a, const Tensor& b) {
  return recorded_binary<autograd::Maximum>(a, b);
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  return recorded_binary<autograd::Minimum>(a, b);
}
Tensor fmax(const Tensor& a, const Tensor& b) {
  return recorded_binary<autograd::Fmax>(a, b);
}
Tensor fmin(const Tensor& a, const Tensor& b) {
  return recorded_binary<autograd::Fmin>(a, b);
}

Tensor pow(const Tensor& a, const Tensor& b) {
  return recorded_binary<autograd::Power>(autograd::autocast_wider(a),
                                          autograd::autocast_wider(b));
}
Tensor pow(Scalar a, const Tensor& b) {
  return pow(as_operand(a, b, "pow"), b);
}

Tensor floor_divide(const Tensor& a, const Tensor& b) {
  return autograd::unrecorded_binary<autograd::formulas::FloorDivide>(a, b);
}
Tensor floor_divide(const Tensor& a, Scalar b) {
  return floor_divide(a, as_operand(b, a, "floor_divide"));
}
Tensor remainder(const Tensor& a, const Tensor& b) {
  return recorded_binary<autograd::Remainder>(a, b);
}
Tensor remainder(const Tensor& a, Scalar b) {
  return remainder(a, as_operand(b, a, "remainder"));
}
Tensor fmod(const Tensor& a, const Tensor& b) {
  return recorded_binary<autograd::Fmod>(a, b);
}
Tensor fmod(const Tensor& a, Scalar b) {
  return fmod(a, as_operand(b, a, "fmod"));
}

Tensor atan2(const Tensor& a, const Tensor& b) {
  return recorded_binary<autograd::Atan2>(a, b);
}
Tensor hypot(const Tensor& a, const Tensor& b) {
  return recorded_binary<autograd::Hypot>(a, b);
}

const Tensor& div_(const Tensor& a, const Tensor& b) {
  return write_result<autograd::Quotient>(a, b, div);
}
const Tensor& pow_(const Tensor& a, const Tensor& b) {
  return write_result<autograd::Power>(a, b, recorded_binary<autograd::Power>);
}
const Tensor& floor_divide_(const Tensor& a, const Tensor& b) {
  return write_result<autograd::formulas::FloorDivide>(a, b, floor_divide);
}
const Tensor& remainder_(const Tensor& a, const Tensor& b) {
  return write_result<autograd::Remainder>(a, b, remainder);
}
const Tensor& fmod_(const Tensor& a, const Tensor& b) {
  return write_result<autograd::Fmod>(a, b, fmod);
}
const Tensor& atan2_(const Tensor& a, const Tensor& b) {
  return write_result<autograd::Atan2>(a, b, atan2);
}
const Tensor& hypot_(const Tensor& a, const Tensor& b) {
  return write_result<autograd::Hypot>(a, b, hypot);
}

}  // namespace hvd
