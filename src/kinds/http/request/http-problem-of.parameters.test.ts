import { describe, expect, test } from 'vitest'
import { httpTool } from './fixtures/http-tool.ts'
import { problemOf } from './http-problem-of.ts'

const PARAMETERS = ['id', 'user', 'text']

const problem = (implementation: Readonly<Record<string, unknown>>) => problemOf(httpTool(implementation, PARAMETERS))

/** Implementations and the sentence that each gives. */
function holds(table: readonly (readonly [Readonly<Record<string, unknown>>, string])[]): void {
  for (const [implementation, sentence] of table) expect(problem(implementation)).toBe(sentence)
}

describe('problems of parameters and headers', () => {
  test('placing parameters', () => {
    holds([
      [
        { params_mapping: { usr: 'u' } },
        "implementation.params_mapping names 'usr', which is not a parameter of the tool: did you mean 'user'?",
      ],
      [
        { params_in: { nothing_like_it: 'query' } },
        "implementation.params_in names 'nothing_like_it', which is not a parameter of the tool: add it to parameters.properties, or remove it here",
      ],
      [
        { method: 'POST', body_param: 'txt' },
        "implementation.body_param names 'txt', which is not a parameter of the tool: did you mean 'text'?",
      ],
      [
        { params_in: { id: 'path' } },
        "implementation.params_in.id is 'path', and implementation.url has no {id}: write it into the path",
      ],
      [
        { url: 'https://a.test/{id}', params_in: { id: 'query' } },
        "implementation.params_in.id is 'query', and the parameter goes into the path already: remove one of the two",
      ],
      [
        { url: 'https://a.test/{id}?x={id}' },
        "Parameter 'id' would go both into the path and into the query: take it out of one of url and body_param",
      ],
      [
        { method: 'POST', url: 'https://a.test/{id}', body_param: 'id' },
        "Parameter 'id' would go both into the path and into the body: take it out of one of url and body_param",
      ],
      [
        { method: 'POST', body_param: 'id', params_in: { text: 'body' } },
        "implementation.params_in.text is 'body', and implementation.body_param 'id' is the whole body: remove one",
      ],
      [
        { params_in: { id: 'body' } },
        "Parameter 'id' would go into the body, which GET does not have: use another method or place",
      ],
      [
        { url: 'https://a.test/{x}', params_mapping: { id: 'x', user: 'x' } },
        "{x} in implementation.url could be parameter 'id' or parameter 'user': map one of them to another name in params_mapping",
      ],
      [
        { url: 'https://a.test/{id}', params_mapping: { user: 'id' } },
        "{id} in implementation.url could be parameter 'user' or parameter 'id': map one of them to another name in params_mapping",
      ],
      [
        { params_in: { id: { in: 'query', style: 'matrix' } } },
        "implementation.params_in.id.style 'matrix' is not for the query: use form, spaceDelimited, pipeDelimited, deepObject",
      ],
      [
        { url: 'https://a.test/{id}', params_in: { id: { in: 'path', style: 'form' } } },
        "implementation.params_in.id.style 'form' is not for the path: use simple, label, matrix",
      ],
      [
        { method: 'POST', params_in: { id: { in: 'body', style: 'form' } } },
        'implementation.params_in.id has a style, which a json body does not support: remove it, or write "body": "form"',
      ],
    ])
  })

  test('two things under one name', () => {
    const fix = 'map it to another name in params_mapping, or remove one of the two'
    holds([
      [
        { params_mapping: { id: 'x', user: 'x' } },
        `Parameter 'user' would be sent as the query parameter 'x', which parameter 'id' is already: ${fix}`,
      ],
      [
        { url: 'https://a.test/?us%65r=1' },
        `Parameter 'user' would be sent as the query parameter 'user', which implementation.url has already: ${fix}`,
      ],
      [
        { query: { id: '1' } },
        `Parameter 'id' would be sent as the query parameter 'id', which implementation.query has already: ${fix}`,
      ],
      [
        { auth: { type: 'api_key', in: 'query', name: 'id', value: '${K}' } },
        `Parameter 'id' would be sent as the query parameter 'id', which implementation.auth sends already: ${fix}`,
      ],
      [
        { headers: { ID: 'x' }, params_in: { id: 'header' } },
        `Parameter 'id' would be sent as the header 'id', which implementation.headers has already: ${fix}`,
      ],
      [
        { method: 'POST', params_mapping: { id: 'user' } },
        `Parameter 'user' would be sent as the key of the body 'user', which parameter 'id' is already: ${fix}`,
      ],
      [
        { headers: { Authorization: '${A}' }, auth: { type: 'bearer', token: '${B}' } },
        "implementation.headers has what implementation.auth sends, header 'authorization': remove one of the two",
      ],
      [
        { headers: { 'X-Key': '${A}' }, auth: { type: 'api_key', in: 'header', name: 'x-key', value: '${B}' } },
        "implementation.headers has what implementation.auth sends, header 'x-key': remove one of the two",
      ],
      [{ headers: { 'X-Key': 'a', 'x-key': 'b' } }, "implementation.headers has 'x-key' twice: remove one of them"],
    ])
    const parameters = { type: 'object', properties: { id: {}, filter: { type: 'object', properties: { id: {} } } } }
    const apart = httpTool({ params_in: { filter: { in: 'query', style: 'form' } } }, [], { parameters })
    expect(problemOf(apart)).toBe(
      `Parameter 'filter' would be sent as the query parameter 'id', which parameter 'id' is already: ${fix}`,
    )
  })

  test('headers', () => {
    const reserved = ['Host', 'Content-Length', 'Transfer-Encoding', 'Connection', 'TE', 'Upgrade', 'Keep-Alive']
    for (const name of [...reserved, 'Proxy-Authorization', 'Expect', 'Trailer']) {
      expect(problem({ headers: { [name]: 'x' } })).toBe(
        `implementation.headers has '${name}', which belongs to the connection: remove it`,
      )
      expect(problem({ params_in: { id: 'header' }, params_mapping: { id: name } })).toBe(
        `Parameter 'id' would set the header '${name}', which no parameter may: remove it from params_in`,
      )
      expect(problem({ auth: { type: 'api_key', in: 'header', name, value: '${K}' } })).toBe(
        `implementation.auth.name has '${name}', which belongs to the connection: remove it`,
      )
    }
    holds([
      [
        { params_in: { id: 'header' }, params_mapping: { id: 'Cookie' } },
        `Parameter 'id' would set the header 'Cookie', which no parameter may: place it in "cookie" instead`,
      ],
      [
        { params_in: { id: 'header' }, params_mapping: { id: 'content-type' } },
        "Parameter 'id' would set the header 'content-type', which no parameter may: remove it from params_in",
      ],
      [
        { params_in: { id: 'header' }, params_mapping: { id: 'x\r\ny' } },
        "Parameter 'id' would be sent as the header 'x\\u000d\\u000ay', which is not a valid name: map it to another in params_mapping",
      ],
      [
        {
          params_in: { id: 'header' },
          params_mapping: { id: 'Authorization' },
          auth: { type: 'basic', username: 'a', password: 'b' },
        },
        "Parameter 'id' would be sent as the header 'authorization', which implementation.auth sends already: map it to another name in params_mapping, or remove one of the two",
      ],
      [
        { params_in: { id: 'header' }, params_mapping: { id: '__proto__' } },
        "Parameter 'id' would be sent as the header '__proto__', which is not a valid name: map it to another in params_mapping",
      ],
      [
        { headers: { 'a b': 'x' } },
        'implementation.headers has "a b", which is not a valid header name: use letters, digits and -',
      ],
      [
        { headers: { a: 'secret\r\nx: y' } },
        'implementation.headers.a contains a character that is not allowed in a header: write plain ASCII text',
      ],
      [
        { headers: { a: 'sécret' } },
        'implementation.headers.a contains a character that is not allowed in a header: write plain ASCII text',
      ],
    ])
  })
})
