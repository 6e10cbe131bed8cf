#!/usr/bin/env python3
"""The translator of examples/translator.lua in PyTorch, for comparison.

It trains the same model as heed, from the same initial numbers, on the same
batches in the same order, and prints the same figures. All that defines the
run is read from one safetensors file, which heed exports; all that this script
adds is PyTorch.

  heed examples/translator.lua --data train.tsv --test test.tsv \\
    --export run.safetensors
  python3 bench/translator_torch.py run.safetensors --references test.tsv

For PyTorch at its best, let it keep its heap, and force no kernel on its BLAS:

  env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE \\
    MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=17179869184 \\
    MALLOC_TOP_PAD_=67108864 MALLOC_ARENA_MAX=2 \\
    python3 bench/translator_torch.py run.safetensors --references test.tsv

Needs torch, numpy, safetensors and sacrebleu.

The file
  Metadata, both JSON:
    config  d_model heads encoder_layers decoder_layers ff dropout norm_first
            tied vocab label_smoothing lr warmup steps clip weight_decay betas
            eps schedule seed pad bos eos
    vocab   the tokens as strings, by id
  Tensors, int64; ids and sentence numbers count from 1, offsets from 0:
    train.src train.tgt             tokens of all sentences, one after another,
                                    without <pad>, <bos>, <eos>
    train.src_offsets train.tgt_offsets   sentences + 1 bounds
    batches, batch_offsets          sentence numbers of each step, in order
    test.src, test.src_offsets      the distinct sources of the test, in order
                                    of first appearance in --references
  Tensors, float32, all or none:
    weight.NAME                     initial parameters, NAME as in Translator

The model
  source and target embeddings * sqrt(d_model) + sinusoidal positions, dropout,
  nn.Transformer (relu), linear head. `tied`: one matrix is both embeddings and
  the head's weight. Position p, from 0, has sin(p / 10000^(2i / d_model)) in
  column 2i and the cosine of the same angle in column 2i + 1.

The training
  Mean cross-entropy over the target tokens and <eos>, label smoothing spread
  over the whole vocabulary; AdamW; the norm of all gradients clipped to `clip`
  (0: not clipped). Step t, from 1, has the learning rate lr * f(t):
    constant      f = min(1, t / warmup)
    inverse_sqrt  f = min(t / warmup, sqrt(warmup / t))
    linear        f = min(t / warmup, (steps + 1 - t) / (steps - warmup))

The figures
  A target token is one that the model must predict: <eos> counts, <pad> and
  <bos> do not. Seconds are those of the training loop with the making of the
  batches, without reading the file and without decoding. Peak RSS is taken
  when training ends. BLEU is sacrebleu's default (13a, cased) on greedy
  translations, with all references of a source. A translation has at most
  2 * S + 10 tokens, S the longest source of its batch.
"""

import argparse
import json
import math
import os
import re
import resource
import sys
import time
import unicodedata

import numpy as np
import sacrebleu
import safetensors
import torch
from torch import nn
from torch.nn import functional as F

CONFIG_KEYS = """d_model heads encoder_layers decoder_layers ff dropout
  norm_first tied vocab label_smoothing lr warmup steps clip weight_decay betas
  eps schedule seed pad bos eos""".split()
FLAT = ("train.src", "train.tgt", "test.src")
BOUNDARY = "\u2581"  # begins each piece that begins a word
KEPT_HEAP = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")


class UsageError(Exception):
  """Something is wrong with what the user gave; the message says what."""


# Memory, in MiB.

def rss():
  with open("/proc/self/statm", encoding="ascii") as f:
    return int(f.read().split()[1]) * resource.getpagesize() / 2**20


def peak_rss():
  return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


# The file that heed exports.

class Ragged:
  """Lists of integers of different lengths, stored one after another."""

  def __init__(self, name, flat, offsets):
    if (len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(flat)
        or (np.diff(offsets) < 0).any()):
      raise UsageError(
        f"{name}: offsets must rise from 0 to {len(flat)}, its length")
    self.flat, self.offsets = flat, offsets

  def __len__(self):
    return len(self.offsets) - 1

  def __getitem__(self, i):
    return self.flat[self.offsets[i]:self.offsets[i + 1]]

  def longest(self):
    return int(np.diff(self.offsets).max(initial=0))


