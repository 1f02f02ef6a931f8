// The constants of the cost model of windows (window_cost.h), in about tenths of nanoseconds: of each instruction
// set, with indices and without, and of lanes of 64 bits, which most sets compare slowly.
// tests/native/measure_window_costs.cc fits them to times of random jobs; docs/benchmark/windows.md says how well they
// choose.
#pragma once

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Lines of memory that are read and written, of tensors that leave the second cache.
struct FarCost {
  double input, output;
};
struct RowsCost {
  double line, row, row_vector, slide, gather_round, gathered_vector;
  FarCost far;
};
struct MapsCost {
  double plane;
  double key_row, key_vector, fold;  // rows become keys, then windows
  double line, row, row_vector;      // or windows at once
  double part, slide, slid_vector;   // columns
  double picked, picked_line, turned, gather_round, gathered_vector;
  double second_cache;  // a vector of a map that is too large for the first
  FarCost far;
};
struct PlanesCost {
  double transposed[4];  // a vector of elements of 1, 2, 4 and 8 bytes
  double stored, combined, run, group;
  double second_cache;  // a vector of planes that are too large for the first
  // Of planes of which as many as there are lanes meet in the same lines of a cache, beyond what cells cost.
  double aligned_input, aligned_output;
  FarCost far;
};
struct LookupsCost {
  double line, piece, tap;
  double row, row_vector;  // of each piece
  FarCost far;
};
struct WalksCost {
  double walk, row, line, tap, doubling;
  double strip, strip_row, strip_line, strip_tap;  // that follow positions in their order
  FarCost far;
};
struct PlanCosts {
  RowsCost rows;
  MapsCost maps;
  PlanesCost planes;
  LookupsCost lookups;
  WalksCost walks;
};

template <bool indexed, bool wide>
constexpr PlanCosts kPlanCosts = {};

#if defined(__AVX512BW__)
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {63.8, 9.69, 6.25, 9.04, 2.69, 15.6, {17.5, 1.08}},
    {239, 26.7, 9.87, 5.62, 75.8, 10.7, 9.37, 3.85, 1.67, 16.3, 5.23, 29, 25.9, 20.7, 2.99, 16.3, {16.6, 13.4}},
    {{22.1, 20.9, 17.8, 10.1}, 28.7, 5.3, 7.05, 0, 11.6, 11, 13, {18.7, 57.9}},
    {26.8, 9.73, 8.82, 7.85, 4.67, {14.4, 0}},
    {154, 7.85, 4.4, 4.95, 5.33, 0, 0, 0, 0, {23.1, 15.6}}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {33.3, 23.9, 10.1, 9.36, 6.66, 7.02, {19, 0.555}},
    {107, 10.2, 15.9, 5.11, 42.9, 9.25, 14.7, 7.2, 3.87, 20.5, 2.72, 73.3, 16.1, 15, 5.61, 42.3, {17.9, 33.3}},
    {{18.7, 24.2, 21, 17.6}, 32.2, 4.76, 0.69, 0, 9.98, 6.85, 30.7, {20, 49.1}},
    {34.9, 23, 7.37, 4.94, 10.1, {20.1, 1.09}},
    {126, 11.9, 13.7, 2.89, 5.76, 0, 0, 0, 0, {29.1, 25.8}}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {123, 8.22, 15.5, 20, 3.8, 22.9, {8.73, 17.5}},
    {221, 17.9, 23.1, 19.7, 47.3, 13.9, 18.4, 20.6, 6.66, 68.1, 11.4, 72.7, 100, 17.2, 17.4, 5.8, {12.9, 11.9}},
    {{51.1, 5.16, 24.6, 53.5}, 42.2, 15.6, 0, 0, 10.6, 1.76, 0, {15.5, 69.4}},
    {49.4, 21.9, 22, 9.23, 11, {11.4, 9.52}},
    {234, 18.4, 54.3, 2.23, 11.4, 194, 6.62, 46.2, 9.19, {31.8, 19.9}}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {142, 8.63, 23.1, 12.2, 15.4, 0, {1.36, 33}},
    {177, 0, 37.6, 19, 38.6, 19.7, 23.6, 16.8, 6.76, 50.3, 12.1, 80, 62.3, 15.1, 19.8, 4.34, {15.6, 41.3}},
    {{124, 65.9, 76.4, 25.1}, 28.1, 12.6, 0, 204, 11, 0, 12.4, {3.28, 37.5}},
    {18.6, 26.7, 26.3, 18.8, 22.1, {6.8, 4.53}},
    {220, 25.7, 22.8, 6.55, 11.2, 158, 6.16, 22.1, 24.8, {12.6, 23.6}}};
