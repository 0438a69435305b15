#!/usr/bin/env node
// `npm create toolyard [folder] -- [options]` runs `toolyard init`.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const manifest = import.meta.resolve('toolyard/package.json')
const toolyard = fileURLToPath(new URL('bin/toolyard.js', manifest))
const { status } = spawnSync(process.execPath, [toolyard, 'init', ...process.argv.slice(2)], { stdio: 'inherit' })
process.exitCode = status ?? 1
