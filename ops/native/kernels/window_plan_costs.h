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
    {154, 7.85, 4.4, 4.95, 5.33, {23.1, 15.6}}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {33.3, 23.9, 10.1, 9.36, 6.66, 7.02, {19, 0.555}},
    {107, 10.2, 15.9, 5.11, 42.9, 9.25, 14.7, 7.2, 3.87, 20.5, 2.72, 73.3, 16.1, 15, 5.61, 42.3, {17.9, 33.3}},
    {{18.7, 24.2, 21, 17.6}, 32.2, 4.76, 0.69, 0, 9.98, 6.85, 30.7, {20, 49.1}},
    {34.9, 23, 7.37, 4.94, 10.1, {20.1, 1.09}},
    {126, 11.9, 13.7, 2.89, 5.76, {29.1, 25.8}}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {119, 5.46, 12.5, 17.3, 4.3, 9.82, {17.7, 3.91}},
    {173, 5.85, 66.8, 4.71, 25.2, 12.7, 12.6, 25.4, 6.17, 60.6, 6.94, 170, 78.9, 3.86, 35.9, 7.74, {13.9, 21.1}},
    {{59.9, 17.6, 11.2, 44}, 33.2, 12.2, 0, 0, 14.5, 4.38, 0, {25.6, 36.4}},
    {56.9, 13.1, 21.6, 9.22, 7.21, {16.2, 12.4}},
    {158, 12.1, 46.2, 5.74, 10.4, {16.9, 14.7}}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {74.3, 8.5, 21.8, 8.71, 9.05, 6.94, {5.54, 24.7}},
    {326, 5.2, 30.6, 18.6, 24.3, 29.1, 22.6, 41.1, 14.9, 37.1, 6.75, 66.2, 54.6, 0, 22.9, 1.63, {8.78, 21.7}},
    {{118, 62.6, 72.5, 22}, 26.1, 11.5, 8.42, 0, 9.63, 0, 0.0161, {5.37, 35.4}},
    {19.2, 19.8, 24.4, 13.2, 22.8, {6.7, 0}},
    {124, 21.4, 8.07, 9.85, 10.9, {12.9, 7.85}}};
#elif defined(__AVX2__)
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {45.9, 6.29, 5.42, 2.96, 2.02, 6.68, {6.07, 0.764}},
    {207, 47.5, 8.17, 2.32, 48.3, 7.88, 5.66, 2.21, 1.56, 6.93, 2.41, 7.23, 11.5, 17.1, 2.09, 1.27, {8.16, 5.56}},
    {{11.2, 10.2, 11.4, 0}, 7.09, 2.84, 19.7, 31.1, 5.48, 4.22, 9.63, {8.26, 26.8}},
    {},
    {99.2, 6.75, 8.5, 1.9, 3.39, {12.4, 29.1}}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {58.9, 1.63, 9.37, 3.37, 11.7, 0, {1.55, 14.6}},
    {324, 12.6, 11.4, 3.8, 42.1, 9.01, 8.75, 4.2, 0.784, 8.58, 2.47, 47, 4.8, 7.66, 48.4, 16, {0, 17.1}},
    {{0, 0, 0, 11.7}, 6.63, 4.51, 18.2, 85.1, 6.39, 1.03, 11.3, {9.97, 22.9}},
    {},
    {112, 8.32, 15.6, 4.77, 5.47, {24.8, 22.8}}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {97.2, 13.8, 11.3, 8.21, 10.8, 4.57, {3.62, 36.2}},
    {362, 24.7, 10.1, 8.89, 151, 20.1, 10.6, 14.1, 4.65, 27.3, 13.3, 62.7, 24.4, 28.3, 7.61, 3.28, {10.9, 23.5}},
    {{18.5, 7.94, 14.6, 0}, 19.2, 9.23, 0.148, 20.6, 8.8, 1.02, 8.73, {3.01, 38}},
    {},
    {71.7, 43.3, 5.86, 3.41, 0, {4.13, 0}}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {84, 6.43, 19.7, 8.42, 31.1, 5.89, {3.46, 22.4}},
    {1158, 52.8, 18, 8.05, 105, 15.1, 20.7, 16.7, 5.62, 7.52, 7.32, 82.7, 20.2, 6.78, 11.7, 4.01, {3.63, 24.7}},
    {{0, 0, 0, 21.5}, 5.04, 7.98, 45.7, 157, 7.32, 0.401, 23, {9.49, 18.7}},
    {},
    {34.6, 68.5, 0, 4.97, 0, {4.37, 5.61}}};
#else
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {76.2, 5.52, 3.77, 2.76, 3.93, 3.43, {8.83, 2.43}},
    {231, 40.8, 3.88, 1.81, 45.5, 7.16, 3.36, 3.88, 1.51, 2.21, 2.58, 34.5, 21.1, 4.88, 16.3, 0.655, {8.01, 12.9}},
    {{15, 8.62, 13, 0}, 7.31, 2.12, 20, 71.8, 1.67, 1.57, 10, {2.5, 29.9}},
    {},
    {279, 3.41, 11.8, 1.06, 0, {22.2, 42.8}}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {80.6, 7.88, 12.9, 3.79, 14.5, 0, {1.07, 35.3}},
    {287, 31.1, 14.5, 2.95, 74.8, 5.35, 10, 8.22, 0.358, 7.97, 1.26, 3.39, 21.4, 0, 0, 0, {0, 30.5}},
    {{0, 0, 0, 28.2}, 6.16, 4.65, 28.2, 0.405, 1.29, 0.155, 0, {12.3, 27.8}},
    {},
    {258, 18.4, 21.5, 4.52, 0, {7.09, 0}}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {41.1, 6.24, 16.8, 6.42, 4.85, 14.4, {0, 5.05}},
    {310, 29.8, 13.2, 4.4, 117, 1.08, 18.9, 13.4, 3.16, 6.6, 7.89, 5.26, 20, 0.423, 0, 0, {1.01, 0}},
    {{26.2, 27, 26.5, 0}, 9.28, 5.6, 17.3, 1.01, 1.01, 1.34, 0, {12.8, 9.74}},
    {},
    {75.3, 17, 0, 12.8, 0, {0, 5.05}}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {1.07, 18.7, 28.3, 8.44, 68.9, 10.1, {28.4, 0}},
    {5.33, 5.33, 64.5, 11.7, 48.5, 28.4, 27.7, 11.3, 10.5, 15.6, 12.4, 0, 20, 0, 6.05, 0.579, {14.6, 12.4}},
    {{0, 0, 0, 60.4}, 1.13, 15.8, 14.2, 166, 12.1, 0, 2.17, {20, 37.7}},
    {},
    {55, 14.7, 73.3, 11, 0, {28.4, 0}}};
#endif

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
