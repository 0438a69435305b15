"""Trains the word vectors.   OUT=folder python words.py DATA GTE.npz [teacher=80] [made=60000]

DATA holds cases.json.gz (prepare.py), openapi.json.gz (openapi.py) and tokenizer.json; GTE.npz is made by weights.py of gte-small. A text is the sum of the
vectors of its tokens, so that comparing texts needs no model. gte-small is trained first, for `teacher` seconds, so that a request is nearer to its tool than
to the others of the batch. The vectors begin as what it makes of each token alone, and are trained with the same pairs and to order random tools, and the
tools nearest to a request, as it does. Those of four runs are averaged. Needs PyTorch and a GPU.
The vectors here: 440 steps of gte-small with 1,024 pairs, and runs of 1,394, 1,378, 3,504 and 471 steps with 2,048 pairs; 3 minutes on one H200.
Writes OUT/words.bin: one byte a number, a row per token, then one float32 per row, its scale.
"""
import gzip, json, os, random, re, sys, time, unicodedata
import numpy as np, torch, torch.nn.functional as F
import synth as S
DATA, GTE = sys.argv[1:3]; opt = dict(teacher=80, made=60000); OUT, D = os.environ['OUT'], 128
for a in sys.argv[3:]: k, v = a.split('=', 1); opt[k] = int(v)
dev = 'cuda'; torch.backends.cuda.matmul.allow_tf32 = True
T0 = time.time()
def log(*a): print(f'[{time.time()-T0:6.1f}]', *a, flush=True)
random.seed(1); rng = np.random.default_rng(1); torch.manual_seed(1); MAX = 56
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
X = json.load(gzip.open(f'{DATA}/cases.json.gz')); ops = json.load(gzip.open(f'{DATA}/openapi.json.gz'))
def params(t): return ' '.join(name_words(p['n']) for p in t['p'][:8])
def whole(t): return f"{name_words(t['n'])} {t['d'][:200]} {params(t)}"
texts, index = [], {}
def text(s):
    s = s[:600]
    if s not in index: index[s] = len(texts); texts.append(ids(s) or [VOCAB['.']])
    return index[s]
SHARE = dict(sgd=.15, clinc=.35, snips=.25, nlu_eval=.45, banking77=.6)
nat, syn, made = [], [], []
tools = [text(whole(t)) for t in X['tools']]
for src, q, t, _, _, rel in X['cases']:
    if t >= 0 and rel == 1 and random.random() < SHARE.get(src, 1): nat.append((text(q), tools[t]))
for c in S.generate(opt['made'], 7):
    if c[0] == 'synth' and c[2]: syn.append((text(c[1]), text(whole(c[2]))))
for t in X['tools'] + ops:
    if len(t['d']) < 12: continue
    made.append((text(t['d'][:200]), text(f"{name_words(t['n'])} {params(t)}")))
    first = t['d'].split('. ')[0]; rest = t['d'][len(first):].strip('. ')
    if len(rest) > 40: made.append((text(first), text(f"{name_words(t['n'])} {rest[:200]}")))
