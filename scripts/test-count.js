import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the outcome of every test in spec/ is stored, for `npm run spec`. */
export const SPEC_RESULTS = fileURLToPath(new URL('../node_modules/.cache/toolyard-spec.json', import.meta.url))

/**
 * @typedef {{ id: string, name: string, state: string, reason?: string }} SpecResult
 * @typedef {Record<string, { started: number, errors: string[], tests: SpecResult[] }>} SpecResults by file name
 */

/**
 * A vitest reporter that prints nothing. It writes how many tests passed, failed, were skipped and are still to do,
 * and how long each file took, to the file named by TOOLYARD_TEST_COUNT, and the outcome of the tests in spec/ to SPEC_RESULTS. A file that does not
 * load and an error outside of any test count as failed.
 */
export default class TestCount {
  #started = Date.now()
  #filtered = false

  /** @param {import('vitest/node').Vitest} vitest */
  onInit(vitest) {
    this.#filtered = vitest.config.testNamePattern !== undefined
  }

  onTestRunStart() {
    this.#started = Date.now()
  }

  /**
   * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
   * @param {ReadonlyArray<unknown>} strayErrors
   */
  onTestRunEnd(modules, strayErrors) {
    const count = { passed: 0, failed: strayErrors.length, skipped: 0, todo: 0 }
    for (const module of modules) {
      const failedBefore = count.failed
      for (const test of module.children.allTests()) count[stateOf(test)] += 1
      if (!module.ok() && count.failed === failedBefore) count.failed += 1
    }
    const files = modules.map((module) => {
      const { collectDuration, duration } = module.diagnostic()
      return { file: module.relativeModuleId, ms: Math.round(collectDuration + duration) }
    })
    const path = process.env.TOOLYARD_TEST_COUNT
    if (path) writeFileSync(path, JSON.stringify({ ...count, files }))
    // A run of some tests only says nothing about the others of a file.
    if (!this.#filtered) this.#storeSpecResults(modules.filter(({ project }) => project.name === 'spec'))
  }

  /** @param {ReadonlyArray<import('vitest/node').TestModule>} modules */
  #storeSpecResults(modules) {
    if (modules.length === 0) return
    const results = storedResults()
    for (const module of modules)
      results[basename(module.moduleId)] = {
        started: this.#started,
        errors: module.errors().map(({ message }) => message),
        tests: [...module.children.allTests()].map(resultOf),
      }
    mkdirSync(dirname(SPEC_RESULTS), { recursive: true })
    writeFileSync(SPEC_RESULTS, JSON.stringify(results))
  }
}

/** @returns {SpecResults} */
function storedResults() {
  try {
    return JSON.parse(readFileSync(SPEC_RESULTS, 'utf8'))
  } catch {
    return {}
  }
}

/**
 * @param {import('vitest/node').TestCase} test
 * @returns {SpecResult}
 */
function resultOf(test) {
  const reason = test.result().errors?.[0]?.message
  const [, id = ''] = /^\[([\d.-]+)\]/.exec(test.name) ?? []
  return { id, name: test.fullName, state: stateOf(test), ...(reason !== undefined && { reason }) }
}

/** @param {import('vitest/node').TestCase} test */
function stateOf(test) {
  const { state } = test.result()
  if (state === 'pending') return 'failed'
  return state === 'skipped' && test.options.mode === 'todo' ? 'todo' : state
}