#elif defined(__AVX2__)
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {45.9, 6.29, 5.42, 2.96, 2.02, 6.68, {6.07, 0.764}},
    {207, 47.5, 8.17, 2.32, 48.3, 7.88, 5.66, 2.21, 1.56, 6.93, 2.41, 7.23, 11.5, 17.1, 2.09, 1.27, {8.16, 5.56}},
    {{11.2, 10.2, 11.4, 0}, 7.09, 2.84, 19.7, 31.1, 5.48, 4.22, 9.63, {8.26, 26.8}},
    {},
    {99.2, 6.75, 8.5, 1.9, 3.39, 0, 0, 0, 0, {12.4, 29.1}}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {58.9, 1.63, 9.37, 3.37, 11.7, 0, {1.55, 14.6}},
    {324, 12.6, 11.4, 3.8, 42.1, 9.01, 8.75, 4.2, 0.784, 8.58, 2.47, 47, 4.8, 7.66, 48.4, 16, {0, 17.1}},
    {{0, 0, 0, 11.7}, 6.63, 4.51, 18.2, 85.1, 6.39, 1.03, 11.3, {9.97, 22.9}},
    {},
    {112, 8.32, 15.6, 4.77, 5.47, 0, 0, 0, 0, {24.8, 22.8}}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {167, 14.6, 16.3, 10.3, 14.8, 5.32, {0.91, 37}},
    {926, 20.3, 13.7, 10.6, 96.5, 12.3, 19.2, 10, 8.09, 47.2, 19.1, 75.4, 55.2, 0, 27.7, 5.48, {0, 28.9}},
    {{43.5, 23.2, 21.8, 0}, 22.2, 10.8, 23.9, 116, 7.68, 4.31, 35.6, {8.16, 34.3}},
    {},
    {0, 0, 0, 0, 0, 375, 2.49, 15.9, 13.8, {40.8, 43.2}}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {142, 12.8, 28.9, 8.36, 40.2, 6.62, {8.94, 38.7}},
    {689, 52.7, 13.3, 16.1, 91.1, 18.3, 30.5, 31, 6.82, 13, 7.3, 143, 28.2, 11.8, 28.4, 11.8, {5.35, 42.9}},
    {{0, 0, 0, 23.5}, 7.32, 12.5, 49.9, 123, 16, 0.626, 35.9, {8.82, 33.6}},
    {},
    {0, 0, 0, 0, 0, 295, 25.3, 33.7, 16.9, {18.4, 23.7}}};
#else
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {76.2, 5.52, 3.77, 2.76, 3.93, 3.43, {8.83, 2.43}},
    {231, 40.8, 3.88, 1.81, 45.5, 7.16, 3.36, 3.88, 1.51, 2.21, 2.58, 34.5, 21.1, 4.88, 16.3, 0.655, {8.01, 12.9}},
    {{15, 8.62, 13, 0}, 7.31, 2.12, 20, 71.8, 1.67, 1.57, 10, {2.5, 29.9}},
    {},
    {279, 3.41, 11.8, 1.06, 0, 0, 0, 0, 0, {22.2, 42.8}}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {80.6, 7.88, 12.9, 3.79, 14.5, 0, {1.07, 35.3}},
    {287, 31.1, 14.5, 2.95, 74.8, 5.35, 10, 8.22, 0.358, 7.97, 1.26, 3.39, 21.4, 0, 0, 0, {0, 30.5}},
    {{0, 0, 0, 28.2}, 6.16, 4.65, 28.2, 0.405, 1.29, 0.155, 0, {12.3, 27.8}},
    {},
    {258, 18.4, 21.5, 4.52, 0, 0, 0, 0, 0, {7.09, 0}}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {100, 18.4, 12.9, 11.2, 16.5, 17.8, {0, 33.9}},
    {398, 33.9, 26.5, 5.6, 65.4, 31, 16.3, 15.9, 7.07, 13.7, 15.3, 28, 24.4, 2.33, 29.6, 2.13, {12.2, 32.1}},
    {{30.5, 22.4, 27.2, 0}, 22.9, 9.2, 13.6, 169, 3.64, 0, 0, {2.41, 24}},
    {},
    {0, 0, 0, 0, 0, 145, 0.881, 16.2, 12.4, {41.2, 49.8}}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {101, 6.43, 40.7, 1.21, 73.7, 11.6, {30.9, 27.6}},
    {189, 0, 37.9, 24.3, 35.3, 34.6, 41.5, 9.41, 1.65, 4.49, 13.7, 0, 23.5, 5.88, 33, 0, {32.9, 42.3}},
    {{0, 0, 0, 79.3}, 2.08, 21.7, 23.2, 0, 8.44, 1.09, 75.4, {23.2, 84.6}},
    {},
    {0, 0, 0, 0, 0, 123, 5.88, 85.5, 42.6, {37.3, 112}}};
#endif

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
