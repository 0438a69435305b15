// `npm run release:check`: packs the three packages and checks their exports and types with publint and attw.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = mkdtempSync(join(tmpdir(), 'toolyard-release-'))

/** @param {string} program @param {string[]} args */
function run(program, ...args) {
  const { status } = spawnSync(program, args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) process.exitCode = 1
}

try {
  // Toolyard comes first: its build makes what the others ship.
  run('npm', 'pack', '--silent', '--pack-destination', folder)
  run('npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', folder, './packages/core', './packages/mini')
  for (const tarball of readdirSync(folder).sort()) {
    run('publint', '--strict', join(folder, tarball))
    run('attw', '--profile', 'esm-only', '--format', 'table-flipped', '--no-emoji', join(folder, tarball))
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
