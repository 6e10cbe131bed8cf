/*
 * line - reads one line from the user, through libedit at a terminal. Layer:
 * host.
 *
 * libedit knows nothing of bracketed paste. The terminal is asked to put
 * ESC[200~ and ESC[201~ around what is pasted; the first is bound to a
 * function that takes all up to the second into the line as it is, so that
 * neither line ends nor tabs in it do anything.
 */
#include "host/line.h"

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#define HISTORY_SIZE 2000

struct heed_line {
  EditLine *edit; /* NULL: read plainly */
  History *history;
  const char *prompt;
  char *text;
  size_t capacity; /* bytes that `text` has */
  bool brackets;   /* the terminal is told to mark what is pasted */
  heed_line_completer *completer;
  void *data;         /* of the completer */
  bool did, did_list; /* what the completer has done */
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

/* ---- keys ---------------------------------------------------------------- */

/* What libedit does by itself, under names that no key sends. */
#define LINE_UP L"\033\001u"
#define LINE_DOWN L"\033\001d"
#define HISTORY_UP L"\033\001U"
#define HISTORY_DOWN L"\033\001D"

/* Up and Down go through the lines of a text, then through the history. */
static unsigned char go_up(EditLine *edit, int key) {
  (void)key;
  const LineInfoW *at = el_wline(edit);
  size_t before = (size_t)(at->cursor - at->buffer);
  el_wpush(edit, before > 0 && wmemchr(at->buffer, L'\n', before) ? LINE_UP
                                                                  : HISTORY_UP);
  return CC_NORM;
}

static unsigned char go_down(EditLine *edit, int key) {
  (void)key;
  const LineInfoW *at = el_wline(edit);
  size_t after = (size_t)(at->lastchar - at->cursor);
  el_wpush(edit, after > 0 && wmemchr(at->cursor, L'\n', after) ? LINE_DOWN
                                                                : HISTORY_DOWN);
  return CC_NORM;
}

/* The ends of the line of the text that the cursor is in; from there, those of
   the whole text. */
static unsigned char go_home(EditLine *edit, int key) {
  (void)key;
  const LineInfoW *at = el_wline(edit);
  const wchar_t *to = at->cursor;
  while (to > at->buffer && to[-1] != L'\n') to--;
  if (to == at->cursor) to = at->buffer;
  el_cursor(edit, (int)(to - at->cursor));
  return CC_CURSOR;
}

static unsigned char go_end(EditLine *edit, int key) {
  (void)key;
  const LineInfoW *at = el_wline(edit);
  const wchar_t *to = at->cursor;
  while (to < at->lastchar && *to != L'\n') to++;
  if (to == at->cursor) to = at->lastchar;
  el_cursor(edit, (int)(to - at->cursor));
  return CC_CURSOR;
}

/* A text that grows. */
typedef struct buffer {
  wchar_t *text;
  size_t size, capacity;
} buffer;

static bool add(buffer *it, wchar_t c) {
  if (it->size + 1 >= it->capacity) {
    size_t capacity = it->capacity ? 2 * it->capacity : 1024;
    wchar_t *grown = realloc(it->text, capacity * sizeof *grown);
    if (!grown) return false;
    it->text = grown;
    it->capacity = capacity;
  }
  it->text[it->size++] = c;
  it->text[it->size] = L'\0';
  return true;
}

/* Takes the pasted text up to the mark of its end. Line ends become \n, other
   control characters but tabs are left out, and so is the last line end: who
   pastes decides with Enter whether it runs. */
static unsigned char take_paste(EditLine *edit, int key) {
  static const wchar_t mark[] = L"\033[201~";
  const size_t mark_size = sizeof mark / sizeof *mark - 1;
  (void)key;
  buffer all = {NULL, 0, 0};
  wchar_t c;
  bool ended = false;
  while (!ended && el_wgetc(edit, &c) == 1 && add(&all, c))
    ended = all.size >= mark_size &&
            wmemcmp(all.text + all.size - mark_size, mark, mark_size) == 0;
  if (ended) all.size -= mark_size;

  size_t kept = 0;
  for (size_t i = 0; i < all.size; i++) {
    c = all.text[i];
    if (c == L'\r') {
      if (i + 1 < all.size && all.text[i + 1] == L'\n') continue;
      c = L'\n';
    }
    if ((c >= 32 && c != 127) || c == L'\n' || c == L'\t') all.text[kept++] = c;
  }
  while (kept > 0 && all.text[kept - 1] == L'\n') kept--;
  if (kept > 0) {
    all.text[kept] = L'\0';
    el_winsertstr(edit, all.text);
  }
  free(all.text);
  return CC_REFRESH;
}

static unsigned char complete(EditLine *edit, int key) {
  (void)key;
  heed_line *line = owner(edit);
  if (!line->completer) return CC_ERROR;
  const LineInfo *at = el_line(edit);
  size_t before = (size_t)(at->cursor - at->buffer);
  size_t after = (size_t)(at->lastchar - at->cursor);
  char *text = malloc(before + after + 2);
  if (!text) return CC_ERROR;
  memcpy(text, at->buffer, before);
  text[before] = '\0';
  memcpy(text + before + 1, at->cursor, after);
  text[before + 1 + after] = '\0';
  line->did = line->did_list = false;
  line->completer(line, line->data, text, text + before + 1);
  free(text);
  if (line->did_list) return CC_REDISPLAY;
  return line->did ? CC_REFRESH : CC_ERROR;
}

void heed_line_replace(heed_line *line, int count, const char *text) {
  if (!line->edit || (count <= 0 && *text == '\0')) return;
  if (count > 0) el_deletestr(line->edit, count);
  if (*text != '\0') el_insertstr(line->edit, text);
  line->did = true;
}

void heed_line_list(heed_line *line, const char *text) {
  printf("\n%s", text);
  fflush(stdout);
  line->did_list = true;
}

static void bind_keys(EditLine *edit) {
  static const struct {
    const char *keys, *command;
  } keys[] = {{"^I", "heed-complete"},
              {"\\e[200~", "heed-paste"},
              {"^R", "em-inc-search-prev"},
              {"^W", "ed-delete-prev-word"},
              {"\\e^Au", "ed-prev-line"},
              {"\\e^Ad", "ed-next-line"},
              {"\\e^AU", "ed-prev-history"},
              {"\\e^AD", "ed-next-history"},
              {"\\e[A", "heed-up"},
              {"\\eOA", "heed-up"},
              {"\\e[B", "heed-down"},
              {"\\eOB", "heed-down"},
              {"^A", "heed-home"},
              {"^E", "heed-end"},
              {"\\e[H", "heed-home"},
              {"\\e[F", "heed-end"},
              {"\\e[1~", "heed-home"},
              {"\\e[4~", "heed-end"},
              {"\\e[3~", "ed-delete-next-char"},
              {"\\e[1;5C", "em-next-word"},
              {"\\e[1;5D", "ed-prev-word"}};
  el_set(edit, EL_ADDFN, "heed-complete", "Complete what is typed", complete);
  el_set(edit, EL_ADDFN, "heed-paste", "Take what is pasted", take_paste);
  el_set(edit, EL_ADDFN, "heed-up", "A line or a text up", go_up);
  el_set(edit, EL_ADDFN, "heed-down", "A line or a text down", go_down);
  el_set(edit, EL_ADDFN, "heed-home", "Where the line begins", go_home);
  el_set(edit, EL_ADDFN, "heed-end", "Where the line ends", go_end);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    el_set(edit, EL_BIND, keys[i].keys, keys[i].command, NULL);
}

/* ---- starting and ending ------------------------------------------------- */

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
  bind_keys(line->edit);
  el_source(line->edit, NULL); /* the user's own settings */
  const char *terminal = getenv("TERM");
  line->brackets =
      terminal && *terminal != '\0' && strcmp(terminal, "dumb") != 0;

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

bool heed_line_is_edited(const heed_line *line) { return line->edit != NULL; }

void heed_line_set_completer(heed_line *line, heed_line_completer *completer,
                             void *data) {
  line->completer = completer;
  line->data = data;
}

/* ---- reading ------------------------------------------------------------- */

void heed_line_remember(heed_line *line, const char *text) {
  HistEvent event;
  if (line->edit) history(line->history, &event, H_ENTER, text);
}

static void mark_pastes(const heed_line *line, bool on) {
  if (!line->brackets) return;
  fputs(on ? "\033[?2004h" : "\033[?2004l", stdout);
  fflush(stdout);
}

/* Keeps a copy of `text` without its line end. */
static heed_line_status keep(heed_line *line, const char *text, size_t size) {
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
  mark_pastes(line, true);
  do { /* another signal that ends the read is no end of input */
    text = el_gets(line->edit, &size);
  } while (!text && size < 0 && errno == EINTR && !stopped);
  mark_pastes(line, false);
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
