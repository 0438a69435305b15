import { CLOCK_TOLERANCE_MS } from '../../app/callers/users.ts'
import { parseJson } from '../../core/json/json-depth.ts'
import { type Claims, clientOf, isClaims, valuesOf } from './claims.ts'
import { refused, SignInError } from './sign-in-error.ts'

const TOLERANCE_S = CLOCK_TOLERANCE_MS / 1_000

/** Signatures with a public key. A shared secret could be the client's, which others know. */
export const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'Ed25519', 'EdDSA'],
] as const

/** Whether a text is to be read as a signed token, and nothing else. */
export const isJwt = (text: string): boolean => /^[\w-]+\.[\w-]*\.[\w-]*$/.test(text)

/** Types of headers. Cognito and Okta send none. */
const JWT_TYPES = new Set(['jwt', 'at+jwt', 'application/at+jwt'])
/** How issuers name access tokens in `token_use`, `token_type` or `typ`. */
const ACCESS_TYPES = new Set(['access', 'access_token', 'bearer', 'jwt', 'at+jwt'])
const TYPE_CLAIMS = ['token_use', 'token_type', 'typ'] as const
/** Claims of ID tokens and logout tokens. */
const FOREIGN_CLAIMS = ['nonce', 'at_hash', 'c_hash', 's_hash', 'events'] as const

/** No issuer nests deeper. */
const MAX_DEPTH = 1_024
const AN_ID_TOKEN = 'it is an ID token: send an access token'
const NO_ACCESS_TOKEN = 'it is not an access token'

/** A token whose signature isn't verified yet. */
interface ReadToken {
  readonly header: Claims
  readonly claims: Claims
}

/** Reads a signed token. Throws a SignInError if its form is wrong. */
export function readToken(token: string): ReadToken {
  const [header, claims] = token.split('.', 2).map((part) => {
    try {
      return parseJson(Buffer.from(part, 'base64url').toString(), MAX_DEPTH)
    } catch {
      return undefined
    }
  })
  if (!isClaims(header) || !isClaims(claims)) throw refused('its form is wrong')
  return { header, claims }
}

/** Whether the issuer says by RFC 9068 that this is an access token. */
const isTyped = ({ typ }: Claims): boolean => typeof typ === 'string' && /^(?:application\/)?at\+jwt$/i.test(typ)

const isOneOf = (types: ReadonlySet<string>, value: unknown): boolean =>
  typeof value === 'string' && types.has(value.toLowerCase())

/** Which tokens count. */
interface TokenRules {
  /** As in its discovery document. */
  readonly issuer: string
  readonly tokens: 'jwt' | 'rfc9068'
}

/** Checks what decides by which key a token is verified. Throws a SignInError. */
export function checkHeader({ header, claims }: ReadToken, { issuer, tokens }: TokenRules): void {
  const { alg, crit, typ } = header
  if (!ALGORITHMS.some((one) => one === alg)) {
    throw refused('its algorithm is not supported', { header: 'alg', expected: ALGORITHMS, actual: alg })
  }
  if (crit !== undefined) throw refused('its header has an unknown extension', { header: 'crit', actual: crit })
  if (tokens === 'rfc9068' && !isTyped(header)) {
    throw refused(NO_ACCESS_TOKEN, { header: 'typ', expected: 'at+jwt', actual: typ })
  }
  if (typ !== undefined && !isOneOf(JWT_TYPES, typ)) {
    throw refused(NO_ACCESS_TOKEN, { header: 'typ', expected: [...JWT_TYPES], actual: typ })
  }
  if (claims.iss !== issuer) throw otherIssuer(claims, issuer)
}

/** Throws a SignInError unless these are the claims of an access token that is valid now. */
export function checkClaims(claims: Claims, { tokens }: TokenRules, now: number): void {
  if (tokens === 'rfc9068') {
    for (const claim of ['sub', 'client_id', 'jti']) needsText(claims, claim)
    for (const claim of ['aud', 'iat'].filter((one) => claims[one] === undefined)) {
      throw refused(`it has no valid claim "${claim}"`, { claim, expected: 'a value' })
    }
  } else checkUse(claims)
  checkTimes(claims, now)
}

