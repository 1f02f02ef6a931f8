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
constexpr PlanCosts kPlanCosts<false, false> = {{91, 18, 6, 4.3, 6.1, 3.9},
                                                {395, 33, 5.4, 3.3, 68, 15, 6.4, 7.6, 3.5, 6.7, 2.4, 63, 27, 16},
                                                {{16, 17.5, 14.4, 0}, 20.5, 3.5, 8.1, 0},
                                                {1.12, 1.04, 1.14, 1.04}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {92.5, 15.1, 6.87, 4.92, 12.3, 1.53},
    {150, 38.8, 7.53, 3.34, 55.1, 12.6, 7.92, 11.3, 2.1, 14, 2.99, 31.2, 0.215, 17.2},
    {{0, 0, 0, 15.9}, 23.6, 3.69, 13.8, 0},
    {1.04, 0.958, 1.12, 1.16}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {{107, 22, 14.5, 8.8, 8.3, 4.6},
                                               {130, 78, 3.7, 7.1, 100, 23, 16, 12.6, 6.3, 9.2, 11.3, 49, 10.6, 6.7},
                                               {{26, 13, 21, 0}, 25, 7.2, 5.9, 0},
                                               {1.12, 1.15, 1.04, 1.15}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {167, 39.7, 17.2, 13.9, 26.9, 3.42},
    {463, 65.5, 9.8, 8.9, 152, 30, 18.8, 21.7, 11.6, 5.3, 17.6, 69.1, 12.3, 12.4},
    {{0, 0, 0, 29.9}, 46.6, 8.23, 33.6, 0},
    {1.06, 1.12, 1.06, 1.16}};
#else
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {61.1, 17.8, 7.4, 5.14, 7.15, 8.01},
    {364, 50.2, 6.52, 3.24, 85.5, 14.6, 8.05, 5.12, 1.07, 7.54, 2.89, 19.6, 9.54, 6.24},
    {{18.4, 14.1, 17.5, 0}, 13, 3.83, 17.9, 123},
    {0.988, 1.21, 0.994, 1.21}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {60.9, 25.2, 14, 16.5, 49.5, 4.01},
    {510, 82.3, 14.2, 5.71, 143, 8.06, 14.7, 7.64, 0, 4.07, 3.66, 2.15, 6.19, 6.41},
    {{0, 0, 0, 53.8}, 5.38, 7.86, 12.1, 273},
    {1.04, 1.22, 0.94, 1.25}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {{83, 34, 22, 8.6, 13.6, 15},
                                               {568, 42.5, 19, 5.5, 96, 20, 22, 14, 7.2, 6.9, 12.3, 22.7, 5.3, 20},
                                               {{31.5, 17, 37, 0}, 21, 7.5, 18, 190},
                                               {1.12, 1.04, 1.04, 1.04}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {66, 50.7, 36.6, 30.7, 45.8, 29.2},
    {544, 1.12, 93.2, 15.4, 31.3, 30.6, 37, 27.9, 0.0522, 34.3, 9.94, 9.67, 46.7, 4.52},
    {{0, 0, 0, 71.4}, 16.3, 19.9, 31, 352},
    {1.16, 1.19, 1.21, 1.4}};
#endif

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
