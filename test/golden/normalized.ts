import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { packageVersion } from '../../src/app/package-version.ts'

interface Replacement {
  readonly what: RegExp
  /** Text, or a name: then each value gets a number in the order of its first appearance. */
  readonly by: string | { readonly name: string }
  /** Why the text differs from run to run, or from machine to machine. */
  readonly reason: string
}

const literal = (text: string): string => RegExp.escape(text)
const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')

/** Everything that golden files don't hold, in the order in which it is replaced. */
const REPLACEMENTS: readonly Replacement[] = [
  {
    what: new RegExp(`${literal(realpathSync(tmpdir()))}/toolyard-golden-[^/]+/project`, 'g'),
    by: '<project>',
    reason: 'Each test makes a project in a temporary folder of its own.',
  },
  { what: new RegExp(literal(REPOSITORY), 'g'), by: '<toolyard>', reason: 'The repository may be in any folder.' },
  { what: new RegExp(literal(process.execPath), 'g'), by: '<node>', reason: 'Node.js may be in any folder.' },
  {
    what: new RegExp(`(?<=^|"version": "|"version":"|Toolyard )${literal(packageVersion())}(?=$|"|\\s)`, 'gm'),
    by: '<version>',
    reason: 'The version of the package changes with each release.',
  },
  { what: /(?<=(?:127\.0\.0\.1|localhost):)\d{4,5}\b/g, by: '<port>', reason: 'Servers get any free port.' },
  {
    what: /(?<![\da-f])[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}(?![\da-f])/g,
    by: { name: 'id' },
    reason: 'Ids are random.',
  },
  {
    what: /(?<="execution_time_ms": )[1-9]\d*(\.\d+)?/g,
    by: '<ms>',
    reason: 'The clock stands still, but not in a call that times out.',
  },
  {
    what: /(?<=(?<!_)hash[\\"]*:\s?[\\"]*)[\da-f]{64}|(?<=,)[\da-f]{64}(?=\\r$)/gm,
    by: '<hash>',
    reason:
      'Rows of the audit log name a server by a random id, packages have random keys. test/golden/audit.test.ts holds hashes.',
  },
  {
    what: /\bSHA256:[\w-]{43}|(?<="key": ")[\w-]{43}(?=")/g,
    by: { name: 'signing key' },
    reason: 'Keys that sign packages are random.',
  },
  { what: /(?<=--cursor |"next": ")[\w-]{20,}/g, by: '<cursor>', reason: 'Cursors name a server by its random id.' },
  { what: /\bty_[\w-]{43}/g, by: { name: 'key' }, reason: 'API keys are random.' },
]

/** Git may change line breaks, so those of Windows are shown. */
export const visible = (text: string): string => text.replaceAll('\r', '\\r')

/** The text without what differs from run to run. */
export function normalized(text: string): string {
  return REPLACEMENTS.reduce((before, { what, by }) => {
    if (typeof by === 'string') return before.replace(what, () => by)
    const numbers = new Map<string, number>()
    return before.replace(what, (value) => {
      if (!numbers.has(value)) numbers.set(value, numbers.size + 1)
      return `<${by.name} ${numbers.get(value)}>`
    })
  }, visible(text))
}
