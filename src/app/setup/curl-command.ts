import { parseArgs } from 'node:util'
import { isSecretText } from '../../config/config-text.ts'
import { setOwn } from '../../core/json/json-type.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { JsonSchema, ToolDefinition } from '../../core/tool.ts'
import type { HttpAuth, HttpImplementation, HttpMethod } from '../../kinds/http/definition/http-implementation.ts'
import { effectOf, problemOf } from '../../kinds/http/request/http-problem-of.ts'
import { type NewSecret, NewSecrets, type SecretPlace, serviceOf } from './references.ts'
import { inferredSchema, RequestParameters, typedText } from './request-parameters.ts'
import { SetupError } from './setup-error.ts'

const MAX_CHARACTERS = 100_000
const MAX_WORDS = 1_000

const text = (short?: string) => ({ type: 'string' as const, ...(short && { short }) })
const texts = (short?: string) => ({ ...text(short), multiple: true as const })
const flag = (short?: string) => ({ type: 'boolean' as const, ...(short && { short }) })

/** The options that say something about the request. */
const REQUEST = {
  ...{ request: text('X'), url: text(), header: texts('H'), user: text('u'), get: flag('G'), head: flag('I') },
  ...{
    data: texts('d'),
    'data-raw': texts(),
    'data-binary': texts(),
    'data-ascii': texts(),
    'data-urlencode': texts(),
  },
  ...{ json: texts(), cookie: text('b'), 'oauth2-bearer': text(), 'user-agent': text('A'), referer: text('e') },
}
/** Options without an effect on a tool. */
const IGNORED = {
  ...{ silent: flag('s'), 'show-error': flag('S'), verbose: flag('v'), include: flag('i'), fail: flag('f') },
  ...{ location: flag('L'), compressed: flag(), globoff: flag('g'), 'no-buffer': flag('N'), 'fail-with-body': flag() },
  ...{ 'http1.1': flag(), http2: flag(), 'http2-prior-knowledge': flag(), http3: flag(), basic: flag() },
  ...{ ipv4: flag('4'), ipv6: flag('6'), 'progress-bar': flag('#'), 'no-progress-meter': flag(), 'path-as-is': flag() },
  ...{ output: text('o'), 'write-out': text('w'), 'max-time': text('m'), 'connect-timeout': text(), retry: text() },
  ...{ 'retry-delay': text(), 'retry-max-time': text(), 'max-redirs': text() },
}
/** Options that a tool can't follow, and why. */
const REFUSED: Readonly<Record<string, string>> = {
  form: 'multipart forms are not supported',
  'form-string': 'multipart forms are not supported',
  'upload-file': 'files are not supported',
  insecure: 'certificates are always verified',
  proxy: 'set HTTPS_PROXY for the server instead',
  cert: 'client certificates are not supported',
  key: 'client certificates are not supported',
  cacert: 'set NODE_EXTRA_CA_CERTS for the server instead',
  digest: 'only basic authentication is supported',
  ntlm: 'only basic authentication is supported',
  negotiate: 'only basic authentication is supported',
  'aws-sigv4': 'signed requests are not supported',
  config: 'paste the whole command',
  next: 'paste one request at a time',
}
const OPTIONS = {
  ...REQUEST,
  ...IGNORED,
  ...{ form: texts('F'), 'form-string': texts(), 'upload-file': text('T'), insecure: flag('k'), proxy: text('x') },
  ...{ cert: text('E'), key: text(), cacert: text(), digest: flag(), ntlm: flag(), negotiate: flag() },
  ...{ 'aws-sigv4': text(), config: text('K'), next: flag() },
}

const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] satisfies HttpMethod[]
const VERBS: Readonly<Record<string, string>> = {
  ...{ GET: 'get', HEAD: 'check', POST: 'create', PUT: 'update', PATCH: 'change', DELETE: 'delete' },
}
/** What browsers and curl add by themselves. */
const OWN_HEADERS =
  /^(?:sec-.*|accept-encoding|accept-language|cache-control|connection|content-length|dnt|host|origin|pragma|priority|referer|te|upgrade-insecure-requests|user-agent)$/
/** Keys whose values are secrets in a URL, besides those that any record hides. */
const SECRET_PARAMETER = /^(?:.*[-_])?(?:api[-_]?key|key|token|secret|sig|signature|auth|code|pass(?:word)?)$/i

