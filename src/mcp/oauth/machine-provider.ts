import { createPrivateKey } from 'node:crypto'
import {
  createPrivateKeyJwtAuth,
  type OAuthClientInformationContext,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import type { OAuthClientSettings } from '../client/server-settings.ts'
import { checkIssuer, registeredClient } from './registered-client.ts'

/** Gets tokens for the client itself, by its secret or its key; they are kept in memory, for they can be had again. */
export class MachineProvider implements OAuthClientProvider {
  readonly redirectUrl = undefined
  readonly clientMetadata: OAuthClientMetadata = {
    client_name: 'Toolyard',
    redirect_uris: [],
    grant_types: ['client_credentials'],
  }
  readonly addClientAuthentication?: NonNullable<OAuthClientProvider['addClientAuthentication']>
  readonly #name: string
  readonly #settings: OAuthClientSettings
  #tokens: StoredOAuthTokens | undefined

  constructor(name: string, settings: OAuthClientSettings) {
    const { clientId, privateKey } = settings
    this.#name = name
    this.#settings = settings
    if (privateKey === undefined) return
    const alg = algorithmOf(privateKey)
    this.addClientAuthentication = createPrivateKeyJwtAuth({ issuer: clientId, subject: clientId, privateKey, alg })
  }

  clientInformation(found?: OAuthClientInformationContext): StoredOAuthClientInformation {
    return registeredClient(this.#settings, found?.issuer)
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens
  }

  prepareTokenRequest(scope?: string): URLSearchParams {
    return new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) })
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    checkIssuer(this.#name, this.#settings, state)
  }

  redirectToAuthorization(): void {}

  saveCodeVerifier(): void {}

  codeVerifier(): string {
    return ''
  }
}

/** A key says itself what it signs with. */
function algorithmOf(pem: string): string {
  const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem)
  if (asymmetricKeyType === 'rsa') return 'RS256'
  return asymmetricKeyDetails?.namedCurve === 'secp384r1' ? 'ES384' : 'ES256'
}
