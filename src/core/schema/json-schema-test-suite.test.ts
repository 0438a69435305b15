import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '../tool.ts'
import { compileSchema } from './compiled-schema.ts'
import { exactCheckWith } from './exact-check.ts'
import { UNEXPLAINED } from './explain-params.ts'
import type { Draft } from './schema-keywords.ts'

const data = process.env.TOOLYARD_DATA_SETS ?? join(import.meta.dirname, '../../../../shared/data')
const suite = join(data, 'json-schema-test-suite')

interface Group {
  readonly description: string
  readonly schema: JsonSchema
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[]
}

/** Tests that we do not pass, by name; docs/concepts/checking-parameters.md says why. */
const EXPECTED_FAILURES: Readonly<Record<string, readonly string[]>> = { draft7: [], 'draft2020-12': [] }

/** What is to be counted: all tests, and those of schemas that Ajv judges. */
const COUNTS: Readonly<Record<string, { readonly tests: number; readonly ajv: number }>> = {
  draft7: { tests: 927, ajv: 861 },
  'draft2020-12': { tests: 1299, ajv: 1069 },
}

/** `npm run test:full` asks all groups of tests, `npm test` one of ten. */
const FULL = process.env.TOOLYARD_TEST_FULL === '1'
const ONE_OF = FULL ? 1 : 10

if (!existsSync(suite)) console.warn(`skipped: the JSON-Schema-Test-Suite is not at ${suite} (set TOOLYARD_DATA_SETS)`)

describe.skipIf(!existsSync(suite))('the required tests of the JSON-Schema-Test-Suite', () => {
  for (const draft of ['draft7', 'draft2020-12']) {
    it(`pass for ${draft}, except for the listed ones`, async () => {
      const failures: string[] = []
      const unexplained: string[] = []
      let tests = 0
      let ajv = 0
      let groups = 0
      for (const file of readdirSync(join(suite, draft)).filter((name) => name.endsWith('.json'))) {
        for (const group of read(join(suite, draft, file)) as Group[]) {
          if (groups++ % ONE_OF !== 0) continue
          const judge = judgeOf(group.schema, draft)
          for (const test of group.tests) {
            const name = `${file}: ${group.description}: ${test.description}`
            tests++
            if (judge.byAjv) ajv++
            const { valid, explanation } = await judge.ask(test.data)
            if (valid !== test.valid) failures.push(name)
            else if (valid && explanation.length > 0) unexplained.push(name)
            else if (!valid && (explanation.length === 0 || explanation.includes(UNEXPLAINED.message))) {
              unexplained.push(name)
            }
          }
        }
      }
      console.info(
        `${draft}: ${tests - failures.length} of ${tests} pass, ${ajv} by Ajv, ${tests - ajv} by the exact validator`,
      )
      expect(failures).toEqual(EXPECTED_FAILURES[draft])
      expect(unexplained).toEqual([])
      if (FULL) expect({ tests, ajv }).toEqual(COUNTS[draft])
      else expect(tests).toBeGreaterThan(50)
    })
  }
})

interface Judge {
  readonly byAjv: boolean
  ask(value: unknown): Promise<{ valid: boolean; explanation: string[] }>
}

/** The way the executor takes: Ajv where it may judge, else the exact validator. */
function judgeOf(schema: JsonSchema, folder: string): Judge {
  const draft: Draft = folder === 'draft7' ? 'draft-07' : '2020-12'
  const options = { draft, formats: false, documents: documentsOf(folder) }
  const compiled = compileSchema(schema, options)
  return {
    byAjv: compiled.check !== undefined,
    async ask(value) {
      if (compiled.check === undefined) {
        const problems = await exactCheckWith({ schema, params: value }, options)
        return { valid: problems.length === 0, explanation: problems.map(({ message }) => message) }
      }
      const valid = compiled.check(value)
      const explanation = compiled.explain(value).map(({ message }) => message)
      // Where there is nothing wrong, there is nothing to name.
      return { valid, explanation: valid ? explanation.filter((text) => text !== UNEXPLAINED.message) : explanation }
    },
  }
}

/** The documents that the suite expects on a server of its own; those of other drafts stay away. */
function documentsOf(folder: string): Map<string, unknown> {
  const remotes = join(suite, 'remotes')
  const files = readdirSync(remotes, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = files.map((entry) => relative(remotes, join(entry.parentPath, entry.name)))
  const ours = paths.filter((path) => !path.startsWith('draft') || path.startsWith(`${folder}/`))
  return new Map(ours.map((path) => [`http://localhost:1234/${path}`, read(join(remotes, path))]))
}

function read(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'))
}
