import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Case } from './case.ts'
import { cases } from './cases/index.ts'

const module = (path: string): string => fileURLToPath(new URL(`./adapters/${path}.ts`, import.meta.url))

/** The adapters of the table, in its order. */
const TABLE: Readonly<Record<string, string>> = {
  toolyard: module('toolyard'),
  'ai-sdk': module('peers/ai-sdk'),
  langchain: module('peers/langchain'),
  mastra: module('peers/mastra'),
  'openai-agents': module('peers/openai-agents'),
}
/** What shows that the cases are right; run by name only. */
const PROOFS: Readonly<Record<string, string>> = { reference: module('reference'), naive: module('naive') }

export const HELP = `npm run conformance -- [options]

  --only ADAPTER  one of ${[...Object.keys(TABLE), ...Object.keys(PROOFS)].join(', ')},
                  or the file of an adapter; can be given again
  --case CASE     only this case; can be given again
  --json          prints what was found as JSON
  --write-docs    writes the table into docs/internals/conformance.md`

export interface Options {
  /** Modules by the name they were asked for. */
  readonly adapters: Readonly<Record<string, string>>
  readonly cases: readonly Case[]
  readonly json: boolean
  readonly writeDocs: boolean
}

/** Reads the command line; throws a sentence where it is wrong. */
export function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      case: { type: 'string', multiple: true, default: [] },
      json: { type: 'boolean', default: false },
      'write-docs': { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  const whole = values.only.length === 0 && values.case.length === 0
  if (values['write-docs'] && !whole) throw new Error('--write-docs wants the whole table: leave out --only and --case')
  return {
    adapters: values.only.length === 0 ? TABLE : Object.fromEntries(values.only.map((name) => [name, fileOf(name)])),
    cases: values.case.length === 0 ? cases : values.case.map(caseOf),
    json: values.json,
    writeDocs: values['write-docs'],
  }
}

function fileOf(name: string): string {
  const file = TABLE[name] ?? PROOFS[name] ?? resolve(name)
  if (existsSync(file)) return file
  throw new Error(`There is no adapter '${name}', and no such file. See --help`)
}

function caseOf(id: string): Case {
  const found = cases.find((each) => each.id === id)
  if (found !== undefined) return found
  throw new Error(`There is no case '${id}'. There are: ${cases.map((each) => each.id).join(', ')}`)
}