/** A tool as proposed for a curl command. */
export interface CurlTool {
  readonly tool: ToolDefinition
  readonly secrets: readonly SecretPlace[]
  readonly warnings: readonly string[]
}

/** Proposes an HTTP tool for a curl command. `taken` are the names of stored secrets. Nothing is sent. */
export function curlTool(command: string, taken: readonly string[]): CurlTool {
  const { tool, secrets, warnings } = read(command, taken)
  return { tool, secrets: secrets.places, warnings }
}

/** The secrets of a curl command, under the names that `curlTool` gives them. */
export const curlSecrets = (command: string, taken: readonly string[]): readonly NewSecret[] =>
  read(command, taken).secrets.list

function read(command: string, taken: readonly string[]) {
  if (command.length > MAX_CHARACTERS) throw new SetupError(422, 'The command is longer than 100,000 characters')
  const { words, rest } = shellWords(command)
  if (!/(?:^|[/\\])curl(?:\.exe)?$/.test(words[0] ?? '')) {
    throw new SetupError(422, 'This is not a curl command: it must begin with "curl"')
  }
  // The parser of options takes quadratic time.
  if (words.length > MAX_WORDS) throw new SetupError(422, `The command has more than ${MAX_WORDS} words: shorten it`)
  const { values, positionals } = parsed(words.slice(1))
  const warnings = rest ? ['Only the curl command was read: what follows it was left out.'] : []
  return new CurlReader(values, positionals, new NewSecrets({ taken }), warnings).read()
}

type Values = ReturnType<typeof parsed>['values']

function parsed(args: readonly string[]) {
  try {
    const found = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
    for (const [name, why] of Object.entries(REFUSED)) {
      if (Object.hasOwn(found.values, name)) throw new SetupError(422, `The option --${name} can't be used: ${why}`)
    }
    return found
  } catch (error) {
    if (error instanceof SetupError) throw error
    // The message quotes the option, and never a value.
    const option = /'(-[^'\s]{1,40})/.exec((error as Error).message)?.[1] ?? 'an option'
    throw new SetupError(422, `The option ${option} can't be read: remove it, or write its value after "="`)
  }
}

type Body = { readonly kind: 'json' | 'form' | 'text'; readonly content: string }

class CurlReader {
  readonly #values: Values
  readonly #secrets: NewSecrets
  readonly #warnings: string[]
  readonly #url: URL
  readonly #method: HttpMethod
  readonly #headers: Record<string, string> = {}
  readonly #query: Record<string, string> = {}
  readonly #parameters: RequestParameters
  #auth: HttpAuth | undefined
  /** Whether headers of a browser were left out. */
  #isFromBrowser = false

  constructor(values: Values, positionals: readonly string[], secrets: NewSecrets, warnings: string[]) {
    this.#values = values
    this.#secrets = secrets
    this.#warnings = warnings
    this.#url = this.#address([...(values.url === undefined ? [] : [values.url]), ...positionals])
    this.#method = this.#readMethod()
    this.#parameters = new RequestParameters(this.#method)
  }

