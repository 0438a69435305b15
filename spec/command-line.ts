import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const program = fileURLToPath(new URL('../bin/toolyard.js', import.meta.url))

/** Runs the command line with a configuration of its own, as a user would. */
export function commandLine(config: object, ...words: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'toolyard-spec-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'toolyard.config.json')
  writeFileSync(file, JSON.stringify(config))
  const { stdout, stderr, status } = spawnSync(process.execPath, [program, ...words, '--config', file], {
    encoding: 'utf8',
  })
  return { stdout, stderr, status, file }
}
