// Spec: a named choice with numeric parameters, such as
// "adagrad(epsilon=1e-07,initial_accumulator_value=0.1)".
//
// Every part of the system uses the same canonical text for a setting: Python
// passes this text to C++, messages carry it, shards compare it when two
// clients open the same table, and errors show it.
//
// Grammar:
//   spec   = name [ "(" [ param *( "," param ) ] ")" ]
//   param  = name "=" number
//   name   = 1*( a-z / 0-9 / "_" )
//   number = a finite decimal number, such as 1, -0.5 or 1e-07

#ifndef PERSIA_CC_BASE_SPEC_H_
#define PERSIA_CC_BASE_SPEC_H_

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "cc/base/status.h"

namespace persia {

struct Spec {
  std::string name;
  std::map<std::string, double> params;

  static Result<Spec> Parse(std::string_view text);

  // Returns the canonical text: parameters are sorted by name, and numbers are
  // formatted by NumberText.
  std::string ToString() const;

  // Returns InvalidArgument unless every parameter is one of `known`. The error
  // message names the kind of setting as `what`, such as "optimizer".
  Status CheckParams(std::string_view what,
                     std::initializer_list<std::string_view> known) const;

  double Get(const std::string& param, double default_value) const;

  friend bool operator==(const Spec& a, const Spec& b) {
    return a.name == b.name && a.params == b.params;
  }
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_SPEC_H_
