import { describe, test } from 'vitest'

describe('Metrics', () => {
  test.todo('counts, success and failure rates, time distribution, errors by kind, per tool')
  test.todo('model behaviour: which models call tools, selection accuracy, how deep')
})
