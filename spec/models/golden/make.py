"""Small models with random weights, and what the reference implementation
(Hugging Face's transformers) makes of them: `python make.py`.

Each folder is a model as heed.models.load reads it, with `expected.safetensors`
beside it: inputs and results, ids counted from 0.
"""
import json
import os

import torch
import transformers as t
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
torch.manual_seed(1)


def save(name, model, config, expected):
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    seen, state = {}, {}
    for key, value in model.state_dict().items():
        if value.data_ptr() not in seen:
            seen[value.data_ptr()] = key
            state[key] = value.contiguous().clone()
    save_file(state, os.path.join(folder, "model.safetensors"))
    save_file({k: v.contiguous() for k, v in expected.items()},
              os.path.join(folder, "expected.safetensors"))
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file, indent=1, sort_keys=True)
        file.write("\n")


def wild(model):
    """Weights that are far enough from 0 to show what goes wrong."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "embed_positions" in name:
                continue  # sines and cosines
            if p.ndim > 1:
                p.normal_(0, 0.3)
            elif name.endswith("bias"):
                p.normal_(0, 0.1)
            else:
                p.normal_(1, 0.1)
    return model.eval()


def plain(config, **more):
    keep = {k: v for k, v in config.to_dict().items()
            if isinstance(v, (int, float, str, bool, dict)) and
            not k.startswith("_") and k not in (
                "transformers_version", "dtype", "torch_dtype", "id2label",
                "label2id", "problem_type")}
    keep.update(more)
    return keep


@torch.no_grad()
def bert(name, config, kind):
    model = wild(kind(config, add_pooling_layer=True))
    pad = config.pad_token_id
    ids = torch.tensor([[2, 7, 9, 30, 3, 5], [2, 8, 3, pad, pad, pad]])
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
    out = model(ids, attention_mask=mask)
    save(name, model, plain(config), {
        "ids": ids, "lens": mask.sum(1), "hidden": out.last_hidden_state,
        "pooled": out.pooler_output})


@torch.no_grad()
def causal(name, config, kind, **more):
    model = wild(kind(config))
    ids = torch.tensor([[5, 17, 3, 22, 41, 8, 2, 30, 11, 19]])
    hidden = model(ids, output_hidden_states=True)
    greedy = model.generate(
        ids[:, :4], max_new_tokens=16, do_sample=False, eos_token_id=None,
        pad_token_id=0, attention_mask=torch.ones(1, 4, dtype=torch.int64))
    save(name, model, plain(config, **more), {
        "ids": ids, "logits": hidden.logits,
        "hidden": hidden.hidden_states[-1], "greedy": greedy})


@torch.no_grad()
def seq2seq(name, config, kind, own_head=False):
    model = kind(config)
    if own_head:  # as the files of T5 1.1 have it
        model.lm_head.weight = torch.nn.Parameter(
            torch.empty_like(model.lm_head.weight))
    wild(model)
    pad = config.pad_token_id
    src = torch.tensor([[5, 17, 3, 22, 41, 8, 2, 30, 11, config.eos_token_id],
                        [9, 4, 12, config.eos_token_id] + [pad] * 6])
    mask = torch.tensor([[1] * 10, [1] * 4 + [0] * 6])
    tgt = torch.tensor([[config.decoder_start_token_id, 7, 9, 2, 44]] * 2)
    out = model(input_ids=src, attention_mask=mask, decoder_input_ids=tgt)
    expected = {"src": src, "lens": mask.sum(1), "tgt": tgt,
                "logits": out.logits, "memory": out.encoder_last_hidden_state}
    for beam in (1, 4):
        found = model.generate(
            input_ids=src, attention_mask=mask, num_beams=beam,
            do_sample=False, max_new_tokens=12, length_penalty=1.0,
            early_stopping=False, bad_words_ids=[[pad]])
        expected["beam%d" % beam] = found
    config = plain(config)
    if own_head:
        config["tie_word_embeddings"] = False
        del config["scale_decoder_outputs"]
    save(name, model, config, expected)


bert("bert", t.BertConfig(
    vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
    intermediate_size=24, max_position_embeddings=12), t.BertModel)
bert("roberta", t.RobertaConfig(
    vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=24, max_position_embeddings=12, type_vocab_size=1,
    pad_token_id=1, layer_norm_eps=1e-5), t.RobertaModel)
causal("gpt2", t.GPT2Config(
    vocab_size=50, n_embd=16, n_layer=2, n_head=4, n_positions=24),
    t.GPT2LMHeadModel)
causal("llama", t.LlamaConfig(
    vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, intermediate_size=24, max_position_embeddings=64,
    rope_parameters={"rope_type": "llama3", "rope_theta": 50.0, "factor": 4.0,
                     "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                     "original_max_position_embeddings": 16}),
    t.LlamaForCausalLM)
causal("mistral", t.MistralConfig(
    vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=1, intermediate_size=24, max_position_embeddings=64,
    sliding_window=5, head_dim=6, attn_implementation="eager"),
    t.MistralForCausalLM)
causal("qwen2", t.Qwen2Config(
    vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=4, intermediate_size=24, max_position_embeddings=64,
    tie_word_embeddings=True), t.Qwen2ForCausalLM)
seq2seq("marian", t.MarianConfig(
    vocab_size=50, d_model=16, encoder_layers=2, decoder_layers=2,
    encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=24,
    decoder_ffn_dim=24, max_position_embeddings=32, pad_token_id=49,
    eos_token_id=0, decoder_start_token_id=49, scale_embedding=True,
    activation_function="swish", forced_eos_token_id=None), t.MarianMTModel)
seq2seq("t5", t.T5Config(
    vocab_size=50, d_model=16, d_kv=6, d_ff=24, num_layers=2, num_heads=4,
    relative_attention_num_buckets=8, relative_attention_max_distance=12,
    decoder_start_token_id=0), t.T5ForConditionalGeneration)
seq2seq("t5_gated", t.T5Config(
    vocab_size=50, d_model=16, d_kv=6, d_ff=24, num_layers=1, num_heads=4,
    relative_attention_num_buckets=8, relative_attention_max_distance=12,
    feed_forward_proj="gated-gelu", tie_word_embeddings=False,
    decoder_start_token_id=0), t.T5ForConditionalGeneration,
    own_head=True)
