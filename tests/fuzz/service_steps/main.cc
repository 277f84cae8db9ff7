// Runs random programs of steps, one after the other: the programs that
// service_fuzz runs, but under any sanitizer, and without libFuzzer.
//
//   service_steps [--steps=N] [--seed=S] [--length=N] [--hang=SECONDS]
//   service_steps --threads [...]   ... of threads at once: see threads.h
//   service_steps FILE              runs the program in the file
//   service_steps --shrink FILE     makes it shorter, as long as it fails
//
// With --no-expiry and --no-refused-memory, programs have no table whose rows
// expire, and no table that is too large. So one can search for further
// failures than those that were found with them.
//
// The program that is running is in the file service_steps-S.program.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/service/program.h"
#include "tests/fuzz/service/require.h"
#include "tests/fuzz/service/world.h"
#include "tests/fuzz/service_steps/shrink.h"
#include "tests/fuzz/service_steps/threads.h"

namespace persia {
namespace {

constexpr unsigned kHangSeconds = 300;

struct Options {
  uint64_t steps = 100000;
  uint64_t seed = 1;
  uint64_t length = 150;
  bool shrinks = false;
  bool threads = false;
  std::string file;
  // The program's own name and the options that its children get too.
  std::vector<std::string> same;
};

bool Take(const char* argument, const char* name, uint64_t* value) {
  const size_t size = std::strlen(name);
  if (std::strncmp(argument, name, size) != 0) return false;
  *value = std::strtoull(argument + size, nullptr, 10);
  return true;
}

bool TakeAllowance(const char* argument) {
  Allowances* const all = allowances();
  if (std::strcmp(argument, "--remove-any-checkpoint") == 0) {
    all->keeps_restored_checkpoints = false;
    return true;
  }
  if (std::strcmp(argument, "--repeat-any-drop") == 0) {
    all->repeats_no_drop_after_an_end = false;
    return true;
  }
  const std::pair<const char*, bool*> flags[] = {
      {"--no-expiry", &all->no_expiry},
      {"--no-refused-memory", &all->no_refused_memory}};
  for (const auto& [name, flag] : flags) {
    if (std::strcmp(argument, name) == 0) return *flag = true;
  }
  return false;
}

Options OptionsOf(int argc, char** argv) {
  Options options;
  options.same = {argv[0], "--hang=4"};
  for (int i = 1; i < argc; ++i) {
    if (Take(argv[i], "--steps=", &options.steps)) continue;
    if (Take(argv[i], "--seed=", &options.seed)) continue;
    if (Take(argv[i], "--length=", &options.length)) continue;
    uint64_t hang = 0;
    if (Take(argv[i], "--hang=", &hang)) {
      HangTime() = std::chrono::seconds(hang);
      continue;
    }
    if (std::strcmp(argv[i], "--shrink") == 0) {
      options.shrinks = true;
      continue;
    }
    if (std::strcmp(argv[i], "--threads") == 0) {
      options.threads = true;
      continue;
    }
    if (TakeAllowance(argv[i])) {
      options.same.push_back(argv[i]);
      continue;
    }
    options.file = argv[i];
  }
  return options;
}

Program ReadProgram(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return Program((std::istreambuf_iterator<char>(file)),
                 std::istreambuf_iterator<char>());
}

void Write(const Program& program, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(program.data()),
             static_cast<std::streamsize>(program.size()));
}

void OnAlarm(int) {
  std::fprintf(stderr, "a program of steps hangs:\n");
  PrintTrace();
  std::abort();
}

// Returns the failure of a run in a process of its own, without its numbers; ""
// if it does not fail. `same` is the beginning of its command line.
std::string FailureApart(const std::vector<std::string>& same,
                         const std::string& path) {
  const std::string told = path + ".told";
  const pid_t child = ::fork();
  if (child == 0) {
    const int file = ::open(told.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(file, 1);
    ::dup2(file, 2);
    std::vector<char*> arguments;
    for (const std::string& argument : same) {
      arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments.push_back(const_cast<char*>(path.c_str()));
    arguments.push_back(nullptr);
    ::execv("/proc/self/exe", arguments.data());
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::string failure = status == 0 ? "" : "?";
  std::ifstream lines(told);
  for (std::string line; status != 0 && std::getline(lines, line);) {
    if (line.find("does not hold") == std::string::npos &&
        line.find("Sanitizer: ") == std::string::npos) {
      continue;
    }
    failure.clear();
    // Paths and numbers are left out, since they differ between runs.
    for (const char c : line.substr(0, std::min<size_t>(80, line.find(" /")))) {
      if (c < '0' || c > '9') failure += c;
    }
    break;
  }
  (void)::unlink(told.c_str());
  return failure;
}

int ShrinkFile(const std::vector<std::string>& same, const std::string& path) {
  const std::string tried = path + ".tried";
  const std::string wanted = FailureApart(same, path);
  if (wanted.empty()) {
    std::fprintf(stderr, "%s does not fail\n", path.c_str());
    return 1;
  }
  const auto fails = [&](const Program& program) {
    Write(program, tried);
    return FailureApart(same, tried) == wanted;
  };
  const Program program = Shrink(ReadProgram(path), fails);
  (void)::unlink(tried.c_str());
  Write(program, path + ".shrunk");
  std::printf("%s.shrunk has %zu steps\n", path.c_str(),
              (program.size() - kSettingsBytes) / kStepBytes);
  std::fflush(stdout);
  RunProgram(program);
  return 0;
}

// Runs one program, or rounds of threads; returns the number of steps.
uint64_t RunOne(const Options& options, uint64_t number) {
  const uint64_t seed = options.seed * 1000003 + number;
  if (options.threads) return RunThreads(seed);
  std::mt19937_64 random(seed);
  const Program program = RandomProgram(&random, options.length);
  Write(program, Concat("service_steps-", options.seed, ".program"));
  RunProgram(program);
  return options.length;
}

int RunRandom(const Options& options) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  uint64_t done = 0;
  for (uint64_t number = 0; done < options.steps; ++number) {
    BeforeFailing([=] {
      std::fprintf(stderr, "after %llu steps, in program %llu:\n",
                   static_cast<unsigned long long>(done),
                   static_cast<unsigned long long>(number));
    });
    ::alarm(kHangSeconds);
    done += RunOne(options, number);
  }
  ::alarm(0);
  const double seconds =
      std::chrono::duration<double>(Clock::now() - begin).count();
  std::printf("%llu steps in %.1f s, %.0f a second: no defect\n",
              static_cast<unsigned long long>(done), seconds,
              static_cast<double>(done) / seconds);
  return 0;
}

}  // namespace
}  // namespace persia

int main(int argc, char** argv) {
  const persia::Options options = persia::OptionsOf(argc, argv);
  std::signal(SIGALRM, &persia::OnAlarm);
  persia::TraceFindings();
  if (options.shrinks) return persia::ShrinkFile(options.same, options.file);
  if (!options.file.empty()) {
    ::alarm(persia::kHangSeconds);
    persia::RunProgram(persia::ReadProgram(options.file));
    return 0;
  }
  return persia::RunRandom(options);
}

// A table with a filter that is too large must be an error, whatever used up
// memory.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=64";
}
