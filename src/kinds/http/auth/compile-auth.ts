import type { HttpAuth } from '../http-implementation.ts'
import type { OutgoingRequest } from '../outgoing-request.ts'
import { withQuery } from '../query-parameter.ts'
import { hasControlCharacter, isHeaderValue } from '../request/control-characters.ts'
import { isHeaderName, isOfTheConnection } from '../request/header-names.ts'
import { SecretValues } from '../secret-values.ts'
import type { AuthParts } from './auth-parts.ts'
import type { AuthPlan } from './auth-plan.ts'
import { FixedAuth } from './fixed-auth.ts'
import { oauthClient } from './oauth-client.ts'
import { TokenAuth } from './token-auth.ts'
import { unfitAuth } from './unfit-auth.ts'

/** Works out once how a tool shows who it is. Throws a sentence about a setting that cannot be sent, without its value. */
export function compileAuth(auth: HttpAuth | undefined, parts: AuthParts): AuthPlan {
  const { tool, secrets } = parts
  if (auth === undefined) return new FixedAuth(secrets, (request) => request)
  switch (auth.type) {
    case 'bearer':
      secrets.add(auth.token)
      return inHeader(parts, 'authorization', `Bearer ${sendable(tool, 'auth.token', auth.token)}`)
    case 'api_key':
      secrets.add(auth.value)
      if (auth.in === 'query') return inQuery(parts, auth.name, filled(tool, 'auth.value', auth.value))
      return inHeader(parts, headerName(tool, auth.name), sendable(tool, 'auth.value', auth.value))
    case 'basic':
      return inHeader(parts, 'authorization', `Basic ${basic(tool, auth.username, auth.password, secrets)}`)
    case 'oauth2':
      secrets.add(auth.client_secret)
      return new TokenAuth(oauthClient(tool, auth), parts)
    default:
      throw unfitAuth(tool, 'auth.type', 'must be "bearer", "api_key", "basic" or "oauth2"')
  }
}

function inHeader({ secrets }: AuthParts, name: string, value: string): AuthPlan {
  const names = [name]
  const write = (request: OutgoingRequest): OutgoingRequest => ({
    ...request,
    headers: { ...request.headers, [name]: value },
    credentials: request.credentials === undefined ? names : [...request.credentials, name],
  })
  return new FixedAuth(secrets, write)
}

function inQuery({ secrets }: AuthParts, name: string, value: string): AuthPlan {
  // Once: the address of a next page, which the service wrote, may have it already.
  const write = (request: OutgoingRequest): OutgoingRequest => ({
    ...request,
    path: withQuery(request.path, name, value),
  })
  return new FixedAuth(secrets, write)
}

function basic(tool: string, username: string, password: string, secrets: SecretValues): string {
  if (username.includes(':')) throw unfitAuth(tool, 'auth.username', 'holds a colon, which ends it')
  for (const [key, value] of Object.entries({ username, password })) {
    if (hasControlCharacter(value))
      throw unfitAuth(tool, `auth.${key}`, 'holds a line break or another control character')
  }
  secrets.add(password)
  secrets.add(`${username}:${password}`)
  // Where a key is sent as the user, the password is empty or a mere letter.
  if (!SecretValues.isLongEnough(password)) secrets.add(username)
  return Buffer.from(`${username}:${password}`).toString('base64')
}

function headerName(tool: string, name: string): string {
  if (!isHeaderName(name)) throw unfitAuth(tool, 'auth.name', 'is not the name of a header')
  if (!isOfTheConnection(name.toLowerCase())) return name.toLowerCase()
  throw unfitAuth(tool, 'auth.name', 'is a header of the connection, which carries no key')
}

function sendable(tool: string, key: string, value: string): string {
  if (isHeaderValue(filled(tool, key, value))) return value
  throw unfitAuth(tool, key, 'holds a line break or another character that no header can carry')
}

function filled(tool: string, key: string, value: string): string {
  if (value !== '') return value
  throw unfitAuth(tool, key, 'is empty')
}