class Run:
  """One exported run, with everything counted from 0."""

  def __init__(self, path):
    try:
      with safetensors.safe_open(path, framework="pt") as f:
        metadata = f.metadata() or {}
        tensors = {name: f.get_tensor(name) for name in f.keys()}
    except (OSError, safetensors.SafetensorError) as e:
      raise UsageError(f"cannot read {path}: {e}") from e

    def from_json(key):
      try:
        return json.loads(metadata[key])
      except (KeyError, ValueError) as e:
        raise UsageError(f"{path}: metadata {key} must be JSON: {e!r}") from e

    def lists(name, offsets):
      pair = []
      for key in (name, offsets):
        if key not in tensors:
          raise UsageError(f"{path}: there is no tensor {key}")
        if tensors[key].dtype != torch.int64 or tensors[key].dim() != 1:
          raise UsageError(f"{path}: {key} must be int64 with one dimension, "
            f"got {tensors[key].dtype} {list(tensors[key].shape)}")
        pair.append(tensors[key].numpy())
      return Ragged(name, *pair)

    config = from_json("config")
    missing = [key for key in CONFIG_KEYS if key not in config]
    if missing:
      raise UsageError(f"{path}: config lacks {', '.join(missing)}")
    self.config = argparse.Namespace(**config)
    self.vocab = from_json("vocab")
    if len(self.vocab) != self.config.vocab:
      raise UsageError(f"{path}: vocab has {len(self.vocab)} tokens, config "
        f"says {self.config.vocab}")

    self.src, self.tgt, self.test = (
      lists(name, name + "_offsets") for name in FLAT)
    self.batches = lists("batches", "batch_offsets")
    if len(self.src) != len(self.tgt):
      raise UsageError(f"{path}: {len(self.src)} sources, {len(self.tgt)} "
        "targets")
    self.weights = {name.removeprefix("weight."): tensor
      for name, tensor in tensors.items() if name.startswith("weight.")}
    self._count_from_0()

  def _count_from_0(self):
    for key in ("pad", "bos", "eos"):
      setattr(self.config, key, getattr(self.config, key) - 1)
    bounds = ((self.src, len(self.vocab)), (self.tgt, len(self.vocab)),
      (self.test, len(self.vocab)), (self.batches, len(self.src)))
    for (ragged, last), name in zip(bounds, FLAT + ("batches",)):
      flat = ragged.flat
      if len(flat) and (flat.min() < 1 or flat.max() > last):
        raise UsageError(f"{name} must be in 1..{last}, got "
          f"{flat.min()}..{flat.max()}")
      ragged.flat = flat - 1

  def pad(self, rows, first=(), last=()):
    """The rows, each between `first` and `last`, as one tensor [B T]."""
    first, last = list(first), list(last)
    width = max(map(len, rows)) + len(first) + len(last)
    out = np.full((len(rows), width), self.config.pad, dtype=np.int64)
    for line, row in zip(out, rows):
      whole = np.concatenate((first, row, last))
      line[:len(whole)] = whole
    return torch.from_numpy(out)

  def text(self, ids):
    """What tokens spell: specials left out, `<0x41>` as its byte."""
    data = b""
    for piece in (self.vocab[i] for i in ids):
      if byte := re.fullmatch("<0x([0-9A-F]{2})>", piece):
        data += bytes.fromhex(byte[1])
      elif not re.fullmatch("<[a-z]+>", piece):
        data += piece.encode()
    text = data.decode(errors="replace").replace(BOUNDARY, " ")
    return text.removeprefix(" ")


# The model.

def positions(length, d_model):
  """The sinusoidal position table [length d_model]."""
  column = torch.arange(d_model)
  frequency = 10000.0 ** -((column - column % 2).double() / d_model)
  angle = torch.arange(length).double()[:, None] * frequency
  return torch.where(column % 2 == 0, angle.sin(), angle.cos()).float()


