import { writeFileSync } from 'node:fs'

/**
 * A vitest reporter that prints nothing and writes how many tests passed, failed, were skipped and are still to do to
 * the file named by TOOLYARD_TEST_COUNT. A file that does not load and an error outside of any test count as failed.
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
    if (process.env.TOOLYARD_TEST_COUNT) writeFileSync(process.env.TOOLYARD_TEST_COUNT, JSON.stringify(count))
  }
}
