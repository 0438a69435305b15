#!/usr/bin/env node
// Plain JavaScript for Node 20, so that an old Node gets a sentence instead of a syntax error.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const at = (/** @type {string} */ path) => new URL(`../${path}`, import.meta.url)
const exists = (/** @type {string} */ path) => existsSync(fileURLToPath(at(path)))

if (Number.parseInt(process.versions.node, 10) < 24) {
  const advice = exists('node_modules/.bin/node')
    ? 'In the folder of this checkout "npm exec toolyard -- …" runs it on the Node 24 among its packages.'
    : 'Install a newer one and try again.'
  console.error(`toolyard needs Node 24 or newer, and this is ${process.version}. ${advice}`)
  process.exit(2)
}

await import(at(exists('src/cli/main.ts') ? 'src/cli/main.ts' : 'dist/cli/main.js').href)
