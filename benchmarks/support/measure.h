// Clocks, threads, medians, and the lines that a part prints.

#ifndef PERSIA_BENCHMARKS_SUPPORT_MEASURE_H_
#define PERSIA_BENCHMARKS_SUPPORT_MEASURE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace persia::bench {

// Seconds on a clock that never goes back.
double Now();

// Handles one request as one thread; returns how many rows it had.
using Body = std::function<size_t(int thread)>;

// Rows a second of `threads` threads that start together and call `body` for
// about `seconds`: all their rows over the time from the start to the last end.
double RowsPerSecond(int threads, double seconds, const Body& body);

// Calls body(thread) once in each thread.
void OnThreads(int threads, const std::function<void(int)>& body);

double Median(std::vector<double> values);

// Of each place, numerators[i] / denominators[i]: what ran side by side is
// compared with each other, so that a slow phase of the machine is in both.
std::vector<double> Ratios(const std::vector<double>& numerators,
                           const std::vector<double>& denominators);

// Waits until the kernel joins no more small pages of this process to huge
// ones, as it does for a while after memory grew fast; a minute at most.
void WaitForHugePages();

// Bytes of this process in memory.
double ResidentBytes();

// Prints {"part": ..., "figures": {...}} on a line of its own.
using Figures = std::vector<std::pair<std::string, double>>;
void Print(const std::string& part, const Figures& figures);

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_SUPPORT_MEASURE_H_
