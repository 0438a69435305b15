"""Trains the word vectors.   python words.py DATA BASE.npz OUT [size=128] [seconds=240]

DATA holds cases.json.gz (prepare.py), openapi.json.gz (openapi.py) and tokenizer.json; BASE.npz is made by weights.py. A text is the sum of the vectors of
its tokens, so that comparing texts needs no model. They begin as what the base model (all-MiniLM-L6-v2) makes of each token alone, and are trained so that
a query is nearer to its tool, and a description nearer to its name, than to the others of the batch. Needs NumPy only.
The vectors here: 277 steps of 1,024 pairs.
Writes OUT: one byte a number, a row per token, then one float32 per row, its scale.
"""
import gzip, json, os, random, re, sys, time, unicodedata
import numpy as np
DATA, BASE, OUT = sys.argv[1:4]; opt = dict(size=128, seconds=240, batch=1024, hold=1)
for a in sys.argv[4:]: k, v = a.split('=', 1); opt[k] = int(v)
T0 = time.time(); D, MAX = opt['size'], 56
def log(*a): print(f'[{time.time()-T0:6.1f}]', *a, flush=True)
random.seed(1); rng = np.random.default_rng(1)
# ---------------------------------------------------------------- tokens
VOCAB = json.load(open(f'{DATA}/tokenizer.json'))['model']['vocab']; V = len(VOCAB); CLS, SEP = VOCAB['[CLS]'], VOCAB['[SEP]']; known = {}
def word(w):
    r = known.get(w)
    if r is None:
        r, at = [], 0
        while at < len(w):
            end = len(w)
            while end > at and ('##' if at else '') + w[at:end] not in VOCAB: end -= 1
            if end == at: r = []; break
            r.append(VOCAB[('##' if at else '') + w[at:end]]); at = end
        known[w] = r
    return r
def ids(text):
    text = ''.join(c for c in unicodedata.normalize('NFD', text.lower()) if unicodedata.category(c) != 'Mn')
    return [i for w in re.findall(r'[^\W_]+', text) for i in word(w[:40])][:MAX]
def name_words(n): return re.sub(r'[_\-./]+', ' ', re.sub(r'(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])', ' ', n))
# ---------------------------------------------------------------- pairs
X = json.load(gzip.open(f'{DATA}/cases.json.gz')); ops = json.load(gzip.open(f'{DATA}/openapi.json.gz'))
HELD = {'toolalpaca', 'apibank_l1', 'apibank_l2', 'glaive', 'acebench'} if opt['hold'] else set()      # unseen, to see whether the vectors carry over
SHARE = dict(sgd=.15, clinc=.3, snips=.2, nlu_eval=.4, restaurant8k=.1, banking77=.6)
def params(t): return ' '.join(name_words(p['n']) for p in t['p'][:8])
def whole(t): return f"{name_words(t['n'])} {t['d'][:200]} {params(t)}"
texts, index = [], {}
def text(s):
    if s not in index: index[s] = len(texts); texts.append(ids(s[:600]) or [VOCAB['.']])
    return index[s]
tools = [text(whole(t)) for t in X['tools']]; pairs, held = [], []
for src, q, t, _, _, rel in X['cases']:
    if t < 0 or rel != 1: continue
    if src in HELD: held.append((text(q), tools[t]))
    elif random.random() < SHARE.get(src, 1): pairs.append((text(q), tools[t]))
made = []
for t in X['tools'] + ops:
    if len(t['d']) < 12: continue
    made.append((text(t['d'][:200]), text(f"{name_words(t['n'])} {params(t)}")))
    first = t['d'].split('. ')[0]; rest = t['d'][len(first):].strip('. ')
    if len(rest) > 40: made.append((text(first), text(f"{name_words(t['n'])} {rest[:200]}")))
L = np.array([len(x) for x in texts]); I = np.zeros((len(texts), MAX), np.int32)
for k, x in enumerate(texts): I[k, :len(x)] = x
log(len(texts), 'texts', len(pairs), 'pairs', len(made), 'of descriptions', len(held), 'held out')
# ---------------------------------------------------------------- where they begin
Z = np.load(BASE); cfg = json.loads(str(Z['config'])); H, A = cfg['hidden_size'], cfg['num_attention_heads']
W = {k: Z[k].astype(np.float32) * Z[k + '/scale'] if k + '/scale' in Z.files else Z[k].astype(np.float32) for k in Z.files if k != 'config' and not k.endswith('/scale')}
def norm(x, p): m = x.mean(-1, keepdims=True); return (x - m) / np.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + cfg['layer_norm_eps']) * W[p + '.weight'] + W[p + '.bias']
def lin(x, p): return (x.reshape(-1, x.shape[-1]) @ W[p + '.weight'].T + W[p + '.bias']).reshape(*x.shape[:-1], -1)
def gelu(x): return x / (1 + np.exp(-1.702 * x))
def alone(tokens):
    i = np.stack([np.full_like(tokens, CLS), tokens, np.full_like(tokens, SEP)], 1); n = len(i); d = H // A
    x = norm(W['embeddings.word_embeddings.weight'][i] + W['embeddings.position_embeddings.weight'][:3] + W['embeddings.token_type_embeddings.weight'][0], 'embeddings.LayerNorm')
    for k in range(cfg['num_hidden_layers']):
        p = f'encoder.layer.{k}.'; q, key, v = (lin(x, p + f'attention.self.{s}').reshape(n, 3, A, d).transpose(0, 2, 1, 3) for s in ('query', 'key', 'value'))
        s = q @ key.transpose(0, 1, 3, 2) / np.sqrt(d); s = np.exp(s - s.max(-1, keepdims=True)); s /= s.sum(-1, keepdims=True)
        x = norm(x + lin((s @ v).transpose(0, 2, 1, 3).reshape(n, 3, H), p + 'attention.output.dense'), p + 'attention.output.LayerNorm')
        x = norm(x + lin(gelu(lin(x, p + 'intermediate.dense')), p + 'output.dense'), p + 'output.LayerNorm')
    x = x.mean(1); return x / np.linalg.norm(x, axis=-1, keepdims=True)
