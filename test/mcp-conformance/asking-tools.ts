import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server'

/** A fixture that asks its client something. Tools of Toolyard do not: these are registered with the SDK itself. */
export type AskingTool = (
  args: Readonly<Record<string, unknown>>,
  context: ServerContext,
) => Promise<CallToolResult | InputRequiredResult> | CallToolResult | InputRequiredResult

const states = createRequestStateCodec({ key: 'a key that only this run of the fixtures knows' })

const done = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] })

type Property = Readonly<Record<string, unknown>>

const form = (message: string, properties: Readonly<Record<string, Property>>, required: readonly string[] = []) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties, ...(required.length > 0 && { required: [...required] }) },
  } as Parameters<typeof inputRequired.elicit>[0])

const name = (message: string) => form(message, { name: { type: 'string' } }, ['name'])

const sample = (text: string, maxTokens = 100) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens })

/** Asks until all is answered; then gives what was said. */
function ask(
  { mcpReq }: ServerContext,
  inputRequests: InputRequests,
  answer: (said: Record<string, unknown>) => CallToolResult,
): CallToolResult | InputRequiredResult {
  const said: Record<string, unknown> = {}
  for (const key of Object.keys(inputRequests)) {
    const response = inputResponse(mcpReq.inputResponses, key)
    if (response.kind === 'missing') return inputRequired({ inputRequests })
    said[key] = response
  }
  return answer(said)
}

/** The state that came back, where it is one of ours. */
async function stateOf(context: ServerContext): Promise<unknown> {
  const state = context.mcpReq.requestState<string>()
  if (state === undefined) return undefined
  try {
    return await states.verify(state, context)
  } catch {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The request state is not one of ours')
  }
}

const ELICITED = 'Elicitation completed: action='
const elicited = (said: unknown): CallToolResult => {
  const { action, content } = said as { action?: string; content?: unknown }
  return done(`${ELICITED}${action}, content=${JSON.stringify(content)}`)
}

const OPTIONS = ['option1', 'option2', 'option3']
const TITLED = [
  { const: 'value1', title: 'First Option' },
  { const: 'value2', title: 'Second Option' },
  { const: 'value3', title: 'Third Option' },
]

const confirm = form('Please confirm', { ok: { type: 'boolean' } }, ['ok'])

const withState =
  (words: string): AskingTool =>
  async (_args, context) => {
    if ((await stateOf(context)) === undefined) {
      return inputRequired({ inputRequests: { confirm }, requestState: await states.mint('asked', context) })
    }
    return ask(context, { confirm }, () => done(words))
  }

export const ASKING_TOOLS: Readonly<Record<string, AskingTool>> = {
  test_sampling: ({ prompt }, context) =>
    ask(context, { answer: sample(String(prompt)) }, ({ answer }) => {
      const { content } = (answer as { result: { content: { text?: string } } }).result
      return done(`LLM response: ${content.text}`)
    }),
  test_elicitation: ({ message }, context) => {
    const properties = {
      username: { type: 'string', description: "User's response" },
      email: { type: 'string', description: "User's email address" },
    }
    return ask(context, { user: form(String(message), properties, ['username', 'email']) }, ({ user }) => {
      const { action, content } = user as { action: string; content?: unknown }
      return done(`User response: <action: ${action}, content: ${JSON.stringify(content)}>`)
    })
  },
  test_elicitation_sep1034_defaults: (_args, context) => {
    const properties = {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }
    return ask(context, { user: form('Please check these', properties) }, ({ user }) => elicited(user))
  },
  test_elicitation_sep1330_enums: (_args, context) => {
    const properties = {
      untitledSingle: { type: 'string', enum: OPTIONS },
      titledSingle: { type: 'string', oneOf: TITLED },
      legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
      },
      untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
      titledMulti: { type: 'array', items: { anyOf: TITLED } },
    }
    return ask(context, { user: form('Please choose', properties) }, ({ user }) => elicited(user))
  },
  test_streaming_elicitation: (_args, context) =>
    ask(context, { user_name: name('What is your name?') }, () => done('Thank you.')),
  test_missing_capability: (_args, context) => ask(context, { answer: sample('Anything') }, () => done('Sampled.')),
  test_input_required_result_elicitation: (_args, context) =>
    ask(context, { user_name: name('What is your name?') }, ({ user_name }) => {
      const { content } = user_name as { content?: { name?: unknown } }
      return done(`Hello, ${content?.name}!`)
    }),
  test_input_required_result_sampling: (_args, context) =>
    ask(context, { capital_question: sample('What is the capital of France?') }, ({ capital_question }) => {
      const { content } = (capital_question as { result: { content: { text?: string } } }).result
      return done(String(content.text))
    }),
  test_input_required_result_list_roots: (_args, context) =>
    ask(context, { client_roots: inputRequired.listRoots() }, ({ client_roots }) =>
      done(JSON.stringify((client_roots as { roots: unknown }).roots)),
    ),
  test_input_required_result_request_state: withState('state-ok'),
  test_input_required_result_tampered_state: withState('The state is whole.'),
  test_input_required_result_multiple_inputs: async (_args, context) => {
    const inputRequests = {
      user_name: name('What is your name?'),
      greeting: sample('Generate a greeting', 50),
      client_roots: inputRequired.listRoots(),
    }
    if ((await stateOf(context)) === undefined) {
      return inputRequired({ inputRequests, requestState: await states.mint('asked', context) })
    }
    return ask(context, inputRequests, (said) => done(`Answered: ${Object.keys(said).join(', ')}`))
  },
  test_input_required_result_multi_round: async (_args, context) => {
    const round = await stateOf(context)
    const next = async (key: string, request: ReturnType<typeof form>) =>
      inputRequired({ inputRequests: { [key]: request }, requestState: await states.mint(key, context) })
    if (round === undefined) return next('step1', name('Step 1: What is your name?'))
    if (round === 'step2') return done('Both steps are done.')
    return next('step2', form('Step 2: What is your favorite color?', { color: { type: 'string' } }, ['color']))
  },
  test_input_required_result_capabilities: (_args, context) => {
    const envelope = context.mcpReq.envelope as Record<string, unknown> | undefined
    const can = Object(envelope?.[CLIENT_CAPABILITIES_META_KEY]) as Record<string, unknown>
    const inputRequests: InputRequests = {
      ...('sampling' in can && { greeting: sample('Generate a greeting') }),
      ...('elicitation' in can && { user_name: name('What is your name?') }),
    }
    return ask(context, inputRequests, () => done('Asked only what the client can answer.'))
  },
}
