// What each plan's parts cost, in about tenths of nanoseconds, for each instruction set, with indices and without, and
// for lanes of 64 bits, which most of them compare slowly. tests/native/measure_window_costs.cc fits them to times of
// random jobs.
#pragma once

#include "kernels/simd/vector.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

struct RowsCost {
  double line, row, row_vector, slide, gather_round, gathered_vector;
};
struct MapsCost {
  double plane;
  double key_row, key_vector, fold;  // rows become keys, then windows
  double line, row, row_vector;      // or windows at once
  double part, slide, slid_vector;   // columns
  double picked, picked_line, gather_round, gathered_vector;
};
struct PlanesCost {
  double transposed[4];  // a vector of elements of 1, 2, 4 and 8 bytes
  double stored, combined, run, group;
};
// How many times as much plans cost whose tensors leave the second cache.
struct BeyondCache {
  double maps, aligned_maps, planes, aligned_planes;
};
struct PlanCosts {
  RowsCost rows;
  MapsCost maps;
  PlanesCost planes;
  BeyondCache beyond_cache;
};

template <bool indexed, bool wide>
constexpr PlanCosts kPlanCosts = {};

#if defined(__AVX512BW__)
template <bool wide>
constexpr PlanCosts kPlanCosts<false, wide> = {{75, 30, 7.6, 13, 4.9, 9},
                                               {287, 43, 11, 5.5, 31, 33, 8.3, 12, 7.6, 15, 3, 34, 7.2, 13},
                                               {{19, 24, 21, 17}, 30, 7.3, 0, 0},
                                               {1.25, 1.6, 1.3, 2.5}};
template <bool wide>
constexpr PlanCosts kPlanCosts<true, wide> = {{107, 35, 21, 32, 3.4, 36},
                                              {374, 63, 36, 13, 73, 43, 22, 41, 23, 8.6, 10, 61, 3.4, 36},
                                              {{47, 25, 29, 29}, 35, 13, 12, 0},
                                              {1.25, 1.6, 1.3, 2.5}};
#elif defined(__AVX2__)
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {91, 18, 6, 4.3, 6.1, 3.9},
    {395, 33, 5.4, 3.3, 68, 15, 6.4, 7.6, 3.5, 6.7, 2.4, 63, 27, 16},
    {{16, 17.5, 14.4, 0}, 20.5, 3.5, 8.1, 0},
    {1.12, 1.04, 1.14, 1.04}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {{97, 21, 6.7, 4.8, 14.4, 1.5},
                                               {692, 13, 7, 3.1, 79, 18, 6.4, 9.8, 2.1, 13, 2.6, 29, 0.2, 16},
                                               {{0, 0, 0, 15.5}, 23, 3.6, 27, 0},
                                               {1.12, 1.28, 1.05, 2.5}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {{107, 22, 14.5, 8.8, 8.3, 4.6},
                                               {130, 78, 3.7, 7.1, 100, 23, 16, 12.6, 6.3, 9.2, 11.3, 49, 10.6, 6.7},
                                               {{26, 13, 21, 0}, 25, 7.2, 5.9, 0},
                                               {1.12, 1.15, 1.04, 1.15}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {108, 24, 13.8, 9.3, 19.2, 3},
    {540, 61, 10, 4.7, 114, 31, 12.6, 19.2, 6.6, 11.7, 11.3, 53, 37, 11},
    {{0, 0, 0, 19}, 28, 6.2, 46, 47},
    {1.25, 1.15, 1.14, 2.5}};
#else
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {61.5, 14.2, 9.1, 6.7, 7.5, 8.1},
    {321, 47, 3.8, 3.8, 108, 15, 7.5, 5, 1.3, 7.9, 2.1, 21, 6.9, 9.2},
    {{18, 13, 17, 0}, 12.8, 3.8, 27.5, 32},
    {1.25, 1.3, 1.17, 1.3}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {{24.6, 19, 13, 9, 46, 4},
                                               {474, 78, 16.4, 5.3, 88.5, 7, 12.8, 8.2, 0.2, 5.4, 4, 2, 46, 20},
                                               {{0, 0, 0, 50}, 5, 7.3, 22.5, 181},
                                               {1.12, 0.92, 0.94, 2.5}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {{83, 34, 22, 8.6, 13.6, 15},
                                               {568, 42.5, 19, 5.5, 96, 20, 22, 14, 7.2, 6.9, 12.3, 22.7, 5.3, 20},
                                               {{31.5, 17, 37, 0}, 21, 7.5, 18, 190},
                                               {1.12, 1.04, 1.04, 1.04}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {{108, 19.4, 28, 17.5, 17, 7.4},
                                              {161, 0, 85, 10.7, 0, 64, 29, 29, 0, 27, 5.5, 0, 27, 6.9},
                                              {{0, 0, 0, 57}, 8.8, 18, 8.7, 535},
                                              {1.25, 1.28, 1.3, 2}};
#endif

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
