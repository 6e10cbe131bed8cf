#!/usr/bin/env python3
"""Writes wordpiece.json beside it: what Hugging Face's tokenizers gives.

    pip install tokenizers
    python3 spec/text/wordpiece.py

A vocabulary is learnt from the texts; ids count from 0, as there.
"""
import json
import pathlib

from tokenizers import BertWordPieceTokenizer

TEXTS = [
    "The quick brown fox jumped over the lazy dog; the dog didn't care!",
    "Unaffable unaffableness, re-reading e-mails at 10:45 (UTC+2)?",
    "Où est le café? Élève, naïve, garçon, cœur, NOËL.",
    "Größe, Straße, ÄÖÜ, Weißwürste — »Anführung«",
    "Żółć, łódź, čeština, Dvořák, İstanbul, ışık",
    "Съешь ещё этих мягких французских булок, Йод.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία ΟΔΟΣ",
    "我们在北京大学学习自然语言处理。BERT模型",
    "日本語のテキスト、カタカナとひらがな ガギグ",
    "한국어 문장입니다. 안녕하세요!",
    "مرحبا بالعالم، كيف حالك؟ اللُّغَةُ",
    "שלום עולם! בְּרֵאשִׁית",
    "हिन्दी में लिखा हुआ वाक्य।",
    "สวัสดีชาวโลก ภาษาไทย",
    "tabs\tand\nnew lines\r\n  and\u00a0no-break\u3000wide spaces\u2003",
    "soft\u00adhyphen zero\u200bwidth joiner\u200d bom\ufeff nul\u0000 "
    "bad\ufffd",
    "emoji 😀 👨‍👩‍👧 flags 🇫🇷 ❤️ x² ½ ™ №5 ﬁne",
    "e\u0301 composed é, A\u030a Å, \u1e9b\u0323",
    "$5.00 <tag> a_b [x] ^ `q` ~ | \\ @user #hash 100%",
    "[CLS] special [MASK] tokens[SEP] in text [mask] [UNK]",
    "x" * 100 + " " + "x" * 101,
    "   ",
    "",
]


def ids(lowercase, strip_accents):
    t = BertWordPieceTokenizer(vocab=vocab, lowercase=lowercase,
                               strip_accents=strip_accents)
    encoded = [t.encode(s, add_special_tokens=False) for s in TEXTS]
    # places in characters of the text
    return {"lowercase": lowercase, "strip_accents": strip_accents,
            "ids": [e.ids for e in encoded],
            "offsets": [[list(p) for p in e.offsets] for e in encoded]}


trained = BertWordPieceTokenizer(lowercase=True)
trained.train_from_iterator(TEXTS[:20], vocab_size=420, min_frequency=2,
                            show_progress=False, limit_alphabet=260)
vocab = trained.get_vocab()
for token in "The", "É", "##ß", "straße", "x", "##x", "İ", "Noël":
    vocab.setdefault(token, len(vocab))
tokens = sorted(vocab, key=vocab.get)
pair = BertWordPieceTokenizer(vocab=vocab).encode(TEXTS[0], TEXTS[7])
out = {"tokens": tokens, "texts": TEXTS,
       "pair": {"ids": pair.ids, "parts": pair.type_ids},
       "cases": [ids(True, None), ids(False, None), ids(True, False),
                 ids(False, True)]}
path = pathlib.Path(__file__).with_name("wordpiece.json")
path.write_text(json.dumps(out, ensure_ascii=False,
                           separators=(",", ":")) + "\n")
