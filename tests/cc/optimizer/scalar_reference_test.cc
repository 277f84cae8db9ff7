// Each rule against a plain loop of the same arithmetic, for rows of every
// length up to 67: whole vectors of every width and every remainder.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/cc/optimizer/row_trainer.h"

namespace persia {
namespace {

constexpr size_t kMostWeights = 67;
constexpr size_t kRows = 5;
constexpr float kRate = 0.05f;

// One step of a row.
using Reference = void (*)(float* weights, float* state, const float* gradient,
                           size_t dim);

void Sgd(float* w, float*, const float* g, size_t dim) {
  for (size_t d = 0; d < dim; ++d) w[d] -= g[d] * kRate;
}

void Momentum(float* w, float* v, const float* g, size_t dim) {
  for (size_t d = 0; d < dim; ++d) {
    v[d] = v[d] * 0.9f - g[d] * kRate;
    w[d] += v[d];
  }
}

void Nesterov(float* w, float* v, const float* g, size_t dim) {
  for (size_t d = 0; d < dim; ++d) {
    v[d] = v[d] * 0.9f - g[d] * kRate;
    w[d] += v[d] * 0.9f - g[d] * kRate;
  }
}

void Adagrad(float* w, float* a, const float* g, size_t dim) {
  for (size_t d = 0; d < dim; ++d) {
    a[d] += g[d] * g[d];
    w[d] -= kRate * g[d] / std::sqrt(a[d] + 1e-7f);
  }
}

float Norm(const float* values, size_t dim) {
  double sum = 0;
  for (size_t d = 0; d < dim; ++d) sum += double{values[d]} * values[d];
  return static_cast<float>(std::sqrt(sum));
}

void RowWiseAdagrad(float* w, float* a, const float* g, size_t dim) {
  const float norm = Norm(g, dim);
  *a += norm * norm / static_cast<float>(dim);
  for (size_t d = 0; d < dim; ++d) {
    w[d] -= kRate * g[d] / std::sqrt(*a + 1e-7f);
  }
}

void Average(float* average, float value, double decay) {
  *average += (value - *average) * static_cast<float>(1 - decay);
}

void Adam(float* w, float* state, const float* g, size_t dim) {
  float *m = state, *v = state + dim, *t = state + 2 * dim;
  *t += 1;
  const float alpha =
      kRate * std::sqrt(1 - std::pow(0.999f, *t)) / (1 - std::pow(0.9f, *t));
  for (size_t d = 0; d < dim; ++d) {
    Average(&m[d], g[d], 0.9);
    Average(&v[d], g[d] * g[d], 0.999);
    w[d] -= m[d] * alpha / (std::sqrt(v[d]) + 1e-7f);
  }
}

void Amsgrad(float* w, float* state, const float* g, size_t dim) {
  float *m = state, *v = state + dim, *v_hat = state + 2 * dim;
  float* t = state + 3 * dim;
  *t += 1;
  const float alpha =
      kRate * std::sqrt(1 - std::pow(0.999f, *t)) / (1 - std::pow(0.9f, *t));
  for (size_t d = 0; d < dim; ++d) {
    Average(&m[d], g[d], 0.9);
    Average(&v[d], g[d] * g[d], 0.999);
    v_hat[d] = std::max(v_hat[d], v[d]);
    w[d] -= m[d] * alpha / (std::sqrt(v_hat[d]) + 1e-7f);
  }
}

void Adamw(float* w, float* state, const float* g, size_t dim) {
  for (size_t d = 0; d < dim; ++d) w[d] -= w[d] * 0.004f * kRate;
  Adam(w, state, g, dim);
}

void Rmsprop(float* w, float* v, const float* g, size_t dim) {
  const float rest = static_cast<float>(1 - 0.9);
  for (size_t d = 0; d < dim; ++d) {
    v[d] = 0.9f * v[d] + rest * (g[d] * g[d]);
    w[d] -= kRate * g[d] / std::sqrt(v[d] + 1e-7f);
  }
}

void CenteredRmsprop(float* w, float* state, const float* g, size_t dim) {
  float *v = state, *move = state + dim, *mean = state + 2 * dim;
  for (size_t d = 0; d < dim; ++d) {
    v[d] = 0.5f * v[d] + 0.5f * (g[d] * g[d]);
    mean[d] = 0.5f * mean[d] + 0.5f * g[d];
    const float variance = std::max(v[d] - mean[d] * mean[d], 0.0f);
    move[d] = 0.8f * move[d] + kRate * g[d] / std::sqrt(variance + 1e-3f);
    w[d] -= move[d];
  }
}

void Ftrl(float* w, float* state, const float* g, size_t dim) {
  float *n = state, *z = state + dim;
  for (size_t d = 0; d < dim; ++d) {
    const float before = std::sqrt(n[d]);
    n[d] += g[d] * g[d];
    const float after = std::sqrt(n[d]);
    z[d] += g[d] + 0.2f * w[d] - (after - before) / kRate * w[d];
    const float clipped = std::min(std::max(z[d], -0.3f), 0.3f);
    const float twice_l2 = 2 * (0.5f + 0.25f / (2 * kRate));
    w[d] = (clipped - z[d]) / (after / kRate + twice_l2);
  }
}

void Lamb(float* w, float* state, const float* g, size_t dim) {
  float *m = state, *v = state + dim, *t = state + 2 * dim;
  *t += 1;
  std::vector<float> u(dim);
  for (size_t d = 0; d < dim; ++d) {
    Average(&m[d], g[d], 0.9);
    Average(&v[d], g[d] * g[d], 0.999);
    u[d] = m[d] / (1 - std::pow(0.9f, *t)) /
           (std::sqrt(v[d] / (1 - std::pow(0.999f, *t))) + 1e-7f);
  }
  const float trust = Norm(w, dim) / Norm(u.data(), dim);
  for (size_t d = 0; d < dim; ++d) w[d] -= trust * kRate * u[d];
}

void ClippedNorm(float* w, float*, const float* g, size_t dim) {
  const float norm = std::max(Norm(g, dim), 0.75f);
  for (size_t d = 0; d < dim; ++d) w[d] -= g[d] * 0.75f / norm * kRate;
}

void ClippedValueAndBound(float* w, float*, const float* g, size_t dim) {
  for (size_t d = 0; d < dim; ++d) {
    w[d] -= std::min(std::max(g[d], -0.5f), 0.5f) * kRate;
    w[d] = std::min(std::max(w[d], -0.4f), 0.4f);
  }
}

struct Case {
  const char* optimizer;
  Reference reference;
  // 0 if all bits must be equal. Rules that sum over a row may round
  // differently.
  float tolerance;
};

class ScalarReference : public ::testing::TestWithParam<Case> {};

float SomeFloat(size_t step, size_t row, size_t d) {
  return std::sin(static_cast<float>(1 + 7 * step + 131 * row + 17 * d));
}

// Rows with their state behind their weights, as in a table.
struct Rows {
  Rows(const Optimizer& optimizer, size_t dim)
      : dim(dim), stride(dim + optimizer.state_size(dim)) {
    floats.resize(kRows * stride);
    for (size_t i = 0; i < kRows; ++i) {
      weights.push_back(&floats[i * stride]);
      states.push_back(weights[i] + dim);
      optimizer.InitState(states[i], dim);
      for (size_t d = 0; d < dim; ++d) weights[i][d] = SomeFloat(9, i, d);
    }
  }