class Translator(nn.Module):
  def __init__(self, config, length):
    super().__init__()
    c = config
    self.pad, self.scale = c.pad, math.sqrt(c.d_model)
    self.src_embedding = nn.Embedding(c.vocab, c.d_model)
    self.tgt_embedding = nn.Embedding(c.vocab, c.d_model)
    layer = nn.TransformerEncoderLayer(c.d_model, c.heads, c.ff, c.dropout,
      norm_first=c.norm_first, batch_first=True)
    # nn.Transformer's own encoder, but for nested tensors, which change shapes.
    encoder = nn.TransformerEncoder(layer, c.encoder_layers,
      nn.LayerNorm(c.d_model), enable_nested_tensor=False)
    self.transformer = nn.Transformer(c.d_model, c.heads, c.encoder_layers,
      c.decoder_layers, c.ff, c.dropout, norm_first=c.norm_first,
      batch_first=True, custom_encoder=encoder)
    self.head = nn.Linear(c.d_model, c.vocab)
    self.dropout = nn.Dropout(c.dropout)
    self.register_buffer("table", positions(length, c.d_model),
      persistent=False)
    # In PyTorch true means: may not attend.
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    self.register_buffer("future", future, persistent=False)

    for embedding in (self.src_embedding, self.tgt_embedding):
      nn.init.normal_(embedding.weight, std=c.d_model ** -0.5)
    nn.init.zeros_(self.head.bias)
    if c.tied:
      self.tgt_embedding.weight = self.src_embedding.weight
      self.head.weight = self.src_embedding.weight

  def embed(self, embedding, tokens):
    x = embedding(tokens) * self.scale + self.table[:tokens.shape[1]]
    return self.dropout(x)  # [B T C]

  def encode(self, src):
    """What the decoder reads, [B S C], and which of it is padding, [B S]."""
    padding = src == self.pad
    x = self.embed(self.src_embedding, src)
    return self.transformer.encoder(x, src_key_padding_mask=padding), padding

  def decode(self, tgt, memory, padding):
    """The last hidden states, [B T C]. Targets need no padding mask: what
    follows the end is hidden from what is before it by the causal one."""
    n = tgt.shape[1]
    return self.transformer.decoder(self.embed(self.tgt_embedding, tgt),
      memory, tgt_mask=self.future[:n, :n], tgt_is_causal=True,
      memory_key_padding_mask=padding)

  def forward(self, src, tgt):
    return self.head(self.decode(tgt, *self.encode(src)))  # [B T vocab]

  def load(self, weights):
    """Sets the parameters. Tied ones may be there under any of their names."""
    names = {}  # of each parameter
    for name, parameter in self.named_parameters(remove_duplicate=False):
      names.setdefault(parameter, []).append(name)
    unknown = set(weights).difference(*names.values())
    if unknown:
      raise UsageError(f"weights of another model: {', '.join(unknown)}")
    for parameter, aliases in names.items():
      given = [weights[name] for name in aliases if name in weights]
      if not given:
        raise UsageError(f"there is no tensor weight.{aliases[0]}")
      for tensor in given:
        if tensor.shape != parameter.shape:
          raise UsageError(f"weight.{aliases[0]} must be "
            f"{list(parameter.shape)}, got {list(tensor.shape)}")
        if not torch.equal(tensor, given[0]):
          raise UsageError(f"{' and '.join(aliases)} are tied and must be "
            "equal")
      with torch.no_grad():
        parameter.copy_(given[0])


# Training.

def schedule(config):
  """The function f(t) of the head of this file."""
  warmup, steps = max(config.warmup, 1), config.steps
  after = {
    "constant": lambda t: 1.0,
    "inverse_sqrt": lambda t: math.sqrt(warmup / t),
    "linear": lambda t: (steps + 1 - t) / (steps - warmup),
  }
  if config.schedule not in after:
    raise UsageError(f"schedule must be one of {', '.join(after)}, got "
      f"{config.schedule}")
  return lambda t: t / warmup if t <= warmup else after[config.schedule](t)


