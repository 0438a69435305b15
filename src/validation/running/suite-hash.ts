import { hash } from 'node:crypto'
import { canonicalText } from '../../core/schema/canonical-text.ts'
import type { Suite } from '../suites/suite.ts'
import type { HashedSuite } from './trial.ts'

const LENGTH = 16

/** Tells a suite from one that asks something else: what is expected is no part of it, since old answers are judged anew. */
export function hashSuite(suite: Suite): HashedSuite {
  const cases = suite.cases.map(({ id, turns, tools, mocks, max_iterations }) => ({
    id,
    turns,
    tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    mocks,
    max_iterations,
  }))
  return { suite, hash: hash('sha256', canonicalText({ name: suite.name, cases })).slice(0, LENGTH) }
}
