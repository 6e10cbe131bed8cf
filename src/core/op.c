/* op - the op table: signatures read once into parameters. Layer: core.
 *
 * A signature is written as users call the op, positions counted from 1:
 *     "x: tensor, bias: tensor?, dim: axis = -1, reduction: mean|sum = mean"
 */
#include "core/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/point.h"

static heed_op *table;
static int table_size;

/* Ops by the hash of their name: the number of one from 1, or 0; what stands
   at its place already goes to the next. At most half full. */
#define PLACES 2048
static uint16_t places[PLACES];

static const struct {
  const char *name;
  heed_kind kind;
} kinds[] = {
    {"tensor", HEED_KIND_TENSOR}, {"operand", HEED_KIND_OPERAND},
    {"tensors", HEED_KIND_TENSORS}, {"int", HEED_KIND_INT},
    {"position", HEED_KIND_POSITION}, {"float", HEED_KIND_FLOAT},
    {"bool", HEED_KIND_BOOL}, {"axis", HEED_KIND_AXIS},
    {"axes", HEED_KIND_AXES}, {"shape", HEED_KIND_SHAPE},
    {"dtype", HEED_KIND_DTYPE}, {"generator", HEED_KIND_GENERATOR},
};

static unsigned hash(const char *name) {
  unsigned h = 2166136261u; /* FNV-1a */
  for (; *name; name++) h = (h ^ (unsigned char)*name) * 16777619u;
  return h % PLACES;
}

void heed_ops_set(heed_op *ops, int count) {
  table = ops;
  table_size = count;
  for (int i = 0; i < count; i++) {
    unsigned at = hash(ops[i].name);
    while (places[at]) at = (at + 1) % PLACES;
    places[at] = (uint16_t)(i + 1);
  }
}

const heed_op *heed_op_at(int i) {
  return i < table_size ? &table[i] : NULL;
}

const heed_op *heed_op_find(const char *name) {
  unsigned at = hash(name);
  for (; places[at]; at = (at + 1) % PLACES)
    if (strcmp(table[places[at] - 1].name, name) == 0)
      return &table[places[at] - 1];
  return NULL;
}

const heed_param *heed_op_input(const heed_op *op, int i) {
  int seen = 0;
  for (int p = 0; p < op->nparam; p++) {
    if (op->param[p].kind > HEED_KIND_TENSORS) continue;
    if (op->param[p].kind == HEED_KIND_TENSORS || seen++ == i)
      return &op->param[p];
  }
  return NULL;
}

void heed_op_defaults(const heed_op *op, heed_attr *attr) {
  int k = 0;
  for (int i = 0; i < op->nparam; i++)
    if (op->param[i].kind > HEED_KIND_TENSORS) attr[k++] = op->param[i].value;
}

void heed_op_attributes(const heed_op *op, const heed_attr *attr,
                        heed_attr *copy) {
  if (attr)
    memcpy(copy, attr, sizeof *copy * (size_t)heed_op_nattr(op));
  else
    heed_op_defaults(op, copy);
}

static bool read_choice(const heed_op *op, const heed_param *p,
                        const char *text, heed_attr *value) {
  size_t n = strlen(text);
  int64_t number = 0;
  for (const char *at = p->choices; at; number++) {
    const char *bar = strchr(at, '|');
    size_t length = bar ? (size_t)(bar - at) : strlen(at);
    if (length == n && strncmp(at, text, n) == 0) {
      value->i = number;
      return true;
    }
    at = bar ? bar + 1 : NULL;
  }
  return heed_fail("%s: %s must be one of %s, got %s", op->name, p->name,
                   p->choices, text);
}

static bool read_list(const char *text, bool axes, int first,
                      heed_shape *list) {
  list->ndim = 0;
  for (const char *at = text; *at;) {
    if (strchr("[] ", *at)) {
      at++;
      continue;
    }
    char *end;
    long long v = strtoll(at, &end, 10);
    if (end == at || list->ndim == HEED_MAX_DIM) return false;
    list->dim[list->ndim++] = axes && v > 0 ? v - first : v;
    at = end;
  }
  return true;
}

static double read_number(const char *text, char **end) {
  locale_t was = heed_point_begin();
  double number = strtod(text, end);
  heed_point_end(was);
  return number;
}

