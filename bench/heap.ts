/** Bytes in use after everything that can be collected was. Needs `--expose-gc`. */
export async function heapInUse(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.()
    // Finalisers and the collector's own clean-up run between turns of the loop.
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
