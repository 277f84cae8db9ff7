# What the native code takes from elsewhere: Boost's headers and TensorFlow's C API from
# Python packages, OpenSSL from the system.

# As Bazel does (bazel/python_environment.bzl): $PERSIA_PYTHON, else the checkout's
# environment, else the one on PATH. scikit-build-core names the one that it runs in.
if(NOT Python_EXECUTABLE)
  if(DEFINED ENV{PERSIA_PYTHON})
    set(Python_EXECUTABLE $ENV{PERSIA_PYTHON})
  elseif(EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
    set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  else()
    set(Python_EXECUTABLE python3)
  endif()
endif()

# Sets `result` to the folder of a Python package.
function(persia_find_package result package)
  execute_process(
    COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/package_folder.py ${package}
    OUTPUT_VARIABLE folder
    OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  set(${result} ${folder} PARENT_SCOPE)
endfunction()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

persia_find_package(boost boost_headers)
add_library(boost INTERFACE IMPORTED)
target_include_directories(boost INTERFACE ${boost}/include)

if(PERSIA_LIBRARIES)
  persia_find_package(tensorflow tensorflow)
  add_library(tensorflow INTERFACE IMPORTED)
  target_include_directories(tensorflow INTERFACE ${tensorflow}/include)
  # No run path: what loads the ops has loaded TensorFlow already.
  target_link_directories(tensorflow INTERFACE ${tensorflow})
  target_link_libraries(tensorflow INTERFACE -l:libtensorflow_framework.so.2)
endif()

# Static, so that it stays hidden: TensorFlow has a TLS library of its own, and so has
# Python.
set(OPENSSL_USE_STATIC_LIBS TRUE)
find_package(OpenSSL QUIET)
if(NOT OPENSSL_FOUND)
  message(FATAL_ERROR
    "the native build needs OpenSSL's headers and static libraries: install libssl-dev")
endif()
