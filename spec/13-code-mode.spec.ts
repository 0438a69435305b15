import { describe, test } from 'vitest'

describe('Code mode', () => {
  test.todo(
    '[13.2-1] tools.code_mode {enabled, tools?: [patterns], timeout_ms (30,000), memory_mb (64), max_calls (50)} offers one tool run_code {code}',
  )
  test.todo(
    '[13.2-2] run_code runs JavaScript or TypeScript in a sandbox without I/O in which every offered tool is await tools.<name>(params)',
  )
  test.todo('[13.2-3] Each call from run_code goes through the executor: permission, limits, approval, record')
  test.todo('[13.2-4] The model is shown TypeScript declarations made from the schemas')
  test.todo('[13.2-5] Loops, memory, output and number of calls of run_code are bounded')
  test.todo('[13.2-6] console.log and the returned value of run_code come back, bounded')
  test.todo('[13.2-7] run_code has at most 32 calls in flight, 64 KB of source and 64 KB of output')
  test.todo('[13.2-8] A server runs 2 run_code calls at a time. The rest queue inside the deadline')
  test.todo('[13.2-9] The effect of run_code is write, unless all its tools are read')
  test.todo('[13.2-10] run_code never runs from printed text')
  test.todo(
    '[13.2-11] The sandbox sees no environment, file, network, process or host object: a table of escapes fails',
  )
})
