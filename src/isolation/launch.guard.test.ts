import { describe, expect, it } from 'vitest'
import { processGuard } from './launch.ts'

describe('processGuard', () => {
  it('leaves out tools that are missing or fail', () => {
    expect(processGuard([['/nowhere/guard', '--'], ['/bin/false']])).toEqual([])
  })

  it.runIf(process.platform === 'linux')('keeps what works', () => {
    expect(processGuard([['/bin/false'], ['/usr/bin/env', '--']])).toEqual(['/usr/bin/env', '--'])
  })
})
