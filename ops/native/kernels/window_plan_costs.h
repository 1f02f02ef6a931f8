// The constants of the model of cost of windows (window_cost.h), in about tenths of nanoseconds: of each instruction
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
    {111, 5.24, 16, 15.7, 4.76, 16.4, {8.01, 4.07}},
    {340, 10.3, 54, 8.43, 69.3, 9.36, 21.3, 23.4, 4.71, 40.3, 8.75, 3, 54.9, 7.11, 10.2, 0.827, {9.53, 8.04}},
    {{67.3, 30.2, 13, 40.1}, 33.4, 10.1, 1.03, 0, 13.5, 0, 9.14, {6.51, 27.7}},
    {24.5, 31.5, 19.4, 3.29, 19.8, {5.67, 0}},
    {140, 18.7, 24.5, 5.46, 11.2, {12.1, 9.37}}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {116, 6.67, 20.8, 9.04, 13.4, 1.26, {2.03, 21.3}},
    {167, 20.5, 67, 4.46, 27.2, 19.8, 23.2, 51.5, 6.49, 36.9, 10.3, 74.6, 40.4, 5.1, 31.7, 2.24, {11, 16.5}},
    {{113, 60.2, 69.7, 17.9}, 16, 10.9, 1.07, 0, 9.09, 2.12, 0, {4.27, 27.2}},
    {7.67, 23.2, 19.6, 10.3, 22.1, {6.87, 0}},
    {111, 20.6, 17, 6.83, 11.6, {12.5, 19.9}}};
#elif defined(__AVX2__)
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {51.2, 7.02, 5.63, 2.87, 2.99, 7.46, {6.3, 0.793}},
    {187, 46.1, 8.48, 2.25, 46.9, 8.8, 5.49, 2.7, 1.41, 7.73, 3.11, 15, 5.99, 8.85, 2.17, 2.63, {8.47, 7.71}},
    {{10.9, 12.4, 11.8, 0}, 8.09, 2.95, 20.4, 38, 6.12, 2.19, 10, {8.01, 27.8}},
    {},
    {103, 7.01, 8.82, 1.84, 3.29, {12.9, 30.2}}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {51.9, 2.2, 9.49, 4.02, 8.49, 0, {2.24, 18.5}},
    {353, 9.66, 11.5, 3.85, 37.1, 9.82, 8.86, 6.54, 0.854, 9.35, 0, 23.8, 6.94, 5.54, 6.13, 16.2, {0, 16.2}},
    {{0, 0, 0, 11.9}, 6.72, 4.57, 18.4, 86.2, 6.96, 1.04, 11.4, {10.1, 23.2}},
    {},
    {174, 8.43, 15.8, 4.22, 5.54, {29.6, 23.1}}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {36.6, 5.33, 9.49, 4.99, 4.87, 3.54, {3.65, 0}},
    {255, 18.2, 9.17, 3.7, 78.6, 8.12, 8.8, 7.14, 3.46, 5.2, 7.69, 5.47, 16.3, 0.721, 5.66, 0.674, {3.32, 8.67}},
    {{16.5, 15.3, 12.7, 0}, 7.18, 4.13, 36.7, 0, 1.61, 1.52, 1.96, {1.71, 9.9}},
    {},
    {63.3, 38.3, 5.18, 3.01, 0, {3.65, 0}}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {46.1, 3.07, 10.8, 4.02, 8.71, 2.81, {2.4, 3.08}},
    {318, 14.5, 11.6, 4.13, 28.8, 7.21, 10.6, 7.2, 3.32, 4.44, 8.04, 22.7, 9.31, 3.72, 6.4, 1.1, {2.85, 11.8}},
    {{0, 0, 0, 11.8}, 5.53, 4.38, 33.5, 43.2, 2.87, 0.11, 12.6, {4.55, 12.1}},
    {},
    {19, 37.6, 0, 2.73, 0, {2.4, 3.08}}};
#else
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {45.5, 0.208, 6.46, 2.69, 4.13, 2.3, {1.16, 9.5}},
    {136, 12.8, 8.3, 2.17, 34.9, 2.82, 5.4, 4.65, 0.137, 7.04, 1.76, 16, 20, 1.31, 9.99, 0, {3.16, 6.07}},
    {{13.3, 8.87, 13.4, 0}, 6.13, 2.83, 13.5, 0, 1.01, 0.0233, 1.09, {5.21, 18.5}},
    {},
    {133, 10.2, 0, 4.05, 0, {1.16, 9.5}}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {47.5, 0, 9.59, 5.61, 25.8, 3.49, {6.63, 0}},
    {26, 48.7, 4.98, 4.56, 53.4, 0, 9.54, 3.38, 4.2, 7.18, 8.4, 0.985, 20, 11.7, 7, 0, {1.02, 0}},
    {{0, 0, 0, 26.9}, 1.01, 7.17, 27.3, 0, 0, 0, 0, {3.55, 0.512}},
    {},
    {241, 17.2, 20.1, 4.22, 0, {6.63, 0}}};
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
