import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

const WORTH_IT_BYTES = 1_024
/** Eleven would take ten times as long for three parts in a hundred. */
const QUALITY = 9

/** Writes each file once more, compressed, so that the server need not do it for every browser. */
export const precompress = (): Plugin => ({
  name: 'precompress',
  apply: 'build',
  writeBundle({ dir = '' }) {
    const folder = join(dir, 'assets')
    for (const name of readdirSync(folder)) {
      if (!/\.(js|css|svg)$/.test(name)) continue
      const content = readFileSync(join(folder, name))
      if (content.length < WORTH_IT_BYTES) continue
      writeFileSync(join(folder, `${name}.gz`), gzipSync(content, { level: 9 }))
      const params = { [constants.BROTLI_PARAM_QUALITY]: QUALITY }
      writeFileSync(join(folder, `${name}.br`), brotliCompressSync(content, { params }))
    }
  },
})
