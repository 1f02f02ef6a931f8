// Cells of tensors, as the fuzzers fill them.
#pragma once

#include "byte_source.h"
#include "stand_in_runtime.h"

// Fills a tensor by a short description from the source: few values, special ones, any bits, or the source's own bytes.
void fill_cells(ByteSource& source, const OrtValue& tensor);

// A dimension; around the sizes of vectors more often than not.
int64_t some_size(ByteSource& source);
