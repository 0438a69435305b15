import { describe, test } from 'vitest'

describe('Documentation', () => {
  test.todo('user guide')
  test.todo('developer guide for adding tools')
  test.todo('contract of every shipped tool')
  test.todo('comparison of providers')
  test.todo('two example configurations ship in examples/, load, and are run by the tests')
})
