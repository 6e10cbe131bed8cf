/*
 * slide - windows that slide over images. Layer: ops.
 *
 * A window of kh x kw pixels stands at count[0] x count[1] places of an image
 * with padding around it. What it sees at one place is a column, with the rows
 * channel, then line, then pixel of the window.
 */
#ifndef HEED_OPS_SLIDE_H
#define HEED_OPS_SLIDE_H

#include "core/op.h"

typedef struct heed_slide {
  int64_t batch, channels, height, width; /* of the images */
  int64_t kernel[2], stride[2], dilation[2]; /* down and across */
  int64_t pad[4];   /* above, left, below, right */
  int64_t count[2]; /* places down and across */
} heed_slide;

/* Reads attributes of a call: the sizes of the window; its stride, padding
   and dilation, from number `first` on. */
bool heed_slide_kernel(const heed_call *c, int attr, heed_slide *s);
bool heed_slide_steps(const heed_call *c, int first, heed_slide *s);
/* Whether no entry of a list is so large that a sum or product of two of them
   overflows. */
bool heed_slide_small(const heed_call *c, const char *name,
                      const heed_shape *list);
/* Sets the batch, channels, height and width from input i. */
bool heed_slide_image(const heed_call *c, int i, heed_slide *s);
/* Counts the places; fails when the window does not fit. */
bool heed_slide_fit(const heed_call *c, heed_slide *s);

/* The rows of columns, or -1 where that is too many. */
int64_t heed_slide_rows(const heed_slide *s);

/* A part of the columns of one image: some rows, at some lines of places. */
typedef struct heed_slide_part {
  int64_t row, rows; /* from row `row` on */
  int64_t line, lines;
} heed_slide_part;

/* columns [rows lines count[1]] = what the windows see, 0 in the padding. */
void heed_slide_copy(const heed_slide *s, heed_dtype dtype, const void *image,
                     const heed_slide_part *part, void *columns);
/* Adds columns where they came from; float32 or float64. */
void heed_slide_add(const heed_slide *s, heed_dtype dtype,
                    const void *columns, const heed_slide_part *part,
                    void *image);

#endif
