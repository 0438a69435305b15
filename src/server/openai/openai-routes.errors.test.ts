import { OpenAI } from 'openai'
import { describe, expect, test, vi } from 'vitest'
import { ModelError } from '../../models/model-error.ts'
import { openScriptedServer } from '../fixtures/open-scripted-server.ts'
import { chunksOf, clientOf, completionOf, GO, MODEL, note } from './fixtures/openai-client.ts'

describe('errors of /v1', () => {
  test('have the form and the status of OpenAI’s', async () => {
    const { url, model } = await openScriptedServer([], { tools: { take_note: () => 1 } })
    const client = clientOf(url)
    const error = (rest: object) => completionOf(client, rest).catch((thrown: unknown) => thrown)
    expect(await error({ model: 'nobody:m' })).toMatchObject({
      status: 404,
      error: {
        message: expect.stringMatching(/^Provider nobody not found \(known: scripted\)\. /),
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_found',
      },
    })
    expect(await error({ model: 'nobody:m' })).toBeInstanceOf(OpenAI.NotFoundError)
    expect(await error({ messages: [] })).toMatchObject({ status: 400, param: 'messages' })
    expect(await error({ messages: undefined })).toMatchObject({ status: 400, param: 'messages' })
    expect(await error({ temperature: 3 })).toMatchObject({ status: 400, param: 'temperature' })
    for (const param of ['max_tokens', 'max_completion_tokens']) {
      expect(await error({ [param]: 1e21 })).toMatchObject({ status: 400, param })
    }
    expect(await error({ n: 2 })).toMatchObject({ status: 400, param: 'n', code: 'unsupported_value' })
    const own = { type: 'function', function: { name: 'take_note' } }
    expect(await error({ tools: [own] })).toMatchObject({
      status: 400,
      param: 'tools',
      error: { message: "The tool 'take_note' already exists on the server: rename yours" },
    })
    const unreadable = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{',
    })
    expect(unreadable.status).toBe(400)
    expect(await unreadable.json()).toMatchObject({ error: { type: 'invalid_request_error', param: null, code: null } })
    expect(unreadable.headers.get('x-content-type-options')).toBe('nosniff')
    expect(model.requests).toEqual([])
  })

  test('are the same for a stream that was not opened', async () => {
    const { url } = await openScriptedServer([new ModelError('scripted:turns: overloaded. Try later')])
    const client = clientOf(url)
    await expect(chunksOf(client, { model: 'nobody:m' })).rejects.toBeInstanceOf(OpenAI.NotFoundError)
    await expect(chunksOf(client)).rejects.toMatchObject({ status: 502, code: 'model_failed' })
  })

  test('report a missing or wrong API key', async () => {
    const { url, key } = await openScriptedServer([])
    const reader = await key('acme', 'user', ['read'])
    await expect(completionOf(clientOf(url, 'ty_wrong'))).rejects.toMatchObject({
      status: 401,
      type: 'authentication_error',
      code: 'invalid_api_key',
    })
    await expect(completionOf(clientOf(url, 'ty_wrong'))).rejects.toBeInstanceOf(OpenAI.AuthenticationError)
    await expect(completionOf(clientOf(url, reader))).rejects.toBeInstanceOf(OpenAI.PermissionDeniedError)
    const { headers } = await fetch(`${url}/v1/models`)
    expect(headers.get('www-authenticate')).toBe('Bearer')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  test('of a model are reported without its addresses', async () => {
    const failure = new ModelError('scripted:turns: overloaded. Try later')
    const { url } = await openScriptedServer([failure, new Error('connect 10.0.0.1:443')])
    const client = clientOf(url)
    await expect(completionOf(client)).rejects.toMatchObject({
      status: 502,
      type: 'server_error',
      code: 'model_failed',
      error: { message: 'scripted:turns: overloaded. Try later' },
    })
    const hidden = await completionOf(client).catch((error: Error) => error)
    expect(JSON.stringify(hidden)).not.toContain('10.0.0.1')
  })

  test('after tools have run are not repeated by the client', async () => {
    const take_note = vi.fn(() => 'noted')
    const { url, model } = await openScriptedServer([note, new ModelError('overloaded'), note, 'Done.'], {
      tools: { take_note },
    })
    await expect(completionOf(clientOf(url, undefined, 2))).rejects.toMatchObject({
      status: 422,
      type: 'server_error',
      error: { message: expect.stringContaining('Tools were already called (take_note)') },
    })
    expect(take_note).toHaveBeenCalledTimes(1)
    expect(model.requests).toHaveLength(2)
  })

  test('in mid-stream end the stream', async () => {
    const failing = { text: 'It is', error: new ModelError('scripted:turns: broke off. Try again') }
    const { url } = await openScriptedServer([failing])
    const stream = await clientOf(url).chat.completions.create({ model: MODEL, messages: GO, stream: true })
    let said = ''
    const read = async () => {
      for await (const { choices } of stream) said += choices[0]?.delta.content ?? ''
    }
    await expect(read()).rejects.toThrow('broke off')
    expect(said).toBe('It is')
  })

  test('that are unexpected have no details, and are logged', async () => {
    const { url, installation, log } = await openScriptedServer([])
    installation.manager.getModels = async () => {
      throw new Error('connect 10.0.0.1:443')
    }
    const thrown = await completionOf(clientOf(url)).catch((error: InstanceType<typeof OpenAI.APIError>) => error)
    expect(thrown).toMatchObject({ status: 500, type: 'server_error' })
    expect(JSON.stringify(thrown)).not.toContain('10.0.0.1')
    expect(log.at('error')).toMatchObject([{ err: { message: 'connect 10.0.0.1:443' }, path: '/v1/chat/completions' }])
  })
})
