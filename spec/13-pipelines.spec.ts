import { describe, test } from 'vitest'

describe('Pipelines', () => {
  test.todo(
    '[13.1-1] Kind pipeline: implementation {type: "pipeline", steps: [{id, tool, params, when?, for_each?, max_items?, on_error?}], output?}',
  )
  test.todo(
    '[13.1-2] params and output of a pipeline are JSON with {"$": "<JSONPath over {params, steps}>"} in place of values. A path without a match is null',
  )
  test.todo('[13.1-3] Steps without references to each other run in parallel, at most tools.max_parallel_calls')
  test.todo('[13.1-4] for_each ({"$": path} to an array) runs a step for each item, which is $.item')
  test.todo('[13.1-5] max_items of for_each is 100. More items give INVALID_PARAMETERS')
  test.todo('[13.1-6] on_error of a step is fail (default), continue, or {"value": …}')
  test.todo(
    '[13.1-7] when is a JSON Schema that {params, steps} must match, else the step is skipped and its value is null',
  )
  test.todo("[13.1-8] output of a pipeline defaults to the last step's result")
  test.todo('[13.1-9] A pipeline has at most 50 steps')
  test.todo('[13.1-10] Unknown tools and steps, cycles and references to nothing are reported when a pipeline loads')
  test.todo(
    "[13.1-11] Each step goes through the executor with the caller's permissions and is recorded under its parent",
  )
  test.todo('[13.1-12] The effect of a pipeline is the strongest of its steps')
  test.todo('[13.1-13] One deadline covers the whole pipeline')
})
