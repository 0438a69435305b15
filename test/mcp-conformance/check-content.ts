import assert from 'node:assert/strict'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import config from './toolyard.config.json' with { type: 'json' }

/** Some scenarios pass whatever a text says, so that "not found" would do: here is what must be in the answers. */
const TEXTS: Readonly<Record<string, string>> = {
  test_simple_text: 'This is a simple text response for testing.',
  test_tool_with_logging: 'Logged three lines.',
  test_tool_with_progress: 'Reported three times.',
  test_reconnection: 'No stream was needed.',
}

const MIXED = ['test_image_content', 'test_audio_content', 'test_embedded_resource', 'test_multiple_content_types']

/** Calls the fixtures with the SDK's client of one era, and compares what comes back to the last byte. */
export async function checkContent(url: string, era: 'legacy' | 'auto'): Promise<void> {
  const client = new Client({ name: 'content', version: '1' }, { versionNegotiation: { mode: era } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  try {
    for (const [name, text] of Object.entries(TEXTS)) {
      const { content, isError } = await client.callTool({ name })
      assert.deepEqual({ name, content, isError }, { name, content: [{ type: 'text', text }], isError: undefined })
    }
    for (const name of MIXED) {
      const tool = config.tools.registry.find((one) => one.name === name)
      const { content } = Object(tool?.implementation.mock_response) as { content: unknown }
      assert.deepEqual((await client.callTool({ name })).content, content, name)
    }
    const failed = await client.callTool({ name: 'test_error_handling' })
    assert.equal(failed.isError, true)
    assert.equal(Object(failed.structuredContent).error_code, 'EXECUTION_ERROR')
    await assert.rejects(client.callTool({ name: 'test_no_such_tool' }), /Tool 'test_no_such_tool' not found/)
    const read = await client.readResource({ uri: 'test://template/7/data' })
    assert.equal((read.contents[0] as { text: string }).text, '{"id":"7","templateTest":true,"data":"Data for ID: 7"}')
    const prompt = { name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'b' } }
    const { messages } = await client.getPrompt(prompt)
    assert.deepEqual(messages[0]?.content, { type: 'text', text: "Prompt with arguments: arg1='a', arg2='b'" })
  } finally {
    await client.close()
  }
}
