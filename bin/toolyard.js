#!/usr/bin/env node
// Plain JavaScript for Node 20, so that an old Node gets a sentence instead of a syntax error.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const at = (/** @type {string} */ path) => new URL(`../${path}`, import.meta.url)
const exists = (/** @type {string} */ path) => existsSync(fileURLToPath(at(path)))

/** @param {string} message */
function stop(message) {
  if (process.argv.includes('--json')) console.log(JSON.stringify({ success: false, error: message }))
  else console.error(message)
  process.exit(2)
}

const isCheckout = exists('src/cli/entry.ts')
if (isCheckout && !exists('node_modules/commander/package.json')) {
  stop('The packages of this checkout are not installed yet: run "npm start" in its folder once.')
}
if (Number.parseInt(process.versions.node, 10) < 24) {
  const advice = isCheckout
    ? 'In the folder of this checkout "npm exec toolyard -- …" runs it on the Node among its packages.'
    : 'Install a newer one and try again.'
  stop(`toolyard needs Node 24 or newer, and this is ${process.version}. ${advice}`)
}

// In a checkout types are stripped by WebAssembly, in the thread of the store too; V8 (of Node 24.21) can free its code while
// the other thread uses it, and crashes.
if (isCheckout) setFlagsFromString('--no-wasm-code-gc')

await import(at(isCheckout ? 'src/cli/entry.ts' : 'dist/cli/entry.js').href)
