import { createPrivateKey } from 'node:crypto'
import type { OAuthClientSettings } from '../mcp/client/server-settings.ts'
import type { McpOAuthConfig } from './config.ts'

const KEYS = ['client_id', 'client_secret', 'private_key', 'issuer', 'grant_type'] as const

/** What is read of an entry's `oauth`; other clients keep other things there. */
export const oauthKeys = (oauth: McpOAuthConfig): Record<string, string> =>
  Object.fromEntries(KEYS.flatMap((key) => (oauth[key] === undefined ? [] : [[key, oauth[key]]])))

/** The client of an entry, or what is wrong with it; every variable is replaced. */
export function oauthClient(oauth: Readonly<Record<string, string>>): OAuthClientSettings | string {
  const { client_id: clientId = '', client_secret: clientSecret, private_key: privateKey, issuer, grant_type } = oauth
  if (clientId === '') return 'client_id is empty'
  const isMachine = grant_type === 'client_credentials'
  if (isMachine && (clientSecret === undefined) === (privateKey === undefined)) {
    return 'client_credentials needs either client_secret or private_key'
  }
  if (privateKey !== undefined && !isMachine) return 'private_key is for "grant_type": "client_credentials"'
  if (privateKey !== undefined && !isSigningKey(privateKey)) return 'private_key is no RSA or EC key in PEM'
  return {
    clientId,
    isMachine,
    ...(clientSecret !== undefined && { clientSecret }),
    ...(privateKey !== undefined && { privateKey }),
    ...(issuer !== undefined && { issuer }),
  }
}

function isSigningKey(pem: string): boolean {
  try {
    const { asymmetricKeyType = '' } = createPrivateKey(pem)
    return ['rsa', 'ec'].includes(asymmetricKeyType) && pem.includes('-----BEGIN PRIVATE KEY-----')
  } catch {
    return false
  }
}
