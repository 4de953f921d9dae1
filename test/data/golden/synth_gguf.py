#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""synth_gguf.py - write a valid GGUF v3 file with random weights.

  synth_gguf.py ARCH OUT.gguf [--type f16|f32|bf16] [--layers N] [--hidden N] [--ffn N]
                [--heads N] [--kv-heads N] [--head-dim N] [--vocab N] [--ctx N]
                [--window N] [--seed N] [--threads N] [--stress X]
  synth_gguf.py --list

ARCH is a preset name (see --list).  Any geometry value can be overridden.
Weights are a function of (seed, tensor name) only: the same command gives the
same file on any machine with the same numpy bit generator, whatever the number
of threads.  Needs python3 >= 3.8 and numpy, nothing else.

Scales: projections N(0, 1/fan_in), the two projections that write the residual
stream are further divided by sqrt(2*layers), embeddings N(0, 6.25/hidden) so
that tied logits have a standard deviation of about 2.5, norm gains 1+0.1*N,
biases 0.1*N.  Gemma's two post-norms have gain 4 (else the tied logits only echo
the input token).  1-D tensors (and the LFM2 conv kernel) are always stored in f32,
as the upstream converter does.
"""
import argparse, os, struct, sys, zlib
from concurrent.futures import ThreadPoolExecutor
import numpy as np

# ---------------------------------------------------------------- geometry
P = {
 # name:        arch    layers hidden ffn  heads kv  hd  vocab  ctx    extras
 'qwen3-0.6b': dict(arch='qwen3', layers=28, hidden=1024, ffn=3072, heads=16, kv_heads=8, head_dim=128, vocab=151936, ctx=40960, eps=1e-6, theta=1e6, tied=True),
 'qwen3-1.7b': dict(arch='qwen3', layers=28, hidden=2048, ffn=6144, heads=16, kv_heads=8, head_dim=128, vocab=151936, ctx=40960, eps=1e-6, theta=1e6, tied=True),
 'qwen2.5-0.5b': dict(arch='qwen2', layers=24, hidden=896, ffn=4864, heads=14, kv_heads=2, head_dim=64, vocab=151936, ctx=32768, eps=1e-6, theta=1e6, tied=True),
 'qwen2.5-3b': dict(arch='qwen2', layers=36, hidden=2048, ffn=11008, heads=16, kv_heads=2, head_dim=128, vocab=151936, ctx=32768, eps=1e-6, theta=1e6, tied=True),
 'llama3.2-1b': dict(arch='llama', layers=16, hidden=2048, ffn=8192, heads=32, kv_heads=8, head_dim=64, vocab=128256, ctx=131072, eps=1e-5, theta=5e5, tied=True),
 'gemma2-2b': dict(arch='gemma2', layers=26, hidden=2304, ffn=9216, heads=8, kv_heads=4, head_dim=256, vocab=256000, ctx=8192, eps=1e-6, theta=1e4, tied=True, window=4096),
 'gemma3-1b': dict(arch='gemma3', layers=26, hidden=1152, ffn=6912, heads=4, kv_heads=1, head_dim=256, vocab=262144, ctx=32768, eps=1e-6, theta=1e6, tied=True, window=512),
 'lfm2-350m': dict(arch='lfm2', layers=16, hidden=1024, ffn=4608, heads=16, kv_heads=8, head_dim=64, vocab=65536, ctx=128000, eps=1e-5, theta=1e6, tied=True, attn_layers=[2, 5, 8, 10, 12, 14], l_cache=3),
 'minilm': dict(arch='bert', layers=6, hidden=384, ffn=1536, heads=12, kv_heads=12, head_dim=32, vocab=30522, ctx=512, eps=1e-12, tied=True),
 'mpnet': dict(arch='bert', layers=12, hidden=768, ffn=3072, heads=12, kv_heads=12, head_dim=64, vocab=30527, ctx=512, eps=1e-12, tied=True),
}
T = dict(hidden=256, ffn=512, heads=4, kv_heads=2, head_dim=64, vocab=512, ctx=2048)
for n, b, o in [('tiny-qwen3', 'qwen3-0.6b', dict(layers=3, head_dim=128)),
                ('tiny-qwen3moe', 'qwen3-0.6b', dict(arch='qwen3moe', layers=2, ffn=256, experts=8, used=3)),
                ('tiny-qwen2', 'qwen2.5-3b', dict(layers=3)),
                ('tiny-llama', 'llama3.2-1b', dict(layers=3)),
                ('tiny-gemma2', 'gemma2-2b', dict(layers=4, head_dim=128, window=16)),
                ('tiny-gemma3', 'gemma3-1b', dict(layers=7, kv_heads=1, head_dim=128, window=16)),
                ('tiny-lfm2', 'lfm2-350m', dict(layers=4, attn_layers=[1, 3])),
                ('tiny-lfm2-embedding', 'lfm2-350m', dict(layers=4, attn_layers=[1, 3], pooling=2)),
                ('tiny-bert', 'minilm', dict(layers=3, kv_heads=4, ctx=512))]:
    P[n] = {**P[b], **T, **o}

GGML = {'f32': (0, 4), 'f16': (1, 2), 'bf16': (30, 2)}

# ---------------------------------------------------------------- tensors
def tensors(c):
    """yield (name, ne (innermost first), kind); kind: w r e n b p"""
    H, F, L, V = c['hidden'], c['ffn'], c['layers'], c['vocab']
    hd, nh = c['head_dim'], c['heads']
    a = c['arch']
    yield 'token_embd.weight', (H, V), 'e'
    if a == 'bert':
        yield 'token_types.weight', (H, 2), 'p'
        yield 'position_embd.weight', (H, c['ctx']), 'p'
        yield 'token_embd_norm.weight', (H,), 'n'
        yield 'token_embd_norm.bias', (H,), 'b'
    elif a == 'lfm2':
        yield 'token_embd_norm.weight', (H,), 'n'      # the final norm, so named upstream
    else:
        yield 'output_norm.weight', (H,), 'n'
    if not c['tied'] and a != 'bert':
        yield 'output.weight', (H, V), 'e'
    for i in range(L):
        b = f'blk.{i}.'
        nkv = c['kv_heads']
        if a == 'bert':
            for s, o in (('q', nh * hd), ('k', nkv * hd), ('v', nkv * hd)):
                yield b + f'attn_{s}.weight', (H, o), 'w'
                yield b + f'attn_{s}.bias', (o,), 'b'
            yield b + 'attn_output.weight', (nh * hd, H), 'r'
            yield b + 'attn_output.bias', (H,), 'b'
            yield b + 'attn_output_norm.weight', (H,), 'n'
            yield b + 'attn_output_norm.bias', (H,), 'b'
            yield b + 'ffn_up.weight', (H, F), 'w'
            yield b + 'ffn_up.bias', (F,), 'b'
            yield b + 'ffn_down.weight', (F, H), 'r'
            yield b + 'ffn_down.bias', (H,), 'b'
            yield b + 'layer_output_norm.weight', (H,), 'n'
            yield b + 'layer_output_norm.bias', (H,), 'b'
            continue
        yield b + 'attn_norm.weight', (H,), 'n'
        if a == 'lfm2' and i not in c['attn_layers']:
            yield b + 'shortconv.conv.weight', (c['l_cache'], H), 'c'
            yield b + 'shortconv.in_proj.weight', (H, 3 * H), 'w'
            yield b + 'shortconv.out_proj.weight', (H, H), 'r'
        else:
            for s, o in (('q', nh * hd), ('k', nkv * hd), ('v', nkv * hd)):
                yield b + f'attn_{s}.weight', (H, o), 'w'
                if a == 'qwen2':
                    yield b + f'attn_{s}.bias', (o,), 'b'
            yield b + 'attn_output.weight', (nh * hd, H), 'r'
            if a in ('qwen3', 'qwen3moe', 'gemma3', 'lfm2'):
                yield b + 'attn_q_norm.weight', (hd,), 'n'
                yield b + 'attn_k_norm.weight', (hd,), 'n'
        if a in ('gemma2', 'gemma3'):
            yield b + 'post_attention_norm.weight', (H,), 'N'
            yield b + 'post_ffw_norm.weight', (H,), 'N'
        yield b + 'ffn_norm.weight', (H,), 's'
        if a == 'qwen3moe':
            E = c['experts']
            yield b + 'ffn_gate_inp.weight', (H, E), 'g'
            yield b + 'ffn_gate_exps.weight', (H, F, E), 'w'
            yield b + 'ffn_up_exps.weight', (H, F, E), 'w'
            yield b + 'ffn_down_exps.weight', (F, H, E), 'r'
            continue
        yield b + 'ffn_gate.weight', (H, F), 'w'
        yield b + 'ffn_up.weight', (H, F), 'w'
        yield b + 'ffn_down.weight', (F, H), 'r'

# ---------------------------------------------------------------- metadata
U32, I32, F32, BOOL, STR, ARR = 4, 5, 6, 7, 8, 9
def s(x):
    x = x.encode('utf-8'); return struct.pack('<Q', len(x)) + x
def enc(t, v):
    if t == U32: return struct.pack('<I', v)
    if t == I32: return struct.pack('<i', v)
    if t == F32: return struct.pack('<f', v)
    if t == BOOL: return struct.pack('<?', v)
    if t == STR: return s(v)
    et, vs = v
    head = struct.pack('<IQ', et, len(vs))
    if et == STR: return head + b''.join(map(s, vs))
    return head + np.asarray(vs, {U32: '<u4', I32: '<i4', F32: '<f4', BOOL: '?'}[et]).tobytes()

def byte_tokens():
    """the 256 gpt2 byte tokens, in byte order"""
    keep = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    n, out = 0, []
    for b in range(256):
        if b in keep: out.append(chr(b))
        else: out.append(chr(256 + n)); n += 1
    return out

def metadata(c, name, ftype):
    a = c['arch']
    kv = [('general.architecture', STR, a), ('general.type', STR, 'model'),
          ('general.name', STR, f'synthetic {name} (random weights)'),
          ('general.file_type', U32, {'f32': 0, 'f16': 1, 'bf16': 32}[ftype]),
          (f'{a}.block_count', U32, c['layers']), (f'{a}.context_length', U32, c['ctx']),
          (f'{a}.embedding_length', U32, c['hidden']), (f'{a}.feed_forward_length', U32, c['ffn']),
          (f'{a}.attention.head_count', U32, c['heads']), (f'{a}.vocab_size', U32, c['vocab'])]
    if a == 'lfm2':
        kv += [(f'{a}.attention.head_count_kv', ARR, (I32, [c['kv_heads'] if i in c['attn_layers'] else 0 for i in range(c['layers'])])),
               (f'{a}.shortconv.l_cache', U32, c['l_cache'])]
        if 'pooling' in c:
            kv += [(f'{a}.attention.causal', BOOL, False), (f'{a}.pooling_type', U32, c['pooling'])]
    else:
        kv.append((f'{a}.attention.head_count_kv', U32, c['kv_heads']))
    if a == 'bert':
        kv += [(f'{a}.attention.layer_norm_epsilon', F32, c['eps']), (f'{a}.attention.causal', BOOL, False),
               (f'{a}.pooling_type', U32, 1), ('tokenizer.ggml.token_type_count', U32, 2)]
    else:
        kv += [(f'{a}.attention.layer_norm_rms_epsilon', F32, c['eps']), (f'{a}.rope.freq_base', F32, c['theta']),
               (f'{a}.attention.key_length', U32, c['head_dim']), (f'{a}.attention.value_length', U32, c['head_dim']),
               (f'{a}.rope.dimension_count', U32, c['head_dim'])]
    if a == 'qwen3moe':
        kv += [(f'{a}.expert_count', U32, c['experts']), (f'{a}.expert_used_count', U32, c['used']),
               (f'{a}.expert_feed_forward_length', U32, c['ffn'])]
    if a in ('gemma2', 'gemma3'):
        kv.append((f'{a}.attention.sliding_window', U32, c['window']))
    if a == 'gemma2':
        kv += [(f'{a}.attn_logit_softcapping', F32, 50.0), (f'{a}.final_logit_softcapping', F32, 30.0)]
    V = c['vocab']
    toks = byte_tokens(); n_real = len(toks)
    assert V >= n_real + 4, 'vocab must be at least 260'
    toks += [f'<t{i}>' for i in range(n_real, V - 4)] + ['<|bos|>', '<|eos|>', '<|unk|>', '<|pad|>']
    typ = [1] * n_real + [4] * (V - 4 - n_real) + [3] * 4       # normal, user-defined, control
    kv += [('tokenizer.ggml.model', STR, 'gpt2'), ('tokenizer.ggml.pre', STR, 'gpt-2'),
           ('tokenizer.ggml.tokens', ARR, (STR, toks)), ('tokenizer.ggml.token_type', ARR, (I32, typ)),
           ('tokenizer.ggml.merges', ARR, (STR, [])),
           ('tokenizer.ggml.bos_token_id', U32, V - 4), ('tokenizer.ggml.eos_token_id', U32, V - 3),
           ('tokenizer.ggml.unknown_token_id', U32, V - 2), ('tokenizer.ggml.padding_token_id', U32, V - 1),
           ('tokenizer.ggml.add_bos_token', BOOL, False), ('tokenizer.ggml.add_eos_token', BOOL, False)]
    return kv

# ---------------------------------------------------------------- writing
def to_type(x, t):
    if t == 'f32': return x
    if t == 'f16': return x.astype(np.float16)
    u = x.view(np.uint32)                                        # round to nearest even
    return ((u + 0x7fff + ((u >> 16) & 1)) >> 16).astype(np.uint16)

def fill(mm, off, name, ne, kind, t, seed, layers, hidden, stress):
    n = int(np.prod(ne)); fan_in = ne[0]
    mean = 0.0
    if kind == 'w' or kind == 'g': sd = fan_in ** -0.5
    elif kind == 'r': sd = fan_in ** -0.5 / (2 * layers) ** 0.5
    elif kind == 'e': sd = 2.5 / hidden ** 0.5
    elif kind == 'p': sd = 1.0 / hidden ** 0.5
    elif kind == 'c': sd = 0.6
    elif kind == 'n': sd, mean = 0.1, 1.0
    elif kind == 'N': sd, mean = 0.4, 4.0
    elif kind == 's': sd, mean = 0.1 * stress, stress
    else: sd = 0.1
    rng = np.random.Generator(np.random.SFC64([seed, zlib.crc32(name.encode())]))
    es = GGML[t][1]; step = 1 << 20; pos = 0
    while pos < n:
        m = min(step, n - pos)
        x = rng.standard_normal(m, dtype=np.float32)
        x *= np.float32(sd)
        if mean: x += np.float32(mean)
        mm[off + pos * es: off + (pos + m) * es] = to_type(x, t).view(np.uint8)
        pos += m

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('arch', nargs='?'); ap.add_argument('out', nargs='?')
    ap.add_argument('--list', action='store_true')
    ap.add_argument('--type', default='f16', choices=list(GGML))
    for k in ('layers', 'hidden', 'ffn', 'heads', 'kv-heads', 'head-dim', 'vocab', 'ctx', 'window'):
        ap.add_argument('--' + k, type=int)
    ap.add_argument('--stress', type=float, default=1.0, help='gain of the norm before the FFN: X makes the input of ffn_down about X*X (X=300: beyond the f16 range)')
    ap.add_argument('--seed', type=int, default=1); ap.add_argument('--threads', type=int, default=os.cpu_count())
    o = ap.parse_args()
    if o.list or not o.out:
        for k, v in P.items(): print(f'{k:14s} {v}')
        return 0 if o.list else 2
    c = dict(P[o.arch])
    for k in ('layers', 'hidden', 'ffn', 'heads', 'kv_heads', 'head_dim', 'vocab', 'ctx', 'window'):
        if getattr(o, k) is not None: c[k] = getattr(o, k)
    if c['arch'] == 'lfm2': c['attn_layers'] = [i for i in c['attn_layers'] if i < c['layers']]

    kv = metadata(c, o.arch, o.type)
    infos, off, jobs = b'', 0, []
    for name, ne, kind in tensors(c):
        t = 'f32' if len(ne) == 1 or kind in 'cpg' else o.type
        gt, es = GGML[t]
        infos += s(name) + struct.pack('<I', len(ne)) + struct.pack(f'<{len(ne)}Q', *ne) + struct.pack('<IQ', gt, off)
        jobs.append((off, name, ne, kind, t))
        off += (int(np.prod(ne)) * es + 31) // 32 * 32
    head = b'GGUF' + struct.pack('<IQQ', 3, len(jobs), len(kv))
    head += b''.join(s(k) + struct.pack('<I', t) + enc(t, v) for k, t, v in kv) + infos
    head += b'\0' * (-len(head) % 32)
    with open(o.out, 'wb') as f:
        f.write(head); f.truncate(len(head) + off)
    mm = np.memmap(o.out, np.uint8, 'r+')
    with ThreadPoolExecutor(max(1, o.threads)) as ex:
        for r in [ex.submit(fill, mm, len(head) + j[0], *j[1:], o.seed, c['layers'], c['hidden'], o.stress) for j in jobs]: r.result()
    mm.flush()
    print(f'{o.out}: {o.arch} {o.type} {len(jobs)} tensors, {sum(int(np.prod(j[2])) for j in jobs)/1e6:.1f} M parameters, {(len(head)+off)/2**20:.1f} MiB')
    return 0

sys.exit(main())
