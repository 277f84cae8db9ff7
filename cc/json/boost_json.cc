// This file compiles Boost.JSON's function definitions, which exactly one
// source file of a program must include.

#include <boost/json/src.hpp>
