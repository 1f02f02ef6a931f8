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
    {91.5, 16.6, 19.8, 20.2, 4.66, 35.3, {12.4, 5.37}},
    {356, 0, 79.6, 11.7, 109, 21.8, 27.3, 31.3, 8.61, 44.1, 8.3, 52.7, 94.4, 9.31, 20.9, 3.01, {3.4, 19.5}},
    {{78.8, 29.5, 19.3, 38.9}, 53, 15.4, 12.9, 0, 20.1, 0.0793, 0, {12.9, 39.9}},
    {32.2, 35.2, 26.2, 5.26, 26.6, {6.27, 7.21}},
    {198, 13.8, 33.1, 7.36, 14.4, {17.9, 16.4}}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {68.9, 16, 21.5, 18.9, 15.5, 13.6, {4.57, 2.49}},
    {221, 110, 61, 9.37, 97, 25.1, 26.7, 32.7, 15.6, 27.6, 11, 72.5, 40.9, 31, 26, 2.33, {7.9, 16.7}},
    {{106, 56.3, 65.1, 19.4}, 32, 15, 23.4, 142, 9.46, 2.07, 26.3, {4.99, 28.4}},
    {19.4, 21.4, 22.9, 12.7, 29.4, {3.67, 1.04}},
    {308, 30.1, 0, 8.86, 14.4, {9.16, 0.772}}};
#elif defined(__AVX2__)
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {25.7, 5.33, 3.79, 3.04, 2.31, 3.78, {2.41, 1.09}},
    {72.5, 21.1, 4.83, 1.76, 43.4, 5.51, 3.68, 4.26, 1.28, 4.23, 2.15, 15.3, 4.88, 0, 4.65, 1.32, {3.36, 3.28}},
    {{10.8, 6.96, 5.54, 0}, 6.68, 2.1, 23.9, 109, 2.6, 4.93, 22.8, {4.21, 9.15}},
    {},
    {68.6, 6.05, 1.26, 1.79, 3.5, {2.41, 1.09}}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {41, 2.5, 3.92, 3.97, 12.1, 0.782, {0, 0}},
    {110, 32.7, 5.58, 1.77, 19.3, 4.28, 4.52, 5.45, 1.95, 7.43, 4.18, 19, 8.13, 0.132, 15.8, 0.437, {0.874, 0}},
    {{0, 0, 0, 11.1}, 11.5, 2.26, 10.1, 0, 0, 0, 0, {4.97, 0.997}},
    {},
    {149, 3.15, 1.76, 1.84, 4, {0, 0}}};
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