bool heed_param_read(const heed_op *op, const heed_param *p, const char *text,
                     int first, heed_attr *value) {
  char *end = NULL;
  bool ok = true;
  switch (p->kind) {
    case HEED_KIND_CHOICE: return read_choice(op, p, text, value);
    case HEED_KIND_BOOL:
      value->i = strcmp(text, "true") == 0;
      ok = value->i || strcmp(text, "false") == 0;
      break;
    case HEED_KIND_FLOAT:
      value->f = read_number(text, &end);
      ok = end != text && !*end;
      break;
    case HEED_KIND_DTYPE: {
      heed_dtype d;
      if (strcmp(text, "auto") == 0) {
        value->i = HEED_DTYPE_AUTO;
        break;
      }
      if (!heed_dtype_find(text, &d))
        return heed_fail_prefix("%s: ", op->name);
      value->i = d;
      break;
    }
    case HEED_KIND_AXES:
    case HEED_KIND_SHAPE:
      if (strcmp(text, "all") == 0)
        value->list.ndim = -1;
      else
        ok = read_list(text, p->kind == HEED_KIND_AXES, first, &value->list);
      break;
    default: {
      long long v = strtoll(text, &end, 10);
      ok = end != text && !*end;
      bool place = p->kind == HEED_KIND_AXIS || p->kind == HEED_KIND_POSITION;
      value->i = place && v > 0 ? v - first : v;
    }
  }
  return ok || heed_fail("%s: %s cannot be %s", op->name, p->name, text);
}

static void trim(char *s) {
  size_t n = strlen(s), lead = strspn(s, " ");
  memmove(s, s + lead, n - lead + 1);
  for (n -= lead; n > 0 && s[n - 1] == ' '; n--) s[n - 1] = '\0';
}

/* "name: kind", "name: kind?" or "name: kind = default". */
static bool parse_param(heed_op *op, heed_param *p, char *text) {
  char *colon = strchr(text, ':'), *equals = strchr(text, '=');
  if (!colon) return heed_fail("%s: bad signature: %s", op->name, text);
  *colon = '\0';
  char *kind = colon + 1, *value = NULL;
  if (equals) {
    *equals = '\0';
    trim(value = equals + 1);
    snprintf(p->shown, sizeof p->shown, "%s", value);
  }
  trim(text);
  trim(kind);
  if (strlen(text) >= sizeof p->name)
    return heed_fail("%s: parameter name too long: %s", op->name, text);
  strcpy(p->name, text);
  size_t n = strlen(kind);
  p->optional = equals != NULL;
  if (n > 0 && kind[n - 1] == '?') {
    p->optional = true;
    kind[n - 1] = '\0';
  }
  if (strchr(kind, '|')) {
    p->kind = HEED_KIND_CHOICE;
    snprintf(p->choices, sizeof p->choices, "%s", kind);
  } else {
    size_t k = 0, count = sizeof kinds / sizeof kinds[0];
    while (k < count && strcmp(kinds[k].name, kind) != 0) k++;
    if (k == count)
      return heed_fail("%s: unknown kind %s", op->name, kind);
    p->kind = kinds[k].kind;
  }
  if (p->kind == HEED_KIND_GENERATOR) p->optional = true;
  return !value || heed_param_read(op, p, value, 1, &p->value);
}

bool heed_ops_parse(heed_op *op) {
  char text[1024];
  snprintf(text, sizeof text, "%s", op->signature);
  op->nparam = op->ninput = 0;
  for (char *at = text; at;) {
    char *comma = strchr(at, ',');
    if (comma) *comma = '\0';
    if (op->nparam == HEED_MAX_PARAM)
      return heed_fail("%s: too many parameters", op->name);
    heed_param *p = &op->param[op->nparam++];
    if (!parse_param(op, p, at)) return false;
    /* what is overwritten must be a tensor */
    if (op->twin && op->nparam == 1) p->kind = HEED_KIND_TENSOR;
    if (p->kind <= HEED_KIND_TENSORS) op->ninput++;
    at = comma ? comma + 1 : NULL;
  }
  op->plain = op->nparam == op->ninput;
  for (int k = 0; k < op->nparam; k++)
    if (op->param[k].kind == HEED_KIND_TENSORS) op->plain = false;
  return true;
}
