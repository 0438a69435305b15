import { writeFileSync } from 'node:fs'

/**
 * A vitest reporter that prints nothing and writes how many tests passed, failed, were skipped and are still to do, and
 * how long each file took, to the file named by TOOLYARD_TEST_COUNT. A file that does not load and an error outside of any test count as failed.
 */
export default class TestCount {
  /**
   * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
   * @param {ReadonlyArray<unknown>} strayErrors
   */
  onTestRunEnd(modules, strayErrors) {
    const count = { passed: 0, failed: strayErrors.length, skipped: 0, todo: 0 }
    for (const module of modules) {
      const failedBefore = count.failed
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'pending') count.failed += 1
        else if (state === 'skipped' && test.options.mode === 'todo') count.todo += 1
        else count[state] += 1
      }
      if (!module.ok() && count.failed === failedBefore) count.failed += 1
    }
    const files = modules.map((module) => {
      const { collectDuration, duration } = module.diagnostic()
      return { file: module.relativeModuleId, ms: Math.round(collectDuration + duration) }
    })
    const path = process.env.TOOLYARD_TEST_COUNT
    if (path) writeFileSync(path, JSON.stringify({ ...count, files }))
  }
}
