"""python mix.py A.onnx B.onnx SHARE OUT.onnx: the weights of A and B of one graph, mixed (SHARE of B), rounded to 8 bits again."""
import sys
import numpy as np, onnx
from onnx import numpy_helper as H
a, b, share, out = onnx.load(sys.argv[1]), onnx.load(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
A, B = ({i.name: H.to_array(i) for i in m.graph.initializer} for m in (a, b))
other = {x: y for n, m in zip(a.graph.node, b.graph.node) for x, y in zip(n.input, m.input)}      # names of unnamed layers differ
mixed = {}
for n, v in A.items():
    if n.endswith(('_scale', '_zero_point')): continue
    w = B[other[n]]; assert v.shape == w.shape, n
    if n.endswith('_quantized'):
        whole = lambda T, k: (T[k].astype(np.float32) - T[k.replace('_quantized', '_zero_point')].astype(np.float32)) * T[k.replace('_quantized', '_scale')]
        m = (1 - share) * whole(A, n) + share * whole(B, other[n]); zero = A[n.replace('_quantized', '_zero_point')]
        if zero.ndim: scale = np.abs(m).max(0) / 127      # a layer: one scale per column
        else: scale = (m.max() - m.min()) / 255; zero = np.round(-m.min() / scale).astype(v.dtype); mixed[n.replace('_quantized', '_zero_point')] = np.asarray(zero)
        mixed[n] = np.clip(np.round(m / scale) + zero, np.iinfo(v.dtype).min, np.iinfo(v.dtype).max).astype(v.dtype)
        mixed[n.replace('_quantized', '_scale')] = np.asarray(scale, np.float32)
    elif v.dtype == np.float32: mixed[n] = ((1 - share) * v + share * w).astype(np.float32)
for i in a.graph.initializer:
    if i.name in mixed: i.CopyFrom(H.from_array(mixed[i.name], i.name))
onnx.save(a, out)
