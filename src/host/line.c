/*
 * line - reads one line from the user, through libedit at a terminal. Layer:
 * host.
 */
#include "host/line.h"

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HISTORY_SIZE 1000

struct heed_line {
  EditLine *edit; /* NULL: read plainly */
  History *history;
  const char *prompt;
  char *text;
  size_t capacity; /* bytes that `text` has */
  struct sigaction interrupt_before;
};

static volatile sig_atomic_t stopped; /* by Ctrl-C, since the last line */

static heed_line *owner(EditLine *edit) {
  void *line = NULL;
  el_get(edit, EL_CLIENTDATA, &line);
  return line;
}

static char *show_prompt(EditLine *edit) {
  return (char *)owner(edit)->prompt; /* libedit only reads it */
}

/* Ctrl-C while no Lua code runs: that it came is enough, since the signal
   also ends the read that libedit waits in. */
static void note_stop(int number) {
  (void)number;
  stopped = 1;
}

/* Lua strings are UTF-8 for heed, also where the environment names no
   locale; libedit needs one to know where a character ends. */
static void choose_locale(void) {
  setlocale(LC_CTYPE, "");
  if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
    setlocale(LC_CTYPE, "C.UTF-8");
}

static bool start_editing(heed_line *line) {
  HistEvent event;
  choose_locale();
  line->history = history_init();
  if (!line->history) return false;
  line->edit = el_init("heed", stdin, stdout, stderr);
  if (!line->edit) {
    history_end(line->history);
    return false;
  }
  history(line->history, &event, H_SETSIZE, HISTORY_SIZE);
  history(line->history, &event, H_SETUNIQUE, 1);

  el_set(line->edit, EL_CLIENTDATA, line);
  el_set(line->edit, EL_PROMPT, show_prompt);
  el_set(line->edit, EL_EDITOR, "emacs");
  el_set(line->edit, EL_HIST, history, line->history);
  el_set(line->edit, EL_SIGNAL, 1); /* leaves the terminal as it was */
  el_set(line->edit, EL_BIND, "^I", "ed-insert", NULL);
  el_set(line->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
  el_source(line->edit, NULL); /* the user's own settings */

  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = note_stop;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &line->interrupt_before);
  return true;
}

heed_line *heed_line_new(void) {
  heed_line *line = calloc(1, sizeof *line);
  if (!line) return NULL;
  if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !start_editing(line)) {
    free(line);
    return NULL;
  }
  return line;
}

void heed_line_drop(heed_line *line) {
  if (!line) return;
  if (line->edit) {
    sigaction(SIGINT, &line->interrupt_before, NULL);
    history_end(line->history);
    el_end(line->edit);
  }
  free(line->text);
  free(line);
}

/* Keeps a copy of `text` without its line end, and adds it to the history. */
static heed_line_status keep(heed_line *line, const char *text, size_t size) {
  HistEvent event;
  if (strspn(text, " \t\r\n") < size)
    history(line->history, &event, H_ENTER, text);
  if (size > 0 && text[size - 1] == '\n') size--;
  if (line->capacity < size + 1) {
    char *grown = realloc(line->text, size + 1);
    if (!grown) return HEED_LINE_END;
    line->text = grown;
    line->capacity = size + 1;
  }
  memcpy(line->text, text, size);
  line->text[size] = '\0';
  return HEED_LINE_READ;
}

static heed_line_status read_edited(heed_line *line) {
  int size = 0;
  const char *text;
  stopped = 0;
  do { /* another signal that ends the read is no end of input */
    text = el_gets(line->edit, &size);
  } while (!text && size < 0 && errno == EINTR && !stopped);
  if (stopped) {
    putchar('\n');
    return HEED_LINE_STOP;
  }
  if (!text || size <= 0) return HEED_LINE_END;
  return keep(line, text, (size_t)size);
}

static heed_line_status read_plain(heed_line *line) {
  fputs(line->prompt, stdout);
  fflush(stdout);
  ssize_t size = getline(&line->text, &line->capacity, stdin);
  if (size < 0) return HEED_LINE_END;
  if (size > 0 && line->text[size - 1] == '\n') line->text[size - 1] = '\0';
  return HEED_LINE_READ;
}

heed_line_status heed_line_read(heed_line *line, const char *prompt,
                                const char **text) {
  line->prompt = prompt;
  heed_line_status status = line->edit ? read_edited(line) : read_plain(line);
  *text = line->text;
  return status;
}
