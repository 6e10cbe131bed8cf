/*
 * line - reads one line from the user: with editing and history at a
 * terminal, plainly otherwise. Layer: host.
 */
#ifndef HEED_HOST_LINE_H
#define HEED_HOST_LINE_H

typedef struct heed_line heed_line;

typedef enum heed_line_status {
  HEED_LINE_READ, /* a line is there */
  HEED_LINE_STOP, /* Ctrl-C: forget what was typed */
  HEED_LINE_END   /* end of input */
} heed_line_status;

/* Prepares reading from stdin, with editing if stdin and stdout are a
   terminal. From then on Ctrl-C there no longer ends the program. NULL without
   memory. */
heed_line *heed_line_new(void);
void heed_line_drop(heed_line *line);

/* Shows `prompt` and reads a line into `*text`, without its line end. The
   text belongs to `line` and lives until the next call. A line that is not
   blank joins the history. */
heed_line_status heed_line_read(heed_line *line, const char *prompt,
                                const char **text);

#endif
