import { describe, test } from 'vitest'

describe('Delegation', () => {
  test.todo(
    '[13.3-1] Kind agent: {type: "agent", model, prompt, tools: [patterns], budget?} with parameter task (or own parameters filled into the prompt)',
  )
  test.todo("[13.3-2] The run of an agent is recorded under the caller's run")
  test.todo(
    '[13.3-3] Depth (3), time, tokens and cost of an agent are inherited and never exceed what the caller has left',
  )
  test.todo('[13.3-4] An agent that would call itself, directly or through others, is refused')
  test.todo(
    '[13.3-5] A remote agent, {type: "agent", url, api_key}, calls another Toolyard (or any OpenAI-compatible endpoint that runs tools). Depth and deadline are passed on',
  )
  test.todo('[13.3-6] A pattern never matches the agent itself')
  test.todo('[13.3-7] Remote URLs go through the network guard')
  test.todo('[13.3-8] The effect of an agent is the strongest of its tools. A remote agent is write')
  test.todo('[13.3-9] Parameters enter the prompt of an agent as data')
  test.todo('[13.3-10] An endpoint that is not Toolyard gets only the local deadline and depth')
})
