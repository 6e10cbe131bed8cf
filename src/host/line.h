/*
 * line - reads one line from the user: with editing and history at a
 * terminal, plainly otherwise. Layer: host.
 */
#ifndef HEED_HOST_LINE_H
#define HEED_HOST_LINE_H

#include <stdbool.h>

typedef struct heed_line heed_line;

typedef enum heed_line_status {
  HEED_LINE_READ, /* a line is there */
  HEED_LINE_STOP, /* Ctrl-C: forget what was typed */
  HEED_LINE_END   /* end of input */
} heed_line_status;

/* What the Tab key does. `before` and `after` are the text around the cursor.
   The one who completes calls heed_line_replace and heed_line_list at most
   once each. */
typedef void heed_line_completer(heed_line *line, void *data,
                                 const char *before, const char *after);

/* Prepares reading from stdin, with editing if stdin and stdout are a
   terminal. From then on Ctrl-C there no longer ends the program. NULL without
   memory. */
heed_line *heed_line_new(void);
void heed_line_drop(heed_line *line);

/* Is there a terminal, so that lines can be edited? */
bool heed_line_is_edited(const heed_line *line);

/* Shows `prompt` and reads a line into `*text`, without its line end; a text
   that was pasted, or comes from the history, may have several lines. It
   belongs to `line` and lives until the next call. */
heed_line_status heed_line_read(heed_line *line, const char *prompt,
                                const char **text);

/* Adds a text, of one line or more, to what the keys bring back. */
void heed_line_remember(heed_line *line, const char *text);

void heed_line_set_completer(heed_line *line, heed_line_completer *completer,
                             void *data);
/* Deletes `count` characters before the cursor and puts `text` there. */
void heed_line_replace(heed_line *line, int count, const char *text);
/* Shows a text below the line, which is then drawn anew under it. */
void heed_line_list(heed_line *line, const char *text);

#endif
