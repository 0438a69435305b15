import { describe, test } from 'vitest'

describe('Tool formats', () => {
  test.todo('toProviderFormat: openai and ollama [{type: "function", function: {name, description, parameters}}]')
  test.todo('toProviderFormat(provider, allowed?): gemini [{name, description, parameters}]')
  test.todo('toProviderFormat(provider, allowed?): anthropic [{name, description, input_schema}]')
  test.todo('toProviderFormat(provider, allowed?): mcp [{name, description, inputSchema}]')
  test.todo('toProviderFormat(provider, allowed?): langchain tools with invoke')
  test.todo('unknown: Unknown provider: <name> and the known ones')
  test.todo('Qwen form: exactly {type: "function", function: {name, description, parameters}}')
  test.todo('Qwen form, for Ollama: name from lc_name else name')
  test.todo('Qwen form, for Ollama: parameters a JSON Schema with type: "object"')
  test.todo('Qwen form, for Ollama: invoke, lc_name, lc_kwargs gone')
  test.todo('Qwen form, for Ollama: a pure function')
  test.todo('Qwen form, for Ollama: empty or undefined gives []')
  test.todo('Qwen form, for Ollama: a debug line 🔧 Converted N tools from LangChain to Qwen format')
  test.todo('conversion happens only for the provider that needs it')
  test.todo('what is stored stays as it was registered')
})