/** The same for the answer of the issuer about a token (RFC 7662). */
export function checkAnswer(claims: Claims, issuer: string, now: number): void {
  if (claims.active !== true) throw refused('it is not active', { claim: 'active', expected: true, actual: false })
  if (claims.iss !== undefined && claims.iss !== issuer) throw otherIssuer(claims, issuer)
  // Some issuers know refresh tokens as well.
  if (TYPE_CLAIMS.every((claim) => claims[claim] === undefined)) {
    throw refused(NO_ACCESS_TOKEN, { claim: TYPE_CLAIMS, expected: [...ACCESS_TYPES] })
  }
  checkUse(claims)
  checkTimes(claims, now)
}

const otherIssuer = ({ iss }: Claims, issuer: string): SignInError =>
  refused('it is from another issuer', { claim: 'iss', expected: issuer, actual: iss })

function needsText(claims: Claims, claim: string): void {
  if (typeof claims[claim] === 'string' && claims[claim] !== '') return
  throw refused(`it has no valid claim "${claim}"`, { claim, expected: 'a text', actual: claims[claim] })
}

/** ID tokens have the same signature, and tell an application who its user is: they are no permission to call others. */
function checkUse(claims: Claims): void {
  for (const claim of TYPE_CLAIMS) {
    const actual = claims[claim]
    if (actual !== undefined && !isOneOf(ACCESS_TYPES, actual)) {
      throw refused(NO_ACCESS_TOKEN, { claim, expected: [...ACCESS_TYPES], actual })
    }
  }
  // Not its value, which belongs to a sign-in.
  const foreign = FOREIGN_CLAIMS.find((claim) => claims[claim] !== undefined)
  if (foreign !== undefined) throw refused(foreign === 'events' ? NO_ACCESS_TOKEN : AN_ID_TOKEN, { claim: foreign })
  if (clientOf(claims) !== undefined || valuesOf(claims, ['scope', 'scp']).size > 0) return
  const claim = ['azp', 'appid', 'cid', 'client_id', 'scope', 'scp']
  throw refused(`${NO_ACCESS_TOKEN}: it names neither a client nor a scope`, { claim, expected: 'one of them' })
}

function checkTimes(claims: Claims, now: number): void {
  const { exp, nbf, iat, cnf } = claims
  const seconds = now / 1_000
  for (const claim of ['exp', 'nbf', 'iat'] as const) {
    const actual = claims[claim]
    if ((actual !== undefined || claim === 'exp') && !Number.isFinite(actual)) {
      throw refused(`it has no valid claim "${claim}"`, { claim, expected: 'a time in seconds', actual })
    }
  }
  const time = (claim: string, actual: unknown) => ({ claim, expected: Math.floor(seconds), actual })
  if (Number(exp) + TOLERANCE_S <= seconds) throw new SignInError('expired', 'it has expired', time('exp', exp))
  if (nbf !== undefined && Number(nbf) - TOLERANCE_S > seconds) throw refused('it is not valid yet', time('nbf', nbf))
  if (iat !== undefined && Number(iat) - TOLERANCE_S > seconds) {
    throw refused('it was issued in the future', time('iat', iat))
  }
  if (cnf === undefined || (isClaims(cnf) && Object.keys(cnf).length === 0)) return
  throw refused('it is bound to a key of its client, which the server does not support', { claim: 'cnf' })
}

/** Why none of the audiences counts. */
export function otherAudience({ aud, client_id }: Claims, client: string, expected: readonly string[]): SignInError {
  const isOfPage = [aud].flat().includes(client)
  const message = isOfPage ? AN_ID_TOKEN : 'it is for another audience'
  return refused(message, { claim: 'aud', expected, actual: aud ?? client_id })
}

/**
 * The audiences by which a token may count. That of the web UI's client doesn't, because its ID tokens have it, unless
 * the type of the token says what it is. Access tokens of Cognito have a client instead of an audience.
 */
export function audiencesOf({ aud, token_use, client_id }: Claims, client: string, header: Claims = {}): string[] {
  if (aud === undefined && token_use === 'access' && typeof client_id === 'string') return [client_id]
  const texts = [aud].flat().filter((one) => typeof one === 'string')
  return isTyped(header) ? texts : texts.filter((one) => one !== client)
}
