import { describe, expect, test } from 'vitest'
import { audio, document, image } from '../../core/fixtures/media.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { mediaText } from '../../core/tool-result.ts'
import { callAnswer } from './tool-server.ts'

const tool = (returns?: 'mcp_content'): ToolDefinition => ({
  name: 'tool',
  description: 'A tool',
  parameters: { type: 'object' },
  implementation: { type: 'mock', ...(returns !== undefined && { returns }) },
})

const success = (result: unknown) => ({ success: true, result, tool_name: 'tool', execution_time_ms: 1 }) as const

describe('callAnswer', () => {
  test.each([
    ['a string', 'text', 'text'],
    ['a number', 7, '7'],
    ['null', null, 'null'],
    ['a list', [1, 2], '[1,2]'],
  ])('%s is text and nothing else', (_what, result, text) => {
    expect(callAnswer(success(result), tool())).toEqual({ content: [{ type: 'text', text }] })
  })

  test('an object is text and structured content', () => {
    const answer = { content: [{ type: 'text', text: '{"a":1}' }], structuredContent: { a: 1 } }
    expect(callAnswer(success({ a: 1 }), tool())).toEqual(answer)
  })

  test('a failure is its sentence and its envelope', () => {
    const failure = {
      success: false,
      error: 'It broke',
      error_code: 'EXECUTION_ERROR',
      tool_name: 'tool',
      execution_time_ms: 1,
      outcome: 'unknown',
    } as const
    const content = [{ type: 'text', text: 'It broke' }]
    expect(callAnswer(failure, tool())).toEqual({ content, structuredContent: failure, isError: true })
  })

  test('content of the protocol passes unchanged where the definition says that the tool returns it', () => {
    const image = { content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }], _meta: { a: 1 } }
    expect(callAnswer(success(image), tool('mcp_content'))).toEqual(image)
    const failed = { content: [], isError: true, structuredContent: { a: 1 } }
    expect(callAnswer(success(failed), tool('mcp_content'))).toEqual(failed)
    expect(callAnswer(success({ ...image, resultType: 'input_required' }), tool('mcp_content'))).toEqual(image)
  })

  test('media of any tool are content blocks', () => {
    const link = { type: 'image', media_type: 'image/png', url: 'https://x.test/a.png' }
    const result = { content: [{ type: 'text', text: 'see' }, image, audio, document, link], isError: true }
    const text = JSON.stringify({
      ...result,
      content: [
        { type: 'text', text: 'see' },
        ...[image, audio, document, link].map((part) => mediaText(part as never)),
      ],
    })
    expect(callAnswer(success(result), tool())).toEqual({
      content: [
        { type: 'text', text },
        { type: 'image', data: image.data, mimeType: 'image/png' },
        { type: 'audio', data: audio.data, mimeType: 'audio/wav' },
        { type: 'resource', resource: { uri: 'result:plan.pdf', mimeType: 'application/pdf', blob: document.data } },
        { type: 'resource_link', uri: link.url, name: 'image-4', mimeType: 'image/png' },
      ],
    })
  })

  test('what only looks like content is data', () => {
    const looks = { content: [{ type: 'text', text: 'a chapter' }], isError: true }
    const answer = { content: [{ type: 'text', text: JSON.stringify(looks) }], structuredContent: looks }
    expect(callAnswer(success(looks), tool())).toEqual(answer)
  })

  test('a tool that returns content may return anything else as well', () => {
    expect(callAnswer(success('plain'), tool('mcp_content'))).toEqual({ content: [{ type: 'text', text: 'plain' }] })
    const wrong = { content: [{ type: 'image' }] }
    expect(callAnswer(success(wrong), tool('mcp_content')).structuredContent).toBe(wrong)
  })
})
