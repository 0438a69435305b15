import type { Kind } from '../core/kind.ts'

/** Returns `implementation.mock_response`, whatever the parameters. */
export const mock: Kind = {
  effect: () => 'read',
  warning: ({ implementation }) =>
    'mock_response' in implementation ? undefined : 'Mock tool has no mock_response: it will answer null',
  bind({ implementation }) {
    const respond = () => implementation.mock_response ?? null
    return () => respond
  },
}
