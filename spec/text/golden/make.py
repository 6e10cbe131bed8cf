"""Small tokenisers in the forms that models ship, trained on the lines of
../lines.lua, and the ids that the reference implementations (Hugging Face's
tokenizers, SentencePiece) give for each line: `python make.py`.

ids.safetensors holds, for each tokeniser, a number for each line: h = 0, then
h = (31 h + id + 1) mod 2^31 for each of its ids; and in `..._text` the same of
the bytes that the ids are decoded to.
"""
import base64
import os
import subprocess
import tempfile

import numpy
import sentencepiece
from safetensors.numpy import save_file
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models,
                        normalizers, pre_tokenizers, processors, trainers)

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = subprocess.run(["lua5.4", os.path.join(HERE, "..", "lines.lua")],
                      capture_output=True, check=True).stdout.decode()
LINES = TEXT.split("\n")[:-1]
hashes = {}

# Some characters and what stands for them, by their numbers in hexadecimal.
RULES = "\n".join("%s\t%s" % pair for pair in [
    ("FB01", "66 69"), ("FB03", "66 66 69"), ("2460", "31"), ("2461", "32"),
    ("FF21", "41"), ("FF22", "42"), ("FF01", "21"), ("3000", "20"),
    ("A0", "20"), ("9", "20"), ("200B", "20"), ("1", ""), ("7F", ""),
    ("65 301", "E9"), ("61 308 323", "1EA1 308"), ("FF76 FF9E", "30AC"),
    ("2026", "2E 2E 2E"), ("AD", "")]) + "\n"


def number(values):
    h = 0
    for i in values:
        h = (31 * h + i + 1) % 2**31
    return h


def add(name, encode, decode):
    ids = [encode(line) for line in LINES]
    hashes[name] = numpy.array([number(row) for row in ids])
    hashes[name + "_text"] = numpy.array(
        [number(decode(row).encode()) for row in ids])


def save(name, tokenizer):
    tokenizer.save(os.path.join(HERE, name + ".json"), pretty=False)
    add(name, lambda line: tokenizer.encode(line).ids, tokenizer.decode)


def wordpiece():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(LINES, trainers.WordPieceTrainer(
        vocab_size=700, show_progress=False, special_tokens=[
            "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    save("wordpiece", t)


def byte_level():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(LINES, trainers.BpeTrainer(
        vocab_size=900, show_progress=False, special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.add_tokens([AddedToken("camelCase", lstrip=True, normalized=False)])
    save("byte_level", t)


def byte_level_split():
    """The words of Llama 3, merges left out for whole words."""
    pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
               r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
               r"\s+(?!\S)|\s+")
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(LINES, trainers.BpeTrainer(
        vocab_size=700, show_progress=False,
        special_tokens=["<|begin|>", "<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(
            single="<|begin|> $A", pair="<|begin|> $A <|begin|> $B:1",
            special_tokens=[("<|begin|>", 0)])])
    save("byte_level_split", t)


def fallback():
    """As Llama 2 was converted: spaces are marks, bytes spell the rest."""
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True,
                             byte_fallback=True))
    t.normalizer = normalizers.Sequence([
        normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    common = [c for c in sorted(set(TEXT)) if TEXT.count(c) > 60]
    t.train_from_iterator(LINES, trainers.BpeTrainer(
        vocab_size=800, show_progress=False, limit_alphabet=len(common),
        special_tokens=["<unk>", "<s>", "</s>"] +
        ["<0x%02X>" % b for b in range(256)]))
    t.pre_tokenizer = None
    t.decoder = decoders.Sequence([
        decoders.Replace("\u2581", " "), decoders.ByteFallback(),
        decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    save("fallback", t)


def sentencepieces():
    with tempfile.TemporaryDirectory() as folder:
        text, rules = folder + "/text", folder + "/rules.tsv"
        with open(text, "w", newline="\n") as file:
            file.write(TEXT)
        with open(rules, "w") as file:
            file.write(RULES)
        for kind, more in ("unigram", {"user_defined_symbols": "C++"}), (
                "bpe", {"byte_fallback": True}):
            sentencepiece.SentencePieceTrainer.train(
                input=text, model_prefix=os.path.join(HERE, kind),
                model_type=kind, vocab_size=900, character_coverage=0.985,
                normalization_rule_tsv=rules, minloglevel=2, num_threads=1,
                max_sentence_length=8000, **more)
            os.remove(os.path.join(HERE, kind + ".vocab"))
            sp = sentencepiece.SentencePieceProcessor(
                model_file=os.path.join(HERE, kind + ".model"))
            add("sp_" + kind, sp.encode, sp.decode)
    from sentencepiece import sentencepiece_model_pb2 as pb
    proto = pb.ModelProto()
    with open(os.path.join(HERE, "unigram.model"), "rb") as file:
        proto.ParseFromString(file.read())
    t = Tokenizer(models.Unigram(
        [(p.piece, p.score) for p in proto.pieces], 0, False))
    t.normalizer = normalizers.Sequence([
        normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap),
        normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    t.add_special_tokens([AddedToken("<unk>"), AddedToken("<s>"),
                          AddedToken("</s>")])
    t.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 2)])
    save("metaspace", t)


wordpiece()
byte_level()
byte_level_split()
fallback()
sentencepieces()
save_file(hashes, os.path.join(HERE, "ids.safetensors"))
