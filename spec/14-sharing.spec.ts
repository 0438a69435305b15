import { describe, test } from 'vitest'

describe('Sharing', () => {
  test.todo(
    '[14.2-1] toolyard pack DIR makes a package (npm tarball) of definitions, handlers, prompts, suites and mocks, signed (Ed25519)',
  )
  test.todo(
    '[14.2-2] toolyard add FILE | DIR | npm:NAME shows what a package contains and may do (effects, hosts, permissions, variables, code) before it is added',
  )
  test.todo('[14.2-3] toolyard add checks the signature and pins hash and key in toolyard.lock.json')
  test.todo('[14.2-4] toolyard remove removes a package, and toolyard outdated lists outdated ones')
  test.todo('[14.2-5] A changed hash or key is refused')
  test.todo(
    '[14.2-6] A package reads only the variables granted at add (none by default), and sends them only to its declared hosts',
  )
  test.todo('[14.2-7] A package never overrides a local tool')
  test.todo('[14.2-8] Handlers bundle their dependencies. No install script runs')
})