more = [text(whole(t)) for t in ops]
N = len(texts); I = np.zeros((N, MAX), np.int32); L = np.array([len(x) for x in texts])
for k, x in enumerate(texts): I[k, :len(x)] = x
I = torch.tensor(I, device=dev, dtype=torch.long); L = torch.tensor(L, device=dev)
P = [torch.tensor(x, device=dev) for x in (nat, syn, made)]
log(N, 'texts', [len(x) for x in P])
# ---------------- teacher
Z = np.load(GTE); cfg = json.loads(str(Z['config'])); H, A = cfg['hidden_size'], cfg['num_attention_heads']
W = {k: torch.tensor(Z[k].astype(np.float32) * (Z[k + '/scale'] if k + '/scale' in Z.files else 1), device=dev).requires_grad_() for k in Z.files if k != 'config' and not k.endswith('/scale')}
def ln(x, p): return F.layer_norm(x, (H,), W[p + '.weight'], W[p + '.bias'], cfg['layer_norm_eps'])
def lin(x, p): return F.linear(x, W[p + '.weight'], W[p + '.bias'])
def bert(rows):
    n = int(L[rows].max()); i = I[rows][:, :n]; B = len(rows); l = L[rows]
    t = torch.zeros(B, n + 2, dtype=torch.long, device=dev); t[:, 0] = CLS; t[:, 1:n + 1] = i; t[torch.arange(B, device=dev), l + 1] = SEP
    m = torch.arange(n + 2, device=dev)[None] < (l + 2)[:, None]
    x = ln(W['embeddings.word_embeddings.weight'][t] + W['embeddings.position_embeddings.weight'][:n + 2] + W['embeddings.token_type_embeddings.weight'][0], 'embeddings.LayerNorm')
    am = m[:, None, None, :]
    for k in range(cfg['num_hidden_layers']):
        p = f'encoder.layer.{k}.'; q, key, v = (lin(x, p + f'attention.self.{s}').view(B, n + 2, A, H // A).transpose(1, 2) for s in ('query', 'key', 'value'))
        a = F.scaled_dot_product_attention(q, key, v, attn_mask=am).transpose(1, 2).reshape(B, n + 2, H)
        x = ln(x + lin(a, p + 'attention.output.dense'), p + 'attention.output.LayerNorm')
        x = ln(x + lin(F.gelu(lin(x, p + 'intermediate.dense')), p + 'output.dense'), p + 'output.LayerNorm')
    x = (x * m[..., None]).sum(1) / m.sum(1, keepdim=True); return F.normalize(x.float(), dim=-1)
def every(f, rows, size=2048):
    rows = torch.as_tensor(rows, device=dev); order = L[rows].argsort(); out = None
    with torch.no_grad(), torch.autocast('cuda', torch.bfloat16):
        for c in order.split(size):
            e = f(rows[c]); out = torch.zeros(len(rows), e.shape[1], device=dev) if out is None else out; out[c] = e.float()
    return out
def nce(q, t, b, scale):
    s = q @ t.T * scale; same = (b[:, 1][None] == b[:, 1][:, None]) & ~torch.eye(len(b), dtype=torch.bool, device=dev); s = s.masked_fill(same, -1e4)
    lab = torch.arange(len(b), device=dev); return (F.cross_entropy(s, lab) + F.cross_entropy(s.T, lab)) / 2
def draw(n, mix):
    return torch.cat([p[torch.randint(len(p), (int(n * m),), device=dev)] for p, m in zip(P, mix)])
optim = torch.optim.AdamW(W.values(), lr=1e-5, weight_decay=.01); start = time.time(); step = 0
while (done := (time.time() - start) / opt['teacher']) < 1:
    lr = 6e-5 * min(1, step / 100) * (1 - done)
    for g in optim.param_groups: g['lr'] = lr
    b = draw(1024, (.4, .25, .35)); step += 1
    with torch.autocast('cuda', torch.bfloat16): q, t = bert(b[:, 0]), bert(b[:, 1])
    loss = nce(q, t, b, 25.); optim.zero_grad(); loss.backward(); torch.nn.utils.clip_grad_norm_(W.values(), 1.); optim.step()
    if step % 500 == 0: log('teacher', step, f'{float(loss):.3f}')
log('teacher', step)
TE = every(bert, np.arange(N)).half()
U = torch.tensor(sorted(set(tools) | set(more)), device=dev); TU = TE[U]; log('embedded', len(U), 'tools')
Q = torch.unique(torch.cat([P[0][:, 0], P[1][:, 0], P[2][:, 0]])); K = 96
TOP = torch.cat([(TE[c] @ TU.T).topk(K, dim=1).indices for c in Q.split(4096)]); log('nearest', len(Q), 'queries')
where = torch.full((N,), -1, device=dev, dtype=torch.long); where[Q] = torch.arange(len(Q), device=dev)
# ---------------- student
done_runs = []
for seed, weight, wt, LR in ((1, 1, 12, .004), (2, 2, 12, .004), (3, 1, 30, .002), (4, 1, 4, .012)):
    torch.manual_seed(seed)
    with torch.no_grad():
        alone = []
        for c in torch.arange(V, device=dev).split(1024):
            t = torch.stack([torch.full_like(c, CLS), c, torch.full_like(c, SEP)], 1); x = ln(W['embeddings.word_embeddings.weight'][t] + W['embeddings.position_embeddings.weight'][:3] + W['embeddings.token_type_embeddings.weight'][0], 'embeddings.LayerNorm')
            for k in range(cfg['num_hidden_layers']):
                p = f'encoder.layer.{k}.'; q, key, v = (lin(x, p + f'attention.self.{s}').view(len(c), 3, A, H // A).transpose(1, 2) for s in ('query', 'key', 'value'))
                a = F.scaled_dot_product_attention(q, key, v).transpose(1, 2).reshape(len(c), 3, H); x = ln(x + lin(a, p + 'attention.output.dense'), p + 'attention.output.LayerNorm'); x = ln(x + lin(F.gelu(lin(x, p + 'intermediate.dense')), p + 'output.dense'), p + 'output.LayerNorm')
            alone.append(F.normalize(x.mean(1), dim=-1))
        E = torch.cat(alone); share = torch.bincount(I[I > 0], minlength=V).float(); share /= share.sum(); E = E - (E * share[:, None]).sum(0)
        _, _, basis = torch.linalg.svd(E.T @ E); E = E @ basis[:D].T * (1e-3 / (1e-3 + share))[:, None]; E[0] = 0; E /= (E ** 2).sum(1).mean().sqrt()
    first = E.clone(); E = E.clone().requires_grad_(); scale = torch.tensor(2.6, device=dev, requires_grad=True)
    def stu(rows, keep=1., w=None):
        i = I[rows]; m = (i > 0).float()
        if keep < 1: m = m * (torch.rand(i.shape, device=dev) < keep)
        return F.normalize(F.embedding_bag(i, E if w is None else w, mode='sum', per_sample_weights=m), dim=-1, eps=1e-5)
    log(name, 'before'); optim = torch.optim.Adam([{'params': [E], 'lr': .02}, {'params': [scale], 'lr': .005}], betas=(.9, .99)); start = time.time(); step = 0
    while (done := (time.time() - start) / wt) < 1:
        optim.param_groups[0]['lr'] = LR * (1 - done); b = draw(2048, (.4, .25, .35)); step += 1
        q, t = stu(b[:, 0], .85), stu(b[:, 1], .9); sc = scale.exp(); loss = nce(q, t, b, sc)
        # The teacher's order of random tools and of its nearest ones.
        u = torch.randint(len(U), (2048,), device=dev); ss = q @ stu(U[u], .9).T * sc; ts = (TE[b[:, 0]] @ TU[u].T).float() * 25
        loss = loss + weight * F.kl_div(F.log_softmax(ss, 1), F.softmax(ts, 1), reduction='batchmean')
        h = where[b[:512, 0]]; pick = TOP[h][:, torch.randperm(K, device=dev)[:24]]; hs = torch.einsum('bd,bkd->bk', q[:512], stu(U[pick].view(-1), .9).view(512, 24, -1)) * sc; ht = torch.einsum('bd,bkd->bk', TE[b[:512, 0]].float(), TU[pick].float()) * 25
        loss = loss + weight * F.kl_div(F.log_softmax(hs, 1), F.softmax(ht, 1), reduction='batchmean')
        loss = loss + 1e-6 * ((E - first) ** 2).sum() * .1
        optim.zero_grad(); loss.backward(); optim.step()
        if step % 1000 == 0: log(seed, step, f'{float(loss):.3f} scale {float(sc):.1f}')
    done_runs.append(E.detach() / (E.detach() ** 2).sum(1).mean().sqrt()); log(seed, step, 'steps')
E = sum(done_runs) / len(done_runs); s = E.abs().max(1, keepdim=True).values / 127 + 1e-12
open(f'{OUT}/words.bin', 'wb').write((E / s).round().to(torch.int8).cpu().numpy().tobytes() + s.cpu().numpy().astype('<f4').tobytes())