BEGIN = f'{DATA}/alone.npy'
if not os.path.exists(BEGIN): np.save(BEGIN, np.concatenate([alone(np.arange(k, min(V, k + 1024))) for k in range(0, V, 1024)]).astype(np.float32))
E = np.load(BEGIN); log('base')
share = np.bincount(I[I > 0], minlength=V).astype(np.float32); share /= share.sum(); E -= (E * share[:, None]).sum(0)
_, _, basis = np.linalg.svd(E.T @ E); E = (E @ basis[:D].T * (1e-3 / (1e-3 + share))[:, None]).astype(np.float32); E[0] = 0
E /= np.sqrt((E ** 2).sum(1).mean())
# ---------------------------------------------------------------- training
def vec(rows, w, keep=1.):
    i = I[rows][:, :max(1, L[rows].max())]; m = (i > 0) & (rng.random(i.shape) < keep) if keep < 1 else i > 0
    x = (w[i] * m[..., None]).sum(1); n = np.sqrt((x ** 2).sum(1, keepdims=True)) + 1e-6; return x / n, n, i, m
def recall(some, w):
    a = np.array(sorted(set(tools))); q, t = np.array(some).T; T_ = np.concatenate([vec(a[k:k + 2048], w)[0] for k in range(0, len(a), 2048)])
    s = vec(q, w)[0] @ T_.T; r = (s > s[np.arange(len(q)), np.searchsorted(a, t)][:, None]).sum(1); return ' '.join(f'@{k} {(r < k).mean():.3f}' for k in (1, 5, 10))
held = random.sample(held or pairs, 600); log('before', recall(held, E))
P, M = np.array(pairs), np.array(made); B = opt['batch']; m1, m2 = np.zeros_like(E), np.zeros_like(E); scale, step, start, first = 14., 0, time.time(), E.copy()
while (done := (time.time() - start) / opt['seconds']) < 1:
    rows, grads = [], []; S = (P, M)[step % 2]; b = S[rng.integers(len(S), size=B)]; step += 1
    q, nq, iq, mq = vec(b[:, 0], E, .85); t, nt, it, mt = vec(b[:, 1], E, .9); s = q @ t.T * scale; s[(b[:, 1][None] == b[:, 1][:, None]) & ~np.eye(B, dtype=bool)] = -1e4
    p1 = np.exp(s - s.max(1, keepdims=True)); p1 /= p1.sum(1, keepdims=True); p2 = np.exp(s - s.max(0)); p2 /= p2.sum(0); d = (p1 + p2) / 2; d[np.arange(B), np.arange(B)] -= 1; d *= scale / B
    for x, n, i, m, dx in ((q, nq, iq, mq, d @ t), (t, nt, it, mt, d.T @ q)):
        dx = (dx - x * (dx * x).sum(1, keepdims=True)) / n; at = np.nonzero(m); rows.append(i[at]); grads.append(dx[at[0]])
    row = np.concatenate(rows); order = np.argsort(row, kind='stable'); some, begin = np.unique(row[order], return_index=True)
    gs = np.add.reduceat(np.concatenate(grads)[order], begin) + 2e-5 * (E[some] - first[some])
    m1[some] = .9 * m1[some] + .1 * gs; m2[some] = .99 * m2[some] + .01 * gs ** 2
    E[some] -= .02 * (1 - done) * m1[some] / (np.sqrt(m2[some]) + 1e-7)
    if step % 400 == 0: log(step, f'{-np.log(p1[np.arange(B), np.arange(B)] + 1e-9).mean():.3f}', recall(held, E))
s = np.abs(E).max(1, keepdims=True) / 127 + 1e-12; z = np.round(E / s).astype(np.int8); log(step, 'steps. In 8 bits:', recall(held, z * s.astype(np.float32)))
open(OUT, 'wb').write(z.tobytes() + s.astype('<f4').tobytes())
