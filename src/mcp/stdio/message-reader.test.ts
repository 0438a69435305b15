import { describe, expect, it } from 'vitest'
import { AnswerScanner, MAX_MESSAGE_BYTES, MessageReader } from './message-reader.ts'

/** What is found where the message comes in pieces of `size` bytes. */
function scan(message: string, size = message.length): string | number | undefined {
  const scanner = new AnswerScanner()
  const bytes = Buffer.from(message)
  for (let from = 0; from < bytes.length; from += size) scanner.push(bytes.subarray(from, from + size))
  return scanner.answers
}

const text = '"\\\\\\"}],\\"id\\":9,{[é"'

describe('AnswerScanner', () => {
  it.each([
    ['{"jsonrpc":"2.0","id":7,"result":{}}', 7],
    ['{"jsonrpc":"2.0","result":{},"id":7}', 7],
    [`{"result":{"id":1,"a":[{"id":2},${text}]},"id":7}`, 7],
    [`{"id":"a-\\u00e9\\"","error":{"message":${text}}}`, 'a-é"'],
    ['{"id":"é","result":{}}', 'é'],
    ['\ufeff {\t"result" : [ ] , "id" : -12 }\r', -12],
    ['{"\\u0069d":3,"\\u0072esult":{}}', 3],
    ['{"result":"id","id":3}', 3],
    ['{"result":{},"id":3,"more":"', 3],
    ['{"id":1,"result":{},"id":3}', 3],
    [`{"id":3,"${'x'.repeat(5000)}":1,"result":{}}`, 3],
  ])('finds the request that %s answers, however it is cut', (message, id) => {
    for (const size of [1, 2, 3, 7, message.length]) expect(scan(message, size)).toBe(id)
  })

  it.each([
    '{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"result":1}}',
    '{"jsonrpc":"2.0","method":"notifications/message","params":{"id":7,"result":1}}',
    '{"id":7}',
    '{"result":{}}',
    '{"id":null,"result":{}}',
    '{"id":{"a":1},"result":{}}',
    '{"id":[1],"result":{}}',
    `{"id":"${'x'.repeat(300)}","result":{}}`,
    `{"id":${' '.repeat(300)}1,"result":{}}`,
    '[{"id":7,"result":{}}]',
    'noise {"id":7,"result":{}}',
    '"id":7,"result":{}',
    '{"result":{"id":7}',
    '',
  ])('finds none that %s answers', (message) => {
    for (const size of [1, 3, message.length || 1]) expect(scan(message, size)).toBeUndefined()
  })

  it('knows the request before the message is over', () => {
    const scanner = new AnswerScanner()
    scanner.push(Buffer.from('{"id":7,"resu'))
    expect(scanner.answers).toBeUndefined()
    scanner.push(Buffer.from('lt":{"a":"'))
    expect(scanner.answers).toBe(7)
  })
})

describe('MessageReader', () => {
  const read = (line: string) => {
    const seen: unknown[] = []
    const events = { message: (message: unknown) => seen.push(message), noise: (what: string) => seen.push(what) }
    new MessageReader(MAX_MESSAGE_BYTES, events).push(Buffer.from(`${line}\n`))
    return seen
  }
  const many = (entry: string, count: number) => `[${`${entry},`.repeat(count - 1)}${entry}]`

  it('passes on an error in place of an answer whose entries would cost the SDK too much', () => {
    const message = 'The server answered with more than 1000 entries in "content", which is over the limit'
    const answer = `{"jsonrpc":"2.0","id":7,"result":{"content":${many('{}', 1_001)}}}`
    expect(read(answer)).toMatchObject([{ id: 7, error: { message } }])
    expect(read(answer.replace('"content"', '"structuredContent"'))).toMatchObject([{ id: 7, result: {} }])
  })

  it.each(['structuredContent', '_meta'])(
    'refuses an answer with more members in %s than the SDK should check',
    (name) => {
      const members = (count: number) => Array.from({ length: count }, (_, at) => `"k${at}":${at}`).join(',')
      const answer = (count: number) => `{"jsonrpc":"2.0","id":7,"result":{"content":[],"${name}":{${members(count)}}}}`
      const message = `The server answered with more than 10000 entries in "${name}", which is over the limit`
      expect(read(answer(10_000))).toMatchObject([{ id: 7, result: {} }])
      expect(read(answer(10_001))).toMatchObject([{ id: 7, error: { message } }])
      const question = `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"requestedSchema":{"properties":{${members(1_001)}}}}}`
      expect(read(question)).toEqual(['a message with too many entries'])
    },
  )

  it('passes on a list of tools with large schemas', () => {
    const answer = `{"jsonrpc":"2.0","id":7,"result":{"tools":${many('{"name":"a","inputSchema":{"enum":[1,2,3]}}', 5_000)}}}`
    expect(read(answer)).toMatchObject([{ id: 7, result: {} }])
  })

  it('skips a notification with too many values, and a batch with too many messages', () => {
    const notification = `{"jsonrpc":"2.0","method":"x","params":{"a":${many('1', 10_001)}}}`
    expect(read(notification)).toEqual(['a message with too many entries'])
    const pair = `[${notification.replace(many('1', 10_001), many('1', 6_000))},{"jsonrpc":"2.0","id":7,"result":{"a":${many('1', 6_000)}}}]`
    expect(read(pair)).toMatchObject(['a message with too many entries', { id: 7, error: {} }])
    const batch = many('{"jsonrpc":"2.0","method":"x"}', 1_001)
    expect(read(batch)).toEqual(['a line that is not a JSON-RPC message'])
  })
})
