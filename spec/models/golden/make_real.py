"""What the reference implementations make of real models, which are not kept
here: `python make_real.py FOLDER_OF_MINILM FOLDER_OF_BERT_FIXTURE`.
"""
import os
import sys

import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from transformers import BertModel

HERE = os.path.dirname(os.path.abspath(__file__))
minilm, fixture = sys.argv[1:]

with open(os.path.join(HERE, "sentences.txt")) as file:
    sentences = file.read().split("\n")[:-1]
vectors = SentenceTransformer(minilm, device="cpu").encode(sentences)
save_file({"vectors": torch.tensor(vectors)},
          os.path.join(HERE, "minilm.safetensors"))

model = BertModel.from_pretrained(fixture, attn_implementation="eager").eval()
ids = torch.tensor([[2, 40, 17, 99, 250, 3], [2, 8, 3, 0, 0, 0]])
mask = torch.tensor([[1] * 6, [1, 1, 1, 0, 0, 0]])
with torch.no_grad():
    out = model(ids, attention_mask=mask)
save_file({"ids": ids, "hidden": out.last_hidden_state},
          os.path.join(HERE, "bert_fixture.safetensors"))
