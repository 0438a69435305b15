import { readdirSync } from 'node:fs'
import type { Command } from 'commander'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { captureTerminal } from '../../src/cli/fixtures/toolyard.ts'
import { createProgram } from '../../src/cli/main.ts'
import { normalized } from './normalized.ts'
import { openOffice } from './office.ts'
import { GoldenProject, type Ids, KEYS, type Line } from './project.ts'

/** A command line as one text, if no word has spaces. */
type Written = string | readonly string[] | Line

/** By command: what is run, twice: in one project as it is, and in another one with `--json`. */
const LINES: Readonly<Record<string, (ids: Ids) => readonly Written[]>> = {
  init: () => ['init new --yes', 'init other --kinds mock,mcp --provider openai', 'init asks', 'init new --yes'],
  serve: () => [
    { words: ['serve', '--port', '0'], until: /http:/ },
    { words: ['serve', '--port', '0'], until: /models {3}|"config"/, watched: true },
    'serve --port soon',
  ],
  exec: ({ pending, approved, rejected, foreign }) => [
    'exec weather city=Hamburg',
    'exec weather city=7 town=Hamburg',
    'exec wether',
    'exec calculate 7',
    'exec greet who=Ada',
    'exec greet@2.0.0 name=Ada',
    'exec greet@3.0.0',
    'exec calculate',
    'exec needs_key',
    'exec broken',
    'exec search_web query=stone',
    'exec pay amount=9',
    `exec pay amount=5 --approval ${pending}`,
    `exec pay amount=6 --approval ${approved}`,
    `exec pay amount=6 --approval ${approved}`,
    `exec pay amount=7 --approval ${rejected}`,
    `exec pay amount=8 --approval ${foreign}`,
    { words: ['exec', 'weather', '-'], stdin: '{"city":"Paris"}' },
    'exec weather --timeout soon',
  ],
  tools: () => ['tools', 'tools --check', ['tools', '--search', 'what is the weather'], 'tools --limit 3'],
  check: () => ['check', 'check --strict', 'check --config mcp.json', 'check --config nowhere.json'],
  chat: () => [
    ['chat', 'What is 20% of 80?', '--model', 'mini:v1'],
    ['chat', 'Hello', '--model', 'office:small'],
    ['chat', 'Hello', '--model', 'nobody:v1'],
    'chat Hello',
  ],
  validate: () => [
    'validate --suite sums.json --repeat 2 --gate 0.9 --report report.json',
    'validate --suite sums.json --models office:small --limit 1',
    'validate --generate',
    'validate --suite nowhere.json',
  ],
  models: () => [
    'models',
    'models office',
    'models nobody',
    'models add tiny.gguf',
    'models add nowhere.gguf',
    'models add-embeddings',
  ],
  mcp: () => [
    'mcp list --config mcp.json',
    'mcp list',
    'mcp test pages --config mcp.json',
    'mcp test gone --config gone.json',
    'mcp call gone find --config gone.json',
    'mcp test off --config mcp.json',
    'mcp call pages find query=stone --config mcp.json',
    'mcp approve pages --config mcp.json',
    'mcp approve pages --config mcp.json',
    'mcp approve pages --config gone.json',
    'mcp call pages find query=stone --config mcp.json',
    'mcp call pages fnd --config mcp.json',
    'mcp read pages page://1 --config mcp.json',
    'mcp login pages --config mcp.json',
    'mcp logout pages --config mcp.json',
    { words: ['mcp', 'serve', '--config', 'gone.json'], stdin: MESSAGES, until: /"id":3/ },
    { words: ['mcp', 'serve', '--http', '0'], until: /http:/ },
    'mcp serve --only part',
  ],
  import: () => [
    'import openapi pets.json --dry-run',
    'import openapi pets.json --prefix shop',
    'import openapi pets.json --prefix shop',
    'import openapi nowhere.json',
  ],
  pack: () => ['pack package --into out', 'pack nowhere'],
  add: () => ['add acme-tools-1.0.0.tgz', 'add acme-tools-1.0.0.tgz --yes', 'add nowhere.tgz --yes'],
  remove: () => ['remove @acme/tools', 'remove @acme/tools'],
  outdated: () => ['outdated'],
  packages: () => ['packages'],
  ingest: () => ['ingest documents', 'ingest pets.json --collection apis', 'ingest nowhere'],
  search: () => [
    ['search', 'how to descale'],
    ['search', 'granite', '--by', 'text', '--limit', '1', '--filter', 'lang=en'],
    'search nothing --collection empty',
    'search kettle --by vector',
  ],
  keys: () => [
    'keys list',
    'keys list --tenant nobody',
    'keys create --tenant acme --name new --role auditor --expires 90d --tools get_* --budget 10/month',
    'keys create --role nobody',
    `keys edit ${KEYS.page} --name web --expires 2030-01-31`,
    `keys rotate ${KEYS.ci} --grace 2h`,
    `keys revoke ${KEYS.page}`,
    'keys revoke user:acme/ada',
    'keys revoke none',
    'keys list',
    `keys restore ${KEYS.page}`,
    'keys restore none',
    'keys signing',
  ],
  tenants: () => [
    'tenants list',
    'tenants set acme beta=false gamma=true',
    'tenants set acme --unset beta',
    'tenants remove acme',
    'tenants remove nobody',
    'tenants list',
  ],
  approvals: ({ pending, approved }) => [
    'approvals list',
    'approvals list --status all',
    'approvals list --status rejected --tenant local',
    ['approvals', 'approve', pending, '--params', '{"amount":"much"}'],
    ['approvals', 'approve', pending, '--params', '{"amount":3}', '--reason', 'Half is enough'],
    `approvals reject ${approved}`,
    'approvals reject none',
    'approvals list --status all',
  ],
  connections: () => [
    'connections list',
    'connections list --tenant acme',
    'connections revoke octohub --user user:local/ada',
    'connections revoke octohub --user user:local/ada',
  ],
  secrets: () => [
    'secrets list',
    { words: ['secrets', 'set', 'OTHER_TOKEN'], stdin: 'another secret\n' },
    'secrets set no-name',
    'secrets remove OFFICE_TOKEN',
    'secrets remove OFFICE_TOKEN',
    'secrets list',
  ],
  rollout: () => [
    'rollout show',
    'rollout show weather',
    'rollout start greet --candidate 2.0.0 --percent 10 --by caller --max-error-increase 0.02',
    'rollout start greet --candidate 9.0.0 --percent 10',
    'rollout show greet',
    'rollout rollback greet',
    'rollout start greet --candidate 1.1.0 --percent 100',
    'rollout promote greet',
    'rollout reset greet',
    'rollout reset greet',
  ],
  versions: () => ['versions greet', 'versions nothing'],
  diff: () => ['diff greet@1.0.0 greet@1.1.0', 'diff greet@1.0.0 greet@2.0.0', 'diff greet@1.0.0 greet@3.0.0'],
  costs: () => [
    'costs',
    'costs --by tenant --from 2026-01-01 --to 2026-02-01',
    'costs --by key --period day',
    'costs --tenant nobody',
    'costs --from soon',
  ],
  audit: () => [
    'audit list',
    'audit list --limit 3',
    'audit list --type event --tenant acme',
    'audit list --tool weather --outcome failure',
    'audit list --tenant nobody',
    'audit export',
    'audit export --format json --type call',
    'audit verify',
  ],
  report: () => ['report --format json', 'report --format csv', 'report --from 2026-02-01 --to 2026-01-01'],
  objectives: () => ['objectives'],
  runs: () => [
    'runs list',
    'runs list --model other:model',
    'runs show run-1',
    'runs show none',
    'runs save run-1',
    'runs save run-1 --as-case --out cases.jsonl',
    'runs replay sum.cassette.json',
    'runs replay sums.json',
  ],
  validations: () => [
    'validations list',
    'validations export results.json',
    'validations import results.json --tenant acme',
    'validations list --tenant acme',
    'validations compare before.json before.json --all',
    'validations compare before.json sums.json',
  ],
  storage: () => [
    'storage rotate-key',
    'storage copy --to copy',
    'storage copy --to copy',
    'storage copy --to mysql://x',
  ],
  backup: () => ['backup saved', 'backup saved'],
  restore: () => ['backup saved', { words: ['restore', 'saved'], env: { TOOLYARD_DATA: 'restored' } }, 'restore saved'],
  demo: () => [{ words: ['demo'], lasts: 'silent_service' }],
  completion: () => ['completion bash', 'completion zsh', 'completion fish', 'completion tcsh'],
}