def train(run, model, steps, log_every):
  """Trains and prints the loss; returns target tokens and seconds."""
  c = run.config
  factor = schedule(c)
  optimizer = torch.optim.AdamW(model.parameters(), lr=c.lr,
    betas=tuple(c.betas), eps=c.eps, weight_decay=c.weight_decay, fused=True)
  model.train()
  tokens, losses = 0, []
  start = time.perf_counter()
  for t in range(1, steps + 1):
    batch = run.batches[t - 1]
    src = run.pad([run.src[i] for i in batch])
    tgt = run.pad([run.tgt[i] for i in batch], first=[c.bos], last=[c.eos])
    labels = tgt[:, 1:]
    tokens += int((labels != c.pad).sum())

    logits = model(src, tgt[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(),
      ignore_index=c.pad, label_smoothing=c.label_smoothing)
    optimizer.zero_grad()
    loss.backward()
    if c.clip > 0:
      nn.utils.clip_grad_norm_(model.parameters(), c.clip)
    for group in optimizer.param_groups:
      group["lr"] = c.lr * factor(t)
    optimizer.step()

    losses.append(loss.item())
    if t == 1 or t % log_every == 0 or t == steps:
      seconds = time.perf_counter() - start
      print(f"step {t:6d}  loss {np.mean(losses):8.5f}  "
        f"tokens/s {tokens / seconds:7.0f}  seconds {seconds:7.1f}",
        flush=True)
      losses = []
  return tokens, time.perf_counter() - start


# Translation.

def longest_output(source):
  return 2 * source + 10


@torch.no_grad()
def translate_batch(run, model, sources):
  """Greedy translations of sources, as lists of ids."""
  c = run.config
  src = run.pad(sources)
  memory, padding = model.encode(src)
  out = torch.full((len(sources), 1), c.bos)
  ended = torch.zeros(len(sources), dtype=torch.bool)
  while out.shape[1] <= longest_output(src.shape[1]) and not ended.all():
    last = model.decode(out, memory, padding)[:, -1]
    out = torch.cat((out, model.head(last).argmax(-1, keepdim=True)), 1)
    ended |= out[:, -1] == c.eos
  rows = (row[1:] for row in out.tolist())
  return [row[:row.index(c.eos)] if c.eos in row else row for row in rows]


def translate(run, model, batch_size=64):
  """The translations of the test sources, as texts in their order."""
  model.eval()
  order = sorted(range(len(run.test)), key=lambda i: len(run.test[i]))
  texts = [None] * len(order)
  for first in range(0, len(order), batch_size):
    some = order[first:first + batch_size]
    rows = translate_batch(run, model, [run.test[i] for i in some])
    for i, row in zip(some, rows):
      texts[i] = run.text(row)
  return texts


def read_references(path):
  """For each source, in order of first appearance, its distinct targets."""
  groups = {}
  try:
    with open(path, encoding="utf-8-sig", newline="\n") as f:
      for line in f:
        fields = unicodedata.normalize("NFC", line).split("\t")
        source, target = (field.strip() for field in (fields + [""])[:2])
        if source and target:
          groups.setdefault(source, {})[target] = True
  except (OSError, UnicodeDecodeError) as e:
    raise UsageError(f"cannot read {path}: {e}") from e
  return [list(group) for group in groups.values()]


def bleu(hypotheses, references):
  """sacrebleu's score and its signature."""
  metric = sacrebleu.BLEU()
  most = max(map(len, references))
  # It wants the first references of all sentences, then the second ones, ...
  columns = [[group[k] if k < len(group) else None for group in references]
    for k in range(most)]
  score = metric.corpus_score(hypotheses, columns)
  return score.score, metric.get_signature()


def arguments():
  parser = argparse.ArgumentParser(
    formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
  add = parser.add_argument
  add("run", help="safetensors file that heed exported")
  add("--references", metavar="TSV",
    help="test pairs, for BLEU; no BLEU without")
  add("--out", metavar="FILE", help="write the translations, one a line")
  add("--threads", type=int, default=2, help="CPU threads (default: 2)")
  add("--steps", type=int, metavar="N",
    help="stop after N steps of the run; its schedule stays as it is")
  add("--log-every", type=int, default=100, metavar="N",
    help="print the mean loss of each N steps (default: 100)")
  args = parser.parse_args()
  for name in ("threads", "steps", "log_every"):
    value = getattr(args, name)
    if value is not None and value < 1:
      parser.error(f"--{name.replace('_', '-')} must be at least 1, "
        f"got {value}")
  return args


def show(name, value):
  print(f"{name:18s} {value}", flush=True)


def main(args):
  imported = rss()
  torch.set_num_threads(args.threads)
  run = Run(args.run)
  c = run.config
  references = args.references and read_references(args.references)
  if references and len(references) != len(run.test):
    raise UsageError(f"{args.references} has {len(references)} distinct "
      f"sources, the run has {len(run.test)}")
  steps = min(args.steps or len(run.batches), len(run.batches))

  torch.manual_seed(c.seed)
  # Target input has <bos> before it, translations while they grow too.
  model = Translator(c, max(run.src.longest(), run.tgt.longest() + 1,
    longest_output(run.test.longest()) + 1))
  if run.weights:
    model.load(run.weights)

  kept = all(name in os.environ for name in KEPT_HEAP)
  show("torch", f"{torch.__version__}, "
    f"{torch.backends.cpu.get_cpu_capability()}, "
    f"{torch.get_num_threads()} threads, "
    f"{'kept heap' if kept else 'heap given back (see --help)'}")
  show("parameters", sum(p.numel() for p in model.parameters()))
  show("initial weights", "from the run" if run.weights else "PyTorch's own")
  show("steps", f"{steps} of {c.steps}")

  tokens, seconds = train(run, model, steps, args.log_every)
  peak = peak_rss()
  show("target tokens", tokens)
  show("tokens/s", f"{tokens / seconds:.0f}")
  show("seconds", f"{seconds:.1f}")
  show("RSS after import", f"{imported:.0f} MiB")
  show("peak RSS", f"{peak:.0f} MiB")

  if references or args.out:
    start = time.perf_counter()
    hypotheses = translate(run, model)
    show("decoding seconds", f"{time.perf_counter() - start:.1f} (no cache)")
    if args.out:
      with open(args.out, "w", encoding="utf-8") as f:
        f.writelines(text + "\n" for text in hypotheses)
    if references:
      score, signature = bleu(hypotheses, references)
      show("BLEU", f"{score:.2f}  {signature}")


if __name__ == "__main__":
  try:
    main(arguments())
  except (UsageError, OSError) as error:
    sys.exit(f"translator_torch: {error}")
