// Everything that CI runs: types, lint and format, then all tests. The last line is the sum: `N passed, N failed`.
// Arguments go to vitest: `npm test -- src/core` runs the tests of one folder, after types and lint.
// `--full` (`npm run test:full`) also runs what takes minutes, such as every knowledge scenario on PostgreSQL.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const scratch = mkdtempSync(join(tmpdir(), 'toolyard-test-'))
const full = process.argv.includes('--full')
const args = process.argv.slice(2).filter((arg) => arg !== '--full')
const total = { passed: 0, failed: 0, skipped: 0, todo: 0 }

/**
 * @param {string} program a path in node_modules
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
function run(program, args, env) {
  const all = [join(root, 'node_modules', program), ...args]
  return spawnSync(process.execPath, all, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  })
}

/**
 * @param {string} title
 * @param {string} program
 * @param {string[]} args
 */
function check(title, program, args) {
  console.log(`\n${title}`)
  const started = performance.now()
  const passed = run(program, args).status === 0
  total[passed ? 'passed' : 'failed'] += 1
  console.log(`${passed ? '✓' : '✗'} ${title} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
}

function runTests() {
  const file = join(scratch, 'count.json')
  const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts', 'test-count.js')}`]
  const { status } = run('vitest/vitest.mjs', ['run', ...reporters, ...args], {
    TOOLYARD_TEST_COUNT: file,
    ...(full && { TOOLYARD_TEST_FULL: '1' }),
  })
  try {
    const count = JSON.parse(readFileSync(file, 'utf8'))
    for (const key of /** @type {const} */ (['passed', 'failed', 'skipped', 'todo'])) total[key] += count[key]
  } catch {
    console.log('vitest ended without a count.')
    total.failed += 1
  }
  if (status !== 0 && total.failed === 0) total.failed += 1
}

check('types', 'typescript/bin/tsc', ['--noEmit'])
check('types of the page', 'typescript/bin/tsc', ['--noEmit', '-p', 'web'])
check('lint and format', '@biomejs/biome/bin/biome', ['check', '--error-on-warnings'])
runTests()
rmSync(scratch, { recursive: true, force: true })

if (total.todo > 0) console.log(`${total.todo} to do`)
console.log(`${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}`)
process.exitCode = total.failed > 0 ? 1 : 0