const message = (id: number, method: string, params: object) =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`
const MESSAGES = [
  message(1, 'initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'golden', version: '1' },
  }),
  message(2, 'tools/list', {}),
  message(3, 'tools/call', { name: 'echo', arguments: {} }),
].join('')

const lineOf = (written: Written): Line =>
  typeof written === 'string' ? { words: written.split(' ') } : 'words' in written ? written : { words: written }

const project = new GoldenProject()
let office: Awaited<ReturnType<typeof openOffice>>
let ids: Ids

beforeAll(async () => {
  office = await openOffice()
  ids = await project.prepare(office)
})
afterAll(async () => {
  await project.close()
  await office.close()
})

/** All commands that can be run, such as `keys list`, and those that hold them. */
async function commands(): Promise<{ readonly runnable: string[]; readonly all: string[] }> {
  const { terminal } = captureTerminal()
  const names = (await createProgram(terminal, [], () => {})).commands.map((command) => command.name())
  const program = await createProgram(terminal, names, () => {})
  const below = (command: Command, path: readonly string[]): { path: string; isLast: boolean }[] =>
    command.commands.flatMap((one) => {
      const own = [...path, one.name()]
      return [{ path: own.join(' '), isLast: one.commands.length === 0 }, ...below(one, own)]
    })
  const found = below(program, [])
  return { all: found.map(({ path }) => path), runnable: found.filter(({ isLast }) => isLast).map(({ path }) => path) }
}

/** One document on one line is shown on many. */
function shownOutput(out: string): string {
  try {
    const value: unknown = JSON.parse(out)
    if (out === `${JSON.stringify(value)}\n`) return `one line of JSON:\n${JSON.stringify(value, undefined, 2)}\n`
  } catch {
    // It is text.
  }
  return out
}

async function shown(line: Line): Promise<string> {
  const { code, out, err } = await project.run(line)
  const words = line.words.map((word) => (/\s/.test(word) ? `'${word}'` : word)).join(' ')
  const parts = [`$ toolyard ${words}${line.watched ? ' (on a terminal)' : ''}\nexit code ${code}\n`, shownOutput(out)]
  if (err !== '') parts.push(`stderr:\n${err}`)
  return parts.map((part) => (part === '' || part.endsWith('\n') ? part : `${part}(no line break)\n`)).join('')
}

async function runAll(lines: readonly Line[]): Promise<string[]> {
  await project.reset()
  const all: string[] = []
  for (const line of lines) all.push(await shown(line))
  return all
}

test('every command has golden files', async () => {
  const { runnable } = await commands()
  const run = Object.values(LINES).flatMap((lines) => lines(ids).map((line) => `${lineOf(line).words.join(' ')} `))
  expect(runnable.filter((path) => !run.some((line) => line.startsWith(`${path} `)))).toEqual([])
  const files = readdirSync(new URL('./commands', import.meta.url)).sort()
  expect(files).toEqual([...Object.keys(LINES), 'help'].map((name) => `${name}.txt`).sort())
})

test('the help', async () => {
  const { all } = await commands()
  const lines = [...['', '--help', '--version', '--help --json'], ...all.map((path) => `${path} --help`)]
  const outputs = await runAll(lines.map((line) => ({ words: line === '' ? [] : line.split(' ') })))
  await expect(normalized(outputs.join('\n'))).toMatchFileSnapshot('commands/help.txt')
})

test.each(Object.keys(LINES))('toolyard %s', async (name) => {
  const lines = LINES[name]?.(ids).map(lineOf) ?? []
  const plain = await runAll(lines)
  const json = await runAll(lines.map((line) => ({ ...line, words: [...line.words, '--json'] })))
  const both = plain.flatMap((text, index) => [text, json[index]])
  await expect(normalized(both.join('\n'))).toMatchFileSnapshot(`commands/${name}.txt`)
})
