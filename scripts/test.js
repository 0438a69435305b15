// Everything that CI runs: types, lint and format, then all tests. The last line is the sum: `N passed, N failed`.
// `--full` adds what takes minutes, `--times` prints how long each test file took. All other arguments go to vitest:
// `npm test -- src/core` runs the tests of one folder, after types and lint.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeDocsPrograms } from './docs-programs.js'

const SLOWEST = 10

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const scratch = mkdtempSync(join(tmpdir(), 'toolyard-test-'))
const total = { passed: 0, failed: 0, skipped: 0, todo: 0 }
const args = process.argv.slice(2)
const full = args.includes('--full')
const times = args.includes('--times')
const forVitest = args.filter((word) => !['--full', '--times'].includes(word))

const env = {
  ...process.env,
  // Programs that tests start find the modules compiled by the one before.
  NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'toolyard-test'),
  // The compiler is written in Go: it collects garbage less often.
  GOGC: '400',
  ...(full && { TOOLYARD_TEST_FULL: '1' }),
}

/**
 * @param {string[]} command a path in the repository, and its arguments
 * @param {{ output?: 'inherit' | 'pipe', more?: Record<string, string> }} [options]
 * @returns {Promise<{ passed: boolean, printed: string }>}
 */
function run([program = '', ...rest], { output = 'inherit', more = {} } = {}) {
  const child = spawn(process.execPath, [join(root, program), ...rest], {
    cwd: root,
    stdio: ['ignore', output, output],
    env: { ...env, ...more },
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (printed += text))
  return new Promise((resolve) => child.on('close', (code) => resolve({ passed: code === 0, printed })))
}

/**
 * @param {string} title
 * @param {string[]} command
 * @param {'inherit' | 'pipe'} [output] with `pipe` it is printed at the end, and only if something is wrong
 */
async function check(title, command, output = 'pipe') {
  const started = performance.now()
  const { passed, printed } = await run(command, { output })
  total[passed ? 'passed' : 'failed'] += 1
  if (!passed) console.log(printed)
  console.log(`${passed ? '✓' : '✗'} ${title} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
}

async function runTests() {
  const file = join(scratch, 'count.json')
  const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts', 'test-count.js')}`]
  const command = ['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...forVitest]
  const { passed } = await run(command, { more: { TOOLYARD_TEST_COUNT: file } })
  try {
    const { files, ...count } = JSON.parse(readFileSync(file, 'utf8'))
    for (const key of /** @type {const} */ (['passed', 'failed', 'skipped', 'todo'])) total[key] += count[key]
    printTimes(files)
  } catch {
    console.log('vitest ended without a count.')
    total.failed += 1
  }
  if (!passed && total.failed === 0) total.failed += 1
}

/** @param {{ file: string, ms: number }[]} files */
function printTimes(files) {
  const shown = files.toSorted((one, other) => other.ms - one.ms).slice(0, times ? files.length : SLOWEST)
  console.log(times ? 'Test files by time:' : `The ${shown.length} slowest test files:`)
  for (const { file, ms } of shown) console.log(`${(ms / 1000).toFixed(1).padStart(8)} s  ${file}`)
}

// Several checkers repeat a third of the work, and there are as many programs as cores already.
const TSC = ['node_modules/typescript/bin/tsc', '--noEmit', '--checkers', '1']
const programs = join(scratch, 'docs')
writeDocsPrograms(root, programs)
await Promise.all([
  check('types', [...TSC, '-p', programs]),
  check('types of the page', [...TSC, '-p', 'web']),
  check('lint and format', ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings']),
])
await runTests()
if (full) {
  await check('conformance of MCP', ['scripts/mcp-conformance.js'], 'inherit')
  await check('conformance to faults', ['scripts/conformance.js'], 'inherit')
}
rmSync(scratch, { recursive: true, force: true })

if (total.todo > 0) console.log(`${total.todo} to do`)
console.log(`${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}`)
process.exitCode = total.failed > 0 ? 1 : 0
