// Clocks, threads, medians, and the lines that a part prints.

#ifndef PERSIA_BENCHMARKS_SUPPORT_MEASURE_H_
#define PERSIA_BENCHMARKS_SUPPORT_MEASURE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace persia::bench {

// Seconds on a monotonic clock.
double Now();

// Handles one request on behalf of a thread; returns its number of rows.
using Body = std::function<size_t(int thread)>;

// Rows per second of `threads` threads that start together and call `body` for
// about `seconds`: the rows of all threads, over the time until the last thread
// ends.
double RowsPerSecond(int threads, double seconds, const Body& body);

// Calls body(thread) once in each thread.
void OnThreads(int threads, const std::function<void(int)>& body);

double Median(std::vector<double> values);

// Returns numerators[i] / denominators[i] for each i: compares what ran side by
// side, so that a slow phase of the machine affects both.
std::vector<double> Ratios(const std::vector<double>& numerators,
                           const std::vector<double>& denominators);

// Waits, at most a minute, until the kernel has stopped merging small pages of
// this process into huge ones, as it does for a while after memory grew fast.
void WaitForHugePages();

// The resident memory of this process, in bytes.
double ResidentBytes();

// Prints {"part": ..., "figures": {...}} on a line of its own.
using Figures = std::vector<std::pair<std::string, double>>;
void Print(const std::string& part, const Figures& figures);

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_SUPPORT_MEASURE_H_