  read(): { readonly tool: ToolDefinition; readonly secrets: NewSecrets; readonly warnings: string[] } {
    const contentType = this.#readHeaders()
    this.#readUser()
    const path = this.#parameters.path(this.#url.pathname)
    this.#readQuery()
    const body = this.#readBody(contentType)
    const { properties, required, keys } = this.#parameters.settled(body)
    const implementation: HttpImplementation = {
      ...{ type: 'http', method: this.#method, url: `${this.#url.origin}${path}` },
      ...(Object.keys(this.#headers).length > 0 && { headers: this.#headers }),
      ...(Object.keys(this.#query).length > 0 && { query: this.#query }),
      ...keys,
      ...(this.#auth && { auth: this.#auth }),
    }
    const tool: ToolDefinition = {
      name: this.#name(path),
      description: this.#description(path),
      parameters: { type: 'object', properties, ...(required.length > 0 && { required }) } as JsonSchema,
      effect: effectOf(this.#method),
      implementation,
    }
    const problem = problemOf(JSON.parse(JSON.stringify(tool).replace(/\$\{secret:(\w+)\}/g, '${$1}')))
    if (problem !== undefined) throw new SetupError(422, `The command can't become a tool: ${problem}`)
    if (this.#isFromBrowser) this.#warnings.push('Headers that a browser adds by itself were left out.')
    return { tool, secrets: this.#secrets, warnings: this.#warnings }
  }

  #address(found: readonly string[]): URL {
    const [first, second] = found
    if (first === undefined) throw new SetupError(422, 'The command has no URL')
    if (second !== undefined)
      throw new SetupError(422, 'The command has more than one URL: paste one request at a time')
    const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(first)
    if (!hasScheme) this.#warnings.push('The URL has no scheme: the tool uses https.')
    const url = URL.parse(hasScheme ? first : `https://${first}`)
    if (url === null || !/^https?:$/.test(url.protocol) || /\$/.test(url.host)) {
      throw new SetupError(422, 'The URL of the command is not an http or https address')
    }
    return url
  }

  #readMethod(): HttpMethod {
    const { request, head, get } = this.#values
    const method = (request ?? (head ? 'HEAD' : get || !this.#hasData() ? 'GET' : 'POST')).toUpperCase()
    if (METHODS.includes(method)) return method as HttpMethod
    throw new SetupError(
      422,
      `The method ${JSON.stringify(method.slice(0, 20))} can't be used: use ${METHODS.join(', ')}`,
    )
  }

  #hasData(): boolean {
    const {
      data,
      json,
      'data-raw': raw,
      'data-binary': binary,
      'data-ascii': ascii,
      'data-urlencode': coded,
    } = this.#values
    return [data, json, raw, binary, ascii, coded].some((one) => one !== undefined)
  }

  /** Returns the content type. */
  #readHeaders(): string {
    const { header = [], cookie, 'user-agent': agent, referer, 'oauth2-bearer': bearer } = this.#values
    if (agent !== undefined || referer !== undefined) this.#isFromBrowser = true
    const lines = [...header, ...(cookie === undefined ? [] : [`cookie: ${cookie}`])]
    if (bearer !== undefined) lines.push(`authorization: Bearer ${bearer}`)
    let contentType = this.#values.json === undefined ? '' : 'application/json'
    for (const line of lines) {
      const colon = line.search(/[:;]/)
      const value = line.slice(colon + 1).trim()
      const lower = line.slice(0, Math.max(colon, 0)).trim().toLowerCase()
      if (!/^[\w!#$%&'*+.^`|~-]+$/.test(lower))
        throw new SetupError(422, 'A header of the command has no name: write it as "Name: value"')
      if (OWN_HEADERS.test(lower)) this.#isFromBrowser = true
      else if (lower === 'content-type') contentType = value
      else if (lower === 'authorization') this.#authorize(value)
      else if (value !== '' && !(lower === 'accept' && /^\*\/\*|^application\/json$/.test(value)))
        this.#header(lower, value)
    }
    return contentType
  }

  #header(name: string, value: string): void {
    if (!isSecretText(name, value) && !SECRET_PARAMETER.test(name)) {
      setOwn(this.#headers, name, value)
      return
    }
    const hidden = this.#hide(name, value, `headers.${name}`)
    if (this.#auth !== undefined || name === 'cookie') setOwn(this.#headers, name, hidden)
    else this.#auth = { type: 'api_key', in: 'header', name, value: hidden }
  }

  #authorize(value: string): void {
    const space = value.search(/\s/)
    const scheme = value.slice(0, Math.max(space, 0))
    const rest = value.slice(space).trim()
    if (/^bearer$/i.test(scheme)) {
      this.#auth = { type: 'bearer', token: this.#hide('token', rest, 'auth.token') }
    } else if (/^basic$/i.test(scheme) && /^[A-Za-z0-9+/=]+$/.test(rest)) {
      this.#basic(Buffer.from(rest, 'base64').toString('utf8'))
    } else this.#headers.authorization = this.#hide('authorization', value, 'headers.authorization')
  }

  #readUser(): void {
    if (this.#values.user !== undefined) this.#basic(this.#values.user)
    const { username, password } = this.#url
    if (username === '' && password === '') return
    try {
      this.#basic(decodeURIComponent(`${username}:${password}`))
    } catch (error) {
      if (!(error instanceof URIError)) throw error
      throw new SetupError(422, 'The user name or password in the URL has an invalid "%": write it as %25')
    }
  }

  #basic(pair: string): void {
    const at = pair.indexOf(':')
    const username = at < 0 ? pair : pair.slice(0, at)
    const password = at < 0 ? '' : pair.slice(at + 1)
    // Some APIs take the key as the user name, without a password.
    if (password === '') {
      this.#auth = { type: 'basic', username: this.#hide('key', username, 'auth.username'), password: '' }
    } else this.#auth = { type: 'basic', username, password: this.#hide('password', password, 'auth.password') }
  }

  /** A reference to a variable is no secret to store. */
  #hide(what: string, value: string, place: string): string {
    if (/^\$\{[A-Za-z_]\w*\}$/.test(value)) return value
    if (value.trim() === '') throw new SetupError(422, `The ${what} in the command is empty: fill it in`)
    return this.#secrets.found(`${serviceOf(this.#url.hostname)}_${what}`, value, `implementation.${place}`)
  }

  #readQuery(): void {
    const pairs = [...this.#url.searchParams, ...(this.#values.get ? this.#formPairs() : [])]
    for (const [name, values] of Map.groupBy(pairs, ([key]) => key)) {
      const texts = values.map(([, value]) => value)
      const [first = ''] = texts
      const isSecret = texts.length === 1 && first !== '' && (isSecretText(name, first) || SECRET_PARAMETER.test(name))
      if (!isSecret) this.#parameters.add(name, 'query', texts.length > 1 ? texts.map(typedText) : typedText(first))
      else if (this.#auth !== undefined) setOwn(this.#query, name, this.#hide(name, first, `query.${name}`))
      else this.#auth = { type: 'api_key', in: 'query', name, value: this.#hide(name, first, 'auth.value') }
    }
  }

  #data(): string[] {
    const {
      data = [],
      json = [],
      'data-raw': raw = [],
      'data-binary': binary = [],
      'data-ascii': ascii = [],
    } = this.#values
    if ([...data, ...json, ...binary, ...ascii].some((one) => one.startsWith('@'))) {
      throw new SetupError(422, 'The command sends a file (@): paste its content into the command instead')
    }
    return [...data, ...ascii, ...raw, ...binary, ...json]
  }

  #formPairs(): [string, string][] {
    const coded = (this.#values['data-urlencode'] ?? []).map((one): [string, string] => {
      const at = one.indexOf('=')
      if (one.startsWith('@') || at < 0) throw new SetupError(422, 'Write --data-urlencode as "name=value"')
      return [one.slice(0, at), one.slice(at + 1)]
    })
    return [...new URLSearchParams(this.#data().join('&')), ...coded]
  }

  #readBody(contentType: string): 'json' | 'form' | 'text' | undefined {
    if (this.#values.get || !this.#hasData()) return undefined
    if (this.#method === 'GET' || this.#method === 'HEAD') {
      throw new SetupError(422, `The command sends a body with ${this.#method}, which tools can't do`)
    }
    const { kind, content } = this.#bodyKind(contentType)
    const plain = /^(?:application\/(?:json|x-www-form-urlencoded)|text\/plain)?$/
    if (!plain.test(contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''))
      this.#headers['content-type'] = contentType
    const value: unknown = kind === 'json' ? JSON.parse(content) : undefined
    if (kind === 'form') {
      for (const [name, one] of this.#formPairs()) this.#bodyParameter(name, typedText(one))
    } else if (isObject(value) && Object.keys(value).length > 0) {
      for (const [name, one] of Object.entries(value)) this.#bodyParameter(name, one)
    } else this.#parameters.whole(kind === 'json' ? inferredSchema(value) : { type: 'string', examples: [content] })
    return kind
  }

  #bodyKind(contentType: string): Body {
    const content = this.#data().join(this.#values.json === undefined ? '&' : '')
    const isJson = jsonIn(content)
    if (isJson && !/urlencoded|text\/plain/i.test(contentType)) return { kind: 'json', content }
    if (/json/i.test(contentType)) throw new SetupError(422, "The body of the command isn't valid JSON: correct it")
    const isForm = this.#values['data-urlencode'] !== undefined || /^[^\s=&]+=.*$/s.test(content)
    return { kind: isForm && !/text\/plain/i.test(contentType) ? 'form' : 'text', content }
  }

  /** Definitions have no place for secrets in a body: its value isn't kept, not even as an example. */
  #bodyParameter(name: string, value: unknown): void {
    const isSecret = typeof value === 'string' && (isSecretText(name, value) || SECRET_PARAMETER.test(name))
    this.#parameters.add(name, 'body', isSecret ? '' : value)
    if (isSecret)
      this.#warnings.push(`"${name.slice(0, 60)}" looks like a secret, and became a parameter that callers must send.`)
  }

  #name(path: string): string {
    const words = path
      .split('/')
      .filter((word) => word !== '' && !word.includes('{') && !/^(?:api|v\d+(?:\.\d+)?)$/i.test(word))
    const subject = words.slice(-2).join('_') || serviceOf(this.#url.hostname)
    return `${VERBS[this.#method]}_${subject}`
      .replace(/[^A-Za-z0-9]+/g, '_')
      .replace(/(?<!_)_+$/, '')
      .toLowerCase()
      .slice(0, 64)
  }

  #description(path: string): string {
    this.#warnings.push('Say in the description what the tool does and when to use it.')
    return `${this.#method} ${this.#url.hostname}${path}`
  }
}

function jsonIn(content: string): boolean {
  try {
    JSON.parse(content)
    return /^\s*[[{"]/.test(content)
  } catch {
    return false
  }
}

/** The escapes of `$'…'` that stand for one character. */
const ESCAPED: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  e: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}
const CODE = /\\(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})|([0-7]{1,3})|(.))/gs

/** What a shell word can begin with. The last one takes a single character. */
const PIECE =
  /(\\\r?\n)|(\s+)|'([^']*)'|\$'((?:\\.|[^'\\])*)'|\$?"((?:\\.|[^"\\])*)"|\\(.)|\$\{?([A-Za-z_]\w*)\}?|(.)/gsy

/**
 * Splits a command as a POSIX shell does, without running anything: `$NAME` becomes `${NAME}`. Ends at a pipe or a
 * redirection. Throws if the command has more than one, or a substitution.
 */
export function shellWords(command: string): { readonly words: string[]; readonly rest: boolean } {
  if (/\^[\r\n]|\^"/.test(command)) {
    throw new SetupError(422, 'This is a command for cmd.exe: copy it as curl for bash')
  }
  const words: string[] = []
  let word: string | undefined
  for (const match of command.trim().matchAll(PIECE)) {
    const [whole, joined, space, single, coded, double, escaped, variable, other] = match
    if (joined !== undefined) continue
    if (space !== undefined) {
      if (word !== undefined) words.push(word)
      word = undefined
      continue
    }
    if (other !== undefined && /[|<>;`()'"\n]|\$/.test(other)) {
      const isEnd = /[|<>]/.test(other)
      if (!isEnd) throw unreadable(other)
      if (word !== undefined) words.push(word)
      return { words, rest: true }
    }
    const text: string = single ?? escaped ?? other ?? ''
    word ??= ''
    if (coded !== undefined) word += decoded(coded)
    else if (double !== undefined) word += unquoted(double)
    else word += variable === undefined ? text : `\${${variable}}`
    if (whole === '&' && word === '&') return { words, rest: true }
  }
  if (word !== undefined) words.push(word)
  return { words, rest: false }
}

function unreadable(found: string): SetupError {
  const problem = /['"]/.test(found) ? `A quote ${found} isn't closed` : `"${found}" in the command isn't supported`
  return new SetupError(422, `${problem}: paste one curl command, without other programs`)
}

/** Inside double quotes a backslash escapes only these. */
function unquoted(text: string): string {
  return text.replace(/\\([$`"\\])|\\\r?\n|\$\{?([A-Za-z_]\w*)\}?|`|\$\(/g, (whole, escaped, variable) => {
    if (escaped !== undefined) return escaped
    if (variable !== undefined) return `\${${variable}}`
    if (whole.startsWith('\\')) return ''
    throw unreadable(whole)
  })
}

function decoded(text: string): string {
  return text.replace(CODE, (_, hex, four, eight, octal, other) => {
    const digits = hex ?? four ?? eight
    const code = octal === undefined ? Number.parseInt(digits ?? '', 16) : Number.parseInt(octal, 8)
    if (Number.isNaN(code)) return ESCAPED[other] ?? other
    return code <= 0x10ffff ? String.fromCodePoint(code) : ''
  })
}
