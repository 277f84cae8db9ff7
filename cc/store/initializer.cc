#include "cc/store/initializer.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "cc/base/hash.h"
#include "cc/base/param_check.h"
#include "cc/store/random.h"

namespace persia {
namespace {

// Bounds the parameters, so that every weight that a distribution yields is a
// finite float32.
constexpr double kMaxMagnitude = 1e30;

class Constant : public Initializer {
 public:
  explicit Constant(double value) : value_(static_cast<float>(value)) {}

  void Fill(uint64_t, int64_t, float* weights, size_t dim) const override {
    std::fill_n(weights, dim, value_);
  }

 private:
  const float value_;
};

void FillUniform(RandomStream random, double low, double high, float* weights,
                 size_t dim) {
  for (size_t d = 0; d < dim; ++d) {
    weights[d] = static_cast<float>(low + (high - low) * random.Uniform());
  }
}

class Uniform : public Initializer {
 public:
  Uniform(double low, double high) : low_(low), high_(high) {}

  void Fill(uint64_t table_seed, int64_t id, float* weights,
            size_t dim) const override {
    FillUniform(RandomStream(table_seed, id), low_, high_, weights, dim);
  }

 private:
  const double low_;
  const double high_;
};

class GlorotUniform : public Initializer {
 public:
  void Fill(uint64_t table_seed, int64_t id, float* weights,
            size_t dim) const override {
    const double limit = std::sqrt(6.0 / (1.0 + static_cast<double>(dim)));
    FillUniform(RandomStream(table_seed, id), -limit, limit, weights, dim);
  }
};

class Normal : public Initializer {
 public:
  // Redraws values beyond `truncate_at` standard deviations.
  Normal(double mean, double stddev, double truncate_at)
      : mean_(mean), stddev_(stddev), truncate_at_(truncate_at) {}

  void Fill(uint64_t table_seed, int64_t id, float* weights,
            size_t dim) const override {
    RandomStream random(table_seed, id);
    for (size_t d = 0; d < dim; ++d) {
      double z = random.Normal();
      while (std::abs(z) > truncate_at_) z = random.Normal();
      weights[d] = static_cast<float>(mean_ + stddev_ * z);
    }
  }

 private:
  const double mean_;
  const double stddev_;
  const double truncate_at_;
};

// The parameter, or an error unless it lies within [low, kMaxMagnitude].
Result<double> Get(const Spec& spec, const std::string& param,
                   double default_value, double low = -kMaxMagnitude) {
  const double value = spec.Get(param, default_value);
  PERSIA_RETURN_IF_ERROR(CheckParam(
      value >= low && value <= kMaxMagnitude, "initializer", spec, param, value,
      Concat("between ", low, " and ", kMaxMagnitude)));
  return value;
}

using MadeInitializer = Result<std::unique_ptr<Initializer>>;

template <typename T, typename... Args>
MadeInitializer Make(Args... args) {
  return std::unique_ptr<Initializer>(std::make_unique<T>(args...));
}

MadeInitializer MakeFixed(const Spec& spec, double value) {
  PERSIA_RETURN_IF_ERROR(spec.CheckParams("initializer", {}));
  return Make<Constant>(value);
}

MadeInitializer MakeConstant(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(spec.CheckParams("initializer", {"value"}));
  const Result<double> value = Get(spec, "value", 0);
  if (!value.ok()) return value.status();
  return Make<Constant>(*value);
}

MadeInitializer MakeUniform(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(spec.CheckParams("initializer", {"minval", "maxval"}));
  const Result<double> low = Get(spec, "minval", -0.05);
  if (!low.ok()) return low.status();
  const Result<double> high = Get(spec, "maxval", 0.05);
  if (!high.ok()) return high.status();
  PERSIA_RETURN_IF_ERROR(
      CheckParam(*low <= *high, "initializer", spec, "minval", *low,
                 "at most maxval, which is " + NumberText(*high)));
  return Make<Uniform>(*low, *high);
}

MadeInitializer MakeNormal(const Spec& spec, double truncate_at) {
  PERSIA_RETURN_IF_ERROR(spec.CheckParams("initializer", {"mean", "stddev"}));
  const Result<double> mean = Get(spec, "mean", 0);
  if (!mean.ok()) return mean.status();
  const Result<double> stddev = Get(spec, "stddev", 0.05, 0);
  if (!stddev.ok()) return stddev.status();
  return Make<Normal>(*mean, *stddev, truncate_at);
}

MadeInitializer MakeGlorotUniform(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(spec.CheckParams("initializer", {}));
  return Make<GlorotUniform>();
}

}  // namespace

uint64_t TableSeed(std::string_view table_name, uint64_t seed) {
  // The two hashes are nested, so that different pairs of name and seed do not
  // cancel out to the same result.
  return Mix64(HashName(table_name) + Mix64(seed));
}

Result<std::unique_ptr<Initializer>> MakeInitializer(const Spec& spec) {
  if (spec.name == "zeros") return MakeFixed(spec, 0);
  if (spec.name == "ones") return MakeFixed(spec, 1);
  if (spec.name == "constant") return MakeConstant(spec);
  if (spec.name == "uniform") return MakeUniform(spec);
  if (spec.name == "normal") return MakeNormal(spec, HUGE_VAL);
  if (spec.name == "truncated_normal") return MakeNormal(spec, 2);
  if (spec.name == "glorot_uniform") return MakeGlorotUniform(spec);
  return InvalidArgument(
      "initializer must be zeros, ones, constant, uniform, normal, "
      "truncated_normal or glorot_uniform, received \"",
      spec.name, "\"");
}

}  // namespace persia
