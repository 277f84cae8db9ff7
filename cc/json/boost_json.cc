// Boost.JSON itself: it is headers, and one file of those that use it has its
// definitions.

#include <boost/json/src.hpp>
