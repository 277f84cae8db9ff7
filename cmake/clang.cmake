# Compiles with Clang, which libFuzzer is part of: $CXX if that is a Clang, else the
# newest on PATH. Debian's programs have their version in their name.
if(NOT "$ENV{CXX}" MATCHES "clang")
  set(names)
  foreach(version RANGE 30 11 -1)
    list(APPEND names clang++-${version})
  endforeach()
  find_program(PERSIA_CLANG NAMES ${names} clang++ NO_CACHE)
  if(NOT PERSIA_CLANG)
    message(FATAL_ERROR "fuzzing needs Clang, which is not here: make clang")
  endif()
  set(CMAKE_CXX_COMPILER ${PERSIA_CLANG})
endif()
