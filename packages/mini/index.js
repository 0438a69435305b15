// A checkout runs its sources; the published package has dist/ only.
import { existsSync } from 'node:fs'

const source = new URL('./src/index.ts', import.meta.url)
const built = new URL('./dist/index.js', import.meta.url)

export const { createMini, findPackages, loadWordVectors, MiniError, MODEL, SCORES } = await import(
  (existsSync(source) ? source : built).href
)
