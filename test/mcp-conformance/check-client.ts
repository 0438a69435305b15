import { fileURLToPath } from 'node:url'
import { runSuite } from './run-suite.ts'

const PROGRAM = fileURLToPath(new URL('client.ts', import.meta.url))

/** The runs, what the client of the SDK's authors reaches in them, and what cannot be passed. */
const RUNS = [
  {
    version: '0.1.16',
    folder: 'conformance-0.1',
    revision: undefined,
    reference: 24,
    of: 26,
    // An issuer that is not the one asked for, which newer versions of the suite have fixed; and an extension.
    known: ['auth/2025-03-26-oauth-metadata-backcompat', 'auth/cross-app-access-complete-flow'],
  },
  {
    version: '0.2.0-alpha.12',
    folder: '@modelcontextprotocol/conformance',
    revision: '2025-11-25',
    reference: 18,
    of: 18,
    known: [],
  },
  {
    version: '0.2.0-alpha.12',
    folder: '@modelcontextprotocol/conformance',
    revision: '2026-07-28',
    reference: 32,
    of: 32,
    known: [],
  },
] as const

/** Runs the client scenarios one after the other, and prints a table. Gives the number of rows that are not as they should be. */
export async function checkClient(): Promise<number> {
  let wrong = 0
  console.log('| client: suite | passed | reference | not passed |\n| --- | --- | --- | --- |')
  for (const { version, folder, revision, reference, of, known } of RUNS) {
    const scenarios = await scenariosOf(folder, revision)
    const failing: string[] = []
    for (const scenario of scenarios) {
      const { printed, passed } = await runScenario(folder, scenario, revision)
      if (passed) continue
      failing.push(scenario)
      if (!(known as readonly string[]).includes(scenario)) console.error(printed)
    }
    const passed = scenarios.length - failing.length
    const name = `conformance ${version} ${revision === undefined ? 'all' : `\`--requirements ${revision}\``}`
    console.log(`| ${name} | ${passed}/${scenarios.length} | ${reference}/${of} | ${failing.join(', ') || 'none'} |`)
    if (passed < reference || scenarios.length < of) wrong++
  }
  return wrong
}

async function scenariosOf(folder: string, revision: string | undefined): Promise<string[]> {
  const asked = revision === undefined ? ['--client'] : ['--requirements', revision]
  const { printed } = await runSuite(folder, ['list', ...asked])
  const [, after = ''] = printed.split('Client scenarios')
  const [list = ''] = after.split('\n\n')
  return [...list.matchAll(/^ {2}- (\S+)/gm)].map(([, name = '']) => name)
}

/** `--requirements` itself would run all at once, which a client with a time limit does not survive on a small machine. */
function runScenario(folder: string, scenario: string, revision: string | undefined) {
  const command = `"${process.execPath}" -C toolyard-source "${PROGRAM}"`
  const at = revision === undefined ? [] : ['--spec-version', revision]
  return runSuite(folder, ['client', '--command', command, '--scenario', scenario, ...at])
}