  const size_t dim, stride;
  std::vector<float> floats;
  std::vector<float*> weights, states;
};

void ExpectSameRows(const Rows& got, const Rows& expected, float tolerance) {
  for (size_t i = 0; i < got.floats.size(); ++i) {
    if (tolerance == 0) {
      ASSERT_EQ(got.floats[i], expected.floats[i])
          << "dim " << got.dim << ", float " << i;
    } else {
      ASSERT_NEAR(got.floats[i], expected.floats[i], tolerance)
          << "dim " << got.dim << ", float " << i;
    }
  }
}

TEST_P(ScalarReference, IsWhatTheRuleComputes) {
  const auto optimizer = OptimizerOf(GetParam().optimizer);
  ASSERT_TRUE(optimizer.ok()) << optimizer.status().message();
  for (size_t dim = 1; dim <= kMostWeights; ++dim) {
    Rows got(**optimizer, dim), expected(**optimizer, dim);
    for (size_t step = 0; step < 4; ++step) {
      std::vector<float> gradients(kRows * dim);
      std::vector<const float*> row_gradients;
      for (size_t i = 0; i < kRows; ++i) {
        float* const gradient = &gradients[i * dim];
        row_gradients.push_back(gradient);
        for (size_t d = 0; d < dim; ++d) gradient[d] = SomeFloat(step, i, d);
        GetParam().reference(expected.weights[i], expected.states[i], gradient,
                             dim);
      }
      (*optimizer)
          ->Update({got.weights.data(), got.states.data(), row_gradients.data(),
                    kRows, dim, kRate});
    }
    ExpectSameRows(got, expected, GetParam().tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllRules, ScalarReference,
    ::testing::Values(
        Case{"sgd", Sgd, 0}, Case{"sgd(momentum=0.9)", Momentum, 0},
        Case{"sgd(momentum=0.9,nesterov=1)", Nesterov, 0},
        Case{"adagrad", Adagrad, 0},
        Case{"rowwise_adagrad", RowWiseAdagrad, 1e-6f}, Case{"adam", Adam, 0},
        Case{"adam(amsgrad=1)", Amsgrad, 0}, Case{"adamw", Adamw, 0},
        Case{"rmsprop", Rmsprop, 0},
        Case{"rmsprop(rho=0.5,momentum=0.8,epsilon=0.001,centered=1)",
             CenteredRmsprop, 0},
        Case{"ftrl(l1_regularization_strength=0.3,"
             "l2_regularization_strength=0.5,"
             "l2_shrinkage_regularization_strength=0.1,beta=0.25)",
             Ftrl, 0},
        Case{"lamb", Lamb, 1e-6f},
        Case{"sgd(clipnorm=0.75)", ClippedNorm, 1e-6f},
        Case{"sgd(clipvalue=0.5,weight_bound=0.4)", ClippedValueAndBound, 0}),
    [](const auto& rule) { return "Case" + std::to_string(rule.index); });

}  // namespace
}  // namespace persia
